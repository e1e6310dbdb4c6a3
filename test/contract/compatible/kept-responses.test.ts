/** OpenAI's own SDK, unchanged: responses that are kept, continued, read and erased, at vendors of four APIs. */
import OpenAI from "openai"
import { describe, expect, it } from "vitest"
import { answering } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { openSocket, type SocketMessage, type TestSocket } from "../../support/socket-client.ts"
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
    expect(items.data.map((item) => ("content" in item ? JSON.stringify(item.content) : ""))).toMatchObject([
      '"Which colour?"',
      expect.stringContaining("Blue it is"),
      '"Remember the colour blue"',
    ])
    const [last] = items.data
    expect(await client().responses.inputItems.list(second.id, { after: last?.id ?? "", limit: 1 })).toMatchObject({
      data: [items.data[1]],
    })
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

describe.each(served)("a response of %s in the background", (model) => {
  it("runs without its client, and its events are read again", async () => {
    gateway().vendor.script(saying("Done", " at last"))
    const begun = await client().responses.create({ model, input: "Work", background: true })
    expect(begun).toMatchObject({ status: "queued", background: true, output: [], store: true })
    const ended = await untilEnded(begun.id)
    expect(ended).toMatchObject({ status: "completed", output_text: "Done at last", background: true })

    const events = await eventsOf(await client().responses.retrieve(begun.id, { stream: true }))
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at))
    expect(events.map(({ type }) => type).slice(0, 3)).toEqual([
      "response.created",
      "response.queued",
      "response.in_progress",
    ])
    expect(events.at(-1)).toMatchObject({
      type: "response.completed",
      response: { id: begun.id, output: ended.output },
    })
    const rest = await eventsOf(await client().responses.retrieve(begun.id, { stream: true, starting_after: 4 }))
    expect(rest).toEqual(events.slice(5))
    expect(await client().responses.cancel(begun.id)).toMatchObject({ status: "completed" })
  })

  it("is followed by the client that asked for it", async () => {
    gateway().vendor.script(saying("Done", " at last"))
    const stream = await client().responses.create({ model, input: "Work", background: true, stream: true })
    const events = await eventsOf(stream)
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at))
    expect(events[0]).toMatchObject({ type: "response.created", response: { status: "queued", background: true } })
    expect(events.at(-1)).toMatchObject({ type: "response.completed" })
  })

  it("is cancelled, billed for what was made, and stays cancelled", async () => {
    gateway().vendor.script(async (call) => await call.wait(20_000))
    const begun = await client().responses.create({ model, input: "Work", background: true })
    expect(await client().responses.cancel(begun.id)).toMatchObject({ id: begun.id, status: "cancelled" })
    expect(await client().responses.cancel(begun.id)).toMatchObject({ status: "cancelled" })
    await expect.poll(() => gateway().vendor.calls.at(-1)?.hungUpAt, { timeout: 5000 }).toBeDefined()
    expect(await client().responses.retrieve(begun.id)).toMatchObject({ status: "cancelled" })
  })

  it("fails with its vendor", async () => {
    gateway().vendor.script((call) => {
      call.head(400, { "content-type": "application/json" })
      call.end(JSON.stringify({ error: { message: "no", type: "invalid_request_error" } }))
    })
    const begun = await client().responses.create({ model, input: "Work", background: true })
    const ended = await untilEnded(begun.id)
    expect(ended).toMatchObject({ status: "failed", error: { code: expect.any(String), message: expect.any(String) } })
    const events = await eventsOf(await client().responses.retrieve(begun.id, { stream: true }))
    expect(events.map(({ type }) => type)).toContain("response.failed")
  })
})

const untilEnded = async (id: string) => {
  for (;;) {
    const response = await client().responses.retrieve(id)
    if (response.status !== "queued" && response.status !== "in_progress") return response
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const eventsOf = async (stream: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>) => {
  const events: Array<OpenAI.Responses.ResponseStreamEvent> = []
  for await (const event of stream) events.push(event)
  return events
}

it("a response that its client waits for cannot be cancelled", async () => {
  gateway().vendor.script(saying("ok"))
  const { id } = await client().responses.create({ model: served[0] ?? "", input: "Hello" })
  await expect(client().responses.cancel(id)).rejects.toMatchObject({ status: 400 })
})

describe("over a WebSocket", () => {
  const open = () =>
    openSocket(`${gateway().baseUrl}/openai/v1/responses`, {
      authorization: `Bearer ${gateway().keyId}~${gateway().key}`,
    })
  const ended = async (socket: TestSocket, count: number) => {
    const isEnd = ({ type }: SocketMessage) => type === "response.completed" || type === "error"
    await socket.until(() => socket.messages.filter(isEnd).length >= count)
    return JSON.stringify(socket.messages.filter(isEnd)[count - 1])
  }
  const idIn = (end: string) => /"id":"(resp_[\w-]+)"/.exec(end)?.[1] ?? ""
  const create = (input: string, previous?: string) => ({
    type: "response.create",
    model: served[0],
    input,
    ...(previous !== undefined && { previous_response_id: previous }),
  })

  it("a response of one connection is continued by HTTP, and by another connection", async () => {
    gateway().vendor.script(saying("ok"))
    const socket = await open()
    socket.send(create("First"))
    const first = idIn(await ended(socket, 1))
    socket.send(create("Second", first))
    const second = idIn(await ended(socket, 2))
    socket.ws.close()
    const third = await client().responses.create({
      model: served[0] ?? "",
      input: "Third",
      previous_response_id: second,
    })
    expect(vendorBodyOf(gateway().vendor)).toMatch(/First.*ok.*Second.*ok.*Third/)
    const other = await open()
    other.send(create("Fourth", third.id))
    expect(await ended(other, 1)).toContain(`"previous_response_id":"${third.id}"`)
    expect(vendorBodyOf(gateway().vendor)).toMatch(/First.*ok.*Second.*ok.*Third.*ok.*Fourth/)
    other.send(create("Fifth", "resp_unknown"))
    expect(await ended(other, 2)).toContain("previous_response_not_found")
    other.ws.close()
  })
})
