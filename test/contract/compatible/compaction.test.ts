/** Summaries of threads, at vendors that make them and at others. */
import OpenAI from "openai"
import { describe, expect, it } from "vitest"
import { parseObject } from "../../../src/dialects/parse/json.ts"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { anthropicFrame } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"
import { vendorBodyOf } from "./vendors.ts"

const ids = newTestIds()
/** An organisation that keeps responses; the one of the tests keeps nothing. */
const keepingKey = `${ids.key}-keeping`
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace(
        "orgs:\n",
        `orgs:\n  - { id: ${ids.org}-k, name: K, plan: team, currency: USD, models: [main, responses], keeps: { responses: 30d } }\n`,
      )
      .replace("apps:\n", `apps:\n  - { id: ${ids.app}-k, org: ${ids.org}-k }\n`)
      .replace("keys:\n", `keys:\n  - { id: ${keepingKey}, app: ${ids.app}-k, secret: "env:WEIR_TEST_KEY" }\n`)
      .replace("topups:\n", `topups:\n  - { id: ${ids.org}-k-start, org: ${ids.org}-k, amount: "1000" }\n`),
})

const client = (keyId = ids.key) =>
  new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: `${keyId}~${gateway().key}`, maxRetries: 0 })

const user = (content: string) => ({ type: "message" as const, role: "user" as const, content })
const thread: Array<OpenAI.Responses.ResponseInputItem> = [
  user("The colour is blue"),
  { role: "assistant", content: "Noted." },
  user("The number is 1.10"),
]
const trigger = { type: "compaction_trigger" as const }
const summary = "The colour is blue, and the number is 1.10."
const summarising = () =>
  gateway().vendor.script(
    answering({ words: ["The colour is blue,", " and the number is 1.10."], inTokens: 100, outTokens: 20 }),
  )
const sent = () => vendorBodyOf(gateway().vendor)

const compactionIn = (output: ReadonlyArray<OpenAI.Responses.ResponseOutputItem>) => {
  expect(output.at(-1)).toMatchObject({ type: "compaction", id: expect.stringMatching(/^cmp_/) })
  const item = output.at(-1)
  if (item?.type !== "compaction") throw new Error("there is no summary")
  expect(item.encrypted_content).not.toContain("blue")
  return item
}

/** The summary is read by a vendor. */
const goOn = async (model: string, item: OpenAI.Responses.ResponseInputItem) => {
  gateway().vendor.script(answering({ words: ["Blue"], inTokens: 10, outTokens: 5 }))
  const input = [item, user("Which colour?")]
  expect(await client().responses.create({ model, input })).toMatchObject({ output_text: "Blue" })
  expect(sent()).toContain(summary)
  expect(sent()).not.toContain("weir_summary")
  expect(sent()).toContain("Which colour?")
}

describe.each(["main", "claude", "gemini"])("a thread at %s", (model) => {
  it("is compacted by the route, and goes on at any vendor", async () => {
    summarising()
    const reply = await client().responses.compact({ model, input: thread, instructions: "Be exact" })
    expect(sent()).toMatch(/The colour is blue.*Noted.*The number is 1\.10.*Summarise this conversation/)
    expect(reply).toMatchObject({
      id: expect.stringMatching(/^resp_/),
      object: "response.compaction",
      created_at: expect.any(Number),
      usage: { input_tokens: 100, output_tokens: 20, total_tokens: 120 },
    })
    expect(reply.output).toHaveLength(3)
    expect(reply.output[0]).toMatchObject({
      role: "user",
      status: "completed",
      content: [{ type: "input_text", text: "The colour is blue" }],
    })
    const item = compactionIn(reply.output)
    const counted = await client().responses.inputTokens.count({ model, input: [item] })
    expect(counted.input_tokens).toBeLessThan(40)
    for (const other of ["main", "claude", "gemini", "responses"]) await goOn(other, item)
  })

  it("may have a summary as long as the model answers", async () => {
    summarising()
    await client().responses.compact({ model, input: thread })
    expect(sent()).toMatch(/"(max_completion_tokens|max_tokens|maxOutputTokens)":2000/)
    await client().responses.create({ model, input: [...thread, trigger], max_output_tokens: 300 })
    expect(sent()).toMatch(/"(max_completion_tokens|max_tokens|maxOutputTokens)":300/)
  })

  it("is compacted by its last item, whole and streamed, as exactly one item", async () => {
    summarising()
    const whole = await client().responses.create({ model, input: [...thread, trigger] })
    expect(whole).toMatchObject({ status: "completed", store: false, output_text: "" })
    expect(whole.output).toHaveLength(1)
    await goOn("main", compactionIn(whole.output))

    summarising()
    const done: Array<OpenAI.Responses.ResponseOutputItem> = []
    const stream = client().responses.stream({ model, input: [...thread, trigger], store: false })
    stream.on("response.output_item.done", ({ item }) => done.push(item))
    const { output } = await stream.finalResponse()
    expect(output).toHaveLength(1)
    expect(done).toEqual(output)
    expect(sent()).not.toContain("compaction_trigger")
    await goOn("claude", compactionIn(output))
  })
})

