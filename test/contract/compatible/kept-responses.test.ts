/** OpenAI's own SDK, unchanged: responses that are kept, continued, read and erased, at vendors of four APIs. */
import OpenAI from "openai"
import { describe, expect, it } from "vitest"
import { answering } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { onClouds, served } from "./clouds.ts"
import { callsTools, vendorBodyOf } from "./vendors.ts"

const gateway = useGateway(
  (() => {
    const options = onClouds()
    return {
      ...options,
      catalogue: (urls) =>
        (options.catalogue?.(urls) ?? "").replace("name: Test,", 'name: Test, keeps: { responses: "30d" },'),
    }
  })(),
)

const client = () =>
  new OpenAI({
    baseURL: `${gateway().baseUrl}/openai/v1`,
    apiKey: `${gateway().keyId}~${gateway().key}`,
    maxRetries: 0,
  })

const said = ["Remember the colour blue", "Blue it is", "Which colour?", "You said blue", "Again?"]

const saying = (...words: ReadonlyArray<string>) => answering({ words, inTokens: 100, outTokens: 20 })

describe.each(served)("a response of %s", (model) => {
  it("is continued by its id, whole and streamed", async () => {
    gateway().vendor.script(saying("Blue", " it is"))
    const first = await client().responses.create({
      model,
      input: "Remember the colour blue",
      instructions: "Be brief.",
    })
    expect(first).toMatchObject({ store: true, previous_response_id: null, status: "completed" })

    gateway().vendor.script(saying("You said", " blue"))
    const second = await client()
      .responses.stream({ model, input: "Which colour?", previous_response_id: first.id })
      .finalResponse()
    expect(second).toMatchObject({ store: true, previous_response_id: first.id })
    const sent = vendorBodyOf(gateway().vendor)
    expect(sent).toContain("Remember the colour blue")
    expect(sent).toContain("Blue it is")
    expect(sent).not.toContain("Be brief.")
    expect(sent).not.toContain("previous_response_id")

    gateway().vendor.script(saying("ok"))
    const third = await client().responses.create({ model, input: "Again?", previous_response_id: second.id })
    const thread = vendorBodyOf(gateway().vendor)
    const places = said.map((text) => thread.indexOf(text))
    expect(places).not.toContain(-1)
    expect(places).toEqual(places.toSorted((a, b) => a - b))

    const read = await client().responses.retrieve(second.id)
    // The SDK adds what it has parsed.
    expect(second.output).toMatchObject(read.output)
    expect(read).toMatchObject({ id: second.id, store: true, previous_response_id: first.id })
    expect(await client().responses.retrieve(third.id)).toMatchObject({ output_text: "ok" })
    const items = await client().responses.inputItems.list(second.id)
    expect(items.data).toMatchObject([{ type: "message", role: "user", content: "Which colour?" }])
  })

  it("calls a tool whose result continues it; its items may be referenced", async () => {
    gateway().vendor.script(callsTools)
    const tools: Array<OpenAI.Responses.Tool> = [
      {
        type: "function",
        name: "weather",
        strict: false,
        parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      },
    ]
    const first = await client().responses.stream({ model, input: "Weather in Oslo and Rome?", tools }).finalResponse()
    const results = first.output.flatMap((item) =>
      item.type === "function_call"
        ? [{ type: "function_call_output" as const, call_id: item.call_id, output: "sunny" }]
        : [],
    )
    expect(results).toHaveLength(2)
    gateway().vendor.script(saying("Sunny in both"))
    const second = await client().responses.create({ model, tools, input: results, previous_response_id: first.id })
    expect(second.output_text).toBe("Sunny in both")
    const continued = vendorBodyOf(gateway().vendor)

    gateway().vendor.script(saying("Sunny in both"))
    await client().responses.create({
      model,
      tools,
      input: [
        { type: "message", role: "user", content: "Weather in Oslo and Rome?" },
        ...first.output.map(({ id = "" }) => ({ type: "item_reference" as const, id: id ?? "" })),
        ...results,
      ],
    })
    expect(vendorBodyOf(gateway().vendor)).toBe(continued)
  })

  it("is erased, and then unknown", async () => {
    gateway().vendor.script(saying("ok"))
    const { id } = await client().responses.create({ model, input: "Hello" })
    await client().responses.delete(id)
    await expect(client().responses.retrieve(id)).rejects.toMatchObject({ status: 404 })
    await expect(client().responses.delete(id)).rejects.toMatchObject({ status: 404 })
    await expect(client().responses.create({ model, input: "Hello", previous_response_id: id })).rejects.toMatchObject({
      status: 400,
      code: "previous_response_not_found",
      param: "previous_response_id",
      error: { message: `Previous response with id '${id}' not found.` },
    })
  })
})

it("nothing is kept of a request that says so", async () => {
  gateway().vendor.script(saying("ok"))
  const reply = await client().responses.create({ model: served[0] ?? "", input: "Hello", store: false })
  expect(reply).toMatchObject({ store: false })
  await expect(client().responses.retrieve(reply.id)).rejects.toMatchObject({ status: 404 })
})
