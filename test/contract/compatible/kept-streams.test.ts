/** Streams of servers of OpenAI's Responses whose last event has no items: they are kept whole. */
import OpenAI from "openai"
import { describe, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { anthropicFrame } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"
import { vendorBodyOf } from "./vendors.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) => testCatalogue(urls, ids).replace("name: Test,", 'name: Test, keeps: { responses: "30d" },'),
})

const client = () =>
  new OpenAI({
    baseURL: `${gateway().baseUrl}/openai/v1`,
    apiKey: `${gateway().keyId}~${gateway().key}`,
    maxRetries: 0,
  })

const reasoning = { type: "reasoning", id: "rs_own", summary: [], encrypted_content: "c2VhbGVk" }
const message = {
  type: "message",
  id: "msg_own",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text: "Blue 1.10", annotations: [] }],
}

/** Items are in the order in which they are done, which is not that of the output. */
const streaming = (last: object, more = "") => {
  gateway().vendor.script(async (call) => {
    call.head()
    const response = { id: "resp_own", object: "response", model: "m", status: "in_progress", output: [] }
    await call.write(anthropicFrame({ type: "response.created", sequence_number: 0, response }))
    for (const [at, item] of [[1, message] as const, [0, reasoning] as const]) {
      await call.write(anthropicFrame({ type: "response.output_item.added", output_index: at, item }))
      await call.write(anthropicFrame({ type: "response.output_item.done", output_index: at, item }))
    }
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
    const { output: _, ...begun } = response
    const completed = { ...begun, status: "completed", usage, ...last }
    call.end(anthropicFrame({ type: "response.completed", sequence_number: 5, response: completed }) + more)
  })
}

const whole = { output: [reasoning, message] }
const lasts = [
  ["no output", {}, ""],
  ["an empty output", { output: [] }, ""],
  ["an empty output, and a mark after it", { output: [] }, "data: [DONE]\n\n"],
  ["the output, and a mark after it", whole, "data: [DONE]\n\n"],
  ["the output, and an event after it", whole, anthropicFrame({ type: "tomorrow", sequence_number: 6 })],
] as const

describe.each(lasts)("a stream whose last event has %s", (_, last, more) => {
  it.each([false, true])("is kept with its items, in the background %s", async (background) => {
    streaming(last, more)
    const events = await client().responses.create({ model: "responses", input: "Colour?", stream: true, background })
    let id = ""
    let end: unknown
    for await (const event of events) {
      if ("response" in event) id = event.response.id
      if (event.type === "response.completed") end = event.response
    }
    expect(end).toMatchObject(whole)
    await expect.poll(async () => (await client().responses.retrieve(id)).status).toBe("completed")
    expect(await client().responses.retrieve(id)).toMatchObject({ ...whole, id, usage: { output_tokens: 5 } })
    gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 5 }))
    await client().responses.create({ model: "responses", input: "Sure?", previous_response_id: id })
    expect(vendorBodyOf(gateway().vendor)).toMatch(/Colour\?.*c2VhbGVk.*Blue 1\.10.*Sure\?/)
    const referenced = [{ type: "item_reference" as const, id: "msg_own" }]
    await client().responses.create({ model: "responses", input: referenced })
    expect(vendorBodyOf(gateway().vendor)).toContain("Blue 1.10")
  })
})