it("a long thread, and one with tools, is compacted", async () => {
  summarising()
  const long = [user(`The colour is blue ${"x".repeat(600_000)}`), trigger]
  const { output } = await client().responses.create({ model: "claude", input: long })
  await goOn("claude", compactionIn(output))
  const tools = [
    { type: "function" as const, name: "f", strict: false, parameters: { type: "object", properties: {} } },
  ]
  const called: Array<OpenAI.Responses.ResponseInputItem> = [
    user("Call it"),
    { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: "c1", output: "1.10" },
    trigger,
  ]
  summarising()
  const text = { format: { type: "json_object" as const } }
  const reply = await client().responses.create({
    model: "claude",
    input: called,
    tools,
    tool_choice: "required",
    text,
  })
  compactionIn(reply.output)
})

it("a kept thread is compacted, and the summary is not kept", async () => {
  gateway().vendor.script(answering({ words: ["Noted"], inTokens: 10, outTokens: 5 }))
  const keeping = client(keepingKey)
  const first = await keeping.responses.create({ model: "main", input: "The colour is blue" })
  summarising()
  const reply = await keeping.responses.compact({ model: "main", previous_response_id: first.id })
  expect(sent()).toMatch(/The colour is blue.*Noted.*Summarise/)
  compactionIn(reply.output)
  await expect(keeping.responses.retrieve(reply.id)).rejects.toMatchObject({ status: 404 })
  const call = { model: "main", input: [...thread, trigger], background: true }
  await expect(keeping.responses.create(call)).rejects.toMatchObject({ status: 400, param: "background" })
})

it("a summary of another organisation, or that was changed, is refused", async () => {
  summarising()
  const { output } = await client().responses.compact({ model: "main", input: thread })
  const item = compactionIn(output)
  const changed = { ...item, encrypted_content: `${item.encrypted_content.slice(0, -8)}AAAAAAAA` }
  const refused = { status: 400, param: "input.1.encrypted_content" }
  await expect(client().responses.create({ model: "main", input: [user("a"), changed] })).rejects.toMatchObject(refused)
  await expect(client(keepingKey).responses.create({ model: "main", input: [user("a"), item] })).rejects.toMatchObject(
    refused,
  )
  await expect(client().responses.compact({ model: "main", input: [] })).rejects.toMatchObject({ status: 400 })
  await expect(client().responses.create({ model: "main", input: [trigger] })).rejects.toMatchObject({ status: 400 })
})

describe("at a vendor that makes summaries", () => {
  const own = { type: "compaction" as const, id: "cmp_own", encrypted_content: "c2VhbGVk" }
  const usage = { input_tokens: 100, output_tokens: 20, total_tokens: 120 }
  const response = { id: "resp_own", object: "response", model: "m", status: "completed", output: [own], usage }
  const theirs = () =>
    gateway().vendor.script((call) => {
      if (call.streaming) {
        call.head()
        call.end(
          anthropicFrame({ type: "response.created", response: { ...response, status: "in_progress", output: [] } }) +
            anthropicFrame({ type: "response.output_item.added", output_index: 0, item: own }) +
            anthropicFrame({ type: "response.output_item.done", output_index: 0, item: own }) +
            anthropicFrame({ type: "response.completed", sequence_number: 5, response }),
        )
        return
      }
      call.head(200, { "content-type": "application/json" })
      call.end(JSON.stringify(response))
    })

  it("they are made there, and go back to it as they were", async () => {
    theirs()
    const call = { model: "responses", input: [...thread, trigger] }
    expect((await client().responses.create(call)).output).toEqual([own])
    expect(sent()).toContain('"compaction_trigger"')
    expect(sent()).not.toContain("Summarise this conversation")
    expect((await client().responses.stream(call).finalResponse()).output).toEqual([own])
    const { output, ...reply } = await client().responses.compact({ model: "responses", input: thread })
    expect(parseObject(sent())?.["input"]).toMatchObject([...thread, trigger])
    expect(reply).toMatchObject({ object: "response.compaction", usage })
    expect(output).toHaveLength(3)
    expect(output.at(-1)).toEqual(own)
    theirs()
    await client().responses.create({ model: "responses", input: [own] })
    expect(sent()).toContain("c2VhbGVk")
  })
})
