/** A response repeats the fields of its request, as OpenAI's does: in its reply, its events, and when it is read later. */
import OpenAI from "openai"
import { describe, expect, it } from "vitest"
import { answering } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { onClouds, served } from "./clouds.ts"

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

const tool = {
  type: "function" as const,
  name: "weather",
  strict: false,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
}
const asked = {
  input: "Hello",
  instructions: "Be brief.",
  max_output_tokens: 100,
  metadata: { order: "5", by: "ada" },
  parallel_tool_calls: true,
  tool_choice: "auto" as const,
  tools: [tool],
  truncation: "disabled" as const,
  user: "ada",
}
const { input, ...echoed } = asked

/** Models whose vendor has another API: its replies are made here. */
const translated = served.filter((model) => model !== "responses")

describe.each(translated)("a response of %s", (model) => {
  it("has the fields of its request", async () => {
    gateway().vendor.script(answering({ words: ["Hello"], inTokens: 10, outTokens: 2 }))
    const first = await client().responses.create({ model, ...asked })
    expect(first).toMatchObject(echoed)
    expect(await client().responses.retrieve(first.id)).toMatchObject(echoed)
    const stream = await client().responses.create({ model, ...asked, stream: true })
    for await (const event of stream) if ("response" in event) expect(event.response).toMatchObject(echoed)
  })

  it("has them while it runs in the background, and afterwards", async () => {
    gateway().vendor.script(answering({ words: ["Hello"], inTokens: 10, outTokens: 2 }))
    const { id, ...begun } = await client().responses.create({ model, ...asked, background: true })
    expect(begun).toMatchObject(echoed)
    await expect
      .poll(() => client().responses.retrieve(id), { timeout: 5000 })
      .toMatchObject({ status: "completed", ...echoed })
  })

  it.each([
    [{ metadata: { a: 1 } }, "metadata.a"],
    [{ metadata: "a" }, "metadata"],
    [{ metadata: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`n${at}`, "x"])) }, "metadata"],
    [{ metadata: { a: "x".repeat(513) } }, "metadata.a"],
    [{ metadata: { ["n".repeat(65)]: "x" } }, `metadata.${"n".repeat(64)}`],
  ])("refuses %.60j", async (more, param) => {
    const reply = await gateway().call("POST", "/openai/v1/responses", { model, input, ...more })
    expect([reply.status, await reply.json()]).toMatchObject([400, { error: { param } }])
  })
})

it("a response that asks for reasoning and words has them, with the defaults of others", async () => {
  gateway().vendor.script(answering({ words: ["Hello"], inTokens: 10, outTokens: 2 }))
  const request = { model: "main", input, temperature: 0.5, top_p: 0.9, metadata: null }
  expect(await client().responses.create({ ...request, text: { format: { type: "text" } } })).toMatchObject({
    temperature: 0.5,
    top_p: 0.9,
    metadata: {},
    text: { format: { type: "text" } },
    reasoning: { effort: null, summary: null },
    tools: [],
    instructions: null,
  })
})
