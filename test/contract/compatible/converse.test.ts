/** Bedrock's Converse by AWS's SDK, unchanged, with vendors of any API. */
import {
  BedrockRuntimeClient,
  type ContentBlock,
  ConverseCommand,
  type ConverseCommandInput,
  ConverseStreamCommand,
  CountTokensCommand,
  type CountTokensCommandInput,
  type Message,
} from "@aws-sdk/client-bedrock-runtime"
import { NodeHttpHandler } from "@smithy/node-http-handler"
import { describe, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../../src/testing/gateway.ts"
import { answering, openaiFrame } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"
import { png } from "../../support/media-samples.ts"
import { breaksOff, vendorBodyOf } from "./vendors.ts"

const ids = newTestIds()
const gateway = useGateway({ ids, catalogue: (urls) => testCatalogue(urls, ids) })
const answer = { words: ["Hello", " there"], inTokens: 10, outTokens: 2, cachedTokens: 4 }
const client = (token = `${gateway().keyId}~${gateway().key}`) =>
  new BedrockRuntimeClient({
    region: "eu-west-1",
    endpoint: `${gateway().baseUrl}/bedrock`,
    token: { token },
    authSchemePreference: ["httpBearerAuth"],
    maxAttempts: 1,
    requestHandler: new NodeHttpHandler(),
  })
const hello: Array<Message> = [{ role: "user", content: [{ text: "Hello" }] }]
const converse = (input: Partial<ConverseCommandInput>) =>
  client().send(new ConverseCommand({ modelId: "main", messages: hello, ...input }))
const stream = async (input: Partial<ConverseCommandInput>) => {
  const { stream: events } = await client().send(
    new ConverseStreamCommand({ modelId: "main", messages: hello, ...input }),
  )
  const read = []
  for await (const event of events ?? []) read.push(event)
  return read
}
const tools = [
  {
    toolSpec: {
      name: "weather",
      description: "Weather of a city",
      inputSchema: { json: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } },
    },
  },
]

describe("Converse", () => {
  it.each(["main", "claude"])("%s answers, with usage and stop reason", async (modelId) => {
    gateway().vendor.script(answering(answer))
    const whole = await converse({
      modelId,
      inferenceConfig: { maxTokens: 50, temperature: 0.5, stopSequences: ["x"] },
    })
    expect(whole.output?.message).toMatchObject({ role: "assistant", content: [{ text: "Hello there" }] })
    expect([whole.stopReason, whole.usage]).toMatchObject([
      "end_turn",
      { inputTokens: 6, outputTokens: 2, totalTokens: 12, cacheReadInputTokens: 4 },
    ])
    const sent = vendorBodyOf(gateway().vendor)
    expect(sent).toContain(`"temperature":0.5`)
    expect(sent).toMatch(/"(max_tokens|max_completion_tokens)":50/)
  })

  it("says how long it took", async () => {
    gateway().vendor.script(async (call) => {
      await call.wait(80)
      await answering(answer)(call)
    })
    // A clock of whole seconds would be wrong by up to one.
    for (let tries = 0; tries < 4; tries++) {
      const startedMs = Date.now()
      const { metrics } = await converse({})
      expect(metrics?.latencyMs).toBeGreaterThanOrEqual(75)
      expect(metrics?.latencyMs).toBeLessThanOrEqual(Date.now() - startedMs)
    }
  })

  it.each(["main", "claude"])("%s streams its events in order", async (modelId) => {
    gateway().vendor.script(answering(answer))
    const events = await stream({ modelId, inferenceConfig: { maxTokens: 50 } })
    expect(events.map((event) => Object.keys(event)[0])).toEqual([
      "messageStart",
      "contentBlockDelta",
      "contentBlockDelta",
      "contentBlockStop",
      "messageStop",
      "metadata",
    ])
    expect(events.map(({ contentBlockDelta }) => contentBlockDelta?.delta?.text ?? "").join("")).toBe("Hello there")
    expect(events.at(-1)?.metadata?.usage).toMatchObject({ inputTokens: 6, outputTokens: 2 })
  })

  it("gives system, pictures, documents and cache points to a vendor of another API", async () => {
    gateway().vendor.script(answering(answer))
    await converse({
      modelId: "claude",
      system: [{ text: "Be short." }, { cachePoint: { type: "default", ttl: "1h" } }],
      messages: [
        {
          role: "user",
          content: [
            { text: "Look" },
            { image: { format: "png", source: { bytes: png } } },
            { document: { format: "txt", name: "notes", source: { bytes: Buffer.from("a river") } } },
          ],
        },
      ],
      inferenceConfig: { maxTokens: 50 },
    })
    const sent = vendorBodyOf(gateway().vendor)
    expect(sent).toContain(`"text":"Be short.","cache_control":{"type":"ephemeral","ttl":"1h"}`)
    expect(sent).toContain(`"media_type":"image/png","data":"${png.toString("base64")}"`)
    expect(sent).toContain("a river")
  })

  it("calls tools, and gets their results", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      const toolCall = (more: object) => ({ index: 0, ...more })
      for (const part of [
        toolCall({ id: "call_1", type: "function", function: { name: "weather", arguments: "" } }),
        toolCall({ function: { arguments: '{"city":' } }),
        toolCall({ function: { arguments: '"Oslo"}' } }),
      ])
        await call.write(openaiFrame({ choices: [{ index: 0, delta: { tool_calls: [part] } }] }))
      await call.write(openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] }))
      await call.write(
        openaiFrame({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 } }),
      )
      await call.write(openaiFrame("[DONE]"))
      call.end()
    })
    const events = await stream({ toolConfig: { tools, toolChoice: { any: {} } } })
    const start = events.find(({ contentBlockStart }) => contentBlockStart !== undefined)?.contentBlockStart
    expect(start?.start?.toolUse).toMatchObject({ name: "weather", toolUseId: "call_1" })
    const input = events.map(({ contentBlockDelta }) => contentBlockDelta?.delta?.toolUse?.input ?? "").join("")
    expect(JSON.parse(input)).toEqual({ city: "Oslo" })
    expect(events.find(({ messageStop }) => messageStop !== undefined)?.messageStop?.stopReason).toBe("tool_use")
    expect(vendorBodyOf(gateway().vendor)).toContain(`"tool_choice":"required"`)

    gateway().vendor.script(answering(answer))
    const called: Array<ContentBlock> = [{ toolUse: { toolUseId: "call_1", name: "weather", input: { city: "Oslo" } } }]
    const found: Array<ContentBlock> = [
      { toolResult: { toolUseId: "call_1", content: [{ json: { degrees: 12 } }], status: "success" } },
    ]
    await converse({
      messages: [...hello, { role: "assistant", content: called }, { role: "user", content: found }],
      toolConfig: { tools },
    })
    expect(vendorBodyOf(gateway().vendor)).toContain(`{"degrees":12}`)
  })

  it("counts tokens of a call of either form, without a call", async () => {
    const before = gateway().vendor.calls.length
    const count = async (input: CountTokensCommandInput["input"], modelId = "main") =>
      (await client().send(new CountTokensCommand({ modelId, input }))).inputTokens ?? 0
    const text = "Hello, river! ".repeat(100)
    const body = Buffer.from(
      JSON.stringify({ anthropic_version: "bedrock-2023-05-31", messages: [{ role: "user", content: text }] }),
    )
    const byConverse = await count({ converse: { messages: [{ role: "user", content: [{ text }] }] } })
    const byInvoke = await count({ invokeModel: { body } }, "claude")
    expect(byConverse).toBeGreaterThan(300)
    expect(byInvoke).toBe(byConverse)
    expect(gateway().vendor.calls.length).toBe(before)
    const wrong: ReadonlyArray<readonly [CountTokensCommandInput["input"], RegExp]> = [
      [{ invokeModel: { body: Buffer.from("no") } }, /input\.invokeModel\.body/],
      [
        { converse: { messages: [{ role: "user", content: [{ image: { format: "png", source: undefined } }] }] } },
        /input\.converse\.messages\.0/,
      ],
    ]
    for (const [input, reason] of wrong)
      await expect(count(input)).rejects.toMatchObject({
        name: "ValidationException",
        message: expect.stringMatching(reason),
      })
    const large = "A river. ".repeat(60_000)
    expect(await count({ converse: { messages: [{ role: "user", content: [{ text: large }] }] } })).toBeGreaterThan(
      60_000,
    )
  })

  it("names the features of a body that it leaves out", async () => {
    gateway().vendor.script(answering(answer))
    const betas = ["context-1m-2025-08-07", "interleaved-thinking-2025-05-14", "unknown-2030-01-01"]
    const headers = { authorization: `Bearer ${gateway().keyId}~${gateway().key}`, "content-type": "application/json" }
    const warningOf = async (path: string, body: object) => {
      const sent = { method: "POST", headers, body: JSON.stringify(body) }
      return (await fetch(`${gateway().baseUrl}/bedrock/model/${path}`, sent)).headers.get("x-svc-warning")
    }
    const messages = [{ role: "user", content: [{ type: "text", text: "Hello" }] }]
    const invoked = { anthropic_version: "bedrock-2023-05-31", max_tokens: 50, messages, anthropic_beta: betas }
    expect(await warningOf("claude/invoke", invoked)).toBe("betas_omitted=context-1m-2025-08-07,unknown-2030-01-01")
    expect(await warningOf("main/invoke", invoked)).toBe("betas_omitted=context-1m-2025-08-07")
    const fields = { messages: hello, additionalModelRequestFields: { anthropic_beta: betas } }
    expect(await warningOf("claude/converse", fields)).toBe("betas_omitted=context-1m-2025-08-07")
  })

  it("keeps a large prompt whole", async () => {
    gateway().vendor.script(answering(answer))
    const text = "A river. ".repeat(60_000)
    await converse({ modelId: "claude", messages: [{ role: "user", content: [{ text }] }] })
    expect(vendorBodyOf(gateway().vendor)).toContain(text)
  })

  it("thinks, and gets its thoughts back", async () => {
    gateway().vendor.script(answering(answer))
    const thought: ContentBlock = { reasoningContent: { reasoningText: { text: "Hm.", signature: "c2ln" } } }
    await converse({
      modelId: "claude",
      messages: [...hello, { role: "assistant", content: [thought, { text: "Hi" }] }, ...hello],
      inferenceConfig: { maxTokens: 2000 },
      additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 1500 } },
    })
    expect(vendorBodyOf(gateway().vendor)).toContain(`"budget_tokens":1500`)
  })

  it("fails in a stream as an exception, and before with the API's types", async () => {
    gateway().vendor.script(breaksOff)
    await expect(stream({})).rejects.toMatchObject({ name: "ModelStreamErrorException" })
    await expect(
      converse({ guardrailConfig: { guardrailIdentifier: "g", guardrailVersion: "1" } }),
    ).rejects.toMatchObject({
      name: "ValidationException",
      message: expect.stringContaining("guardrailConfig"),
    })
    await expect(converse({ inferenceConfig: { temperature: 9 } })).rejects.toMatchObject({
      message: expect.stringContaining("inferenceConfig.temperature"),
    })
    await expect(converse({ modelId: "nobody" })).rejects.toMatchObject({ name: "AccessDeniedException" })
    const stranger = client("a~b").send(new ConverseCommand({ modelId: "main", messages: hello }))
    await expect(stranger).rejects.toMatchObject({ name: "UnrecognizedClientException" })
  })

  it.each([
    [{ messages: [{ role: "system", content: [{ text: "x" }] }] }, /role/],
    [{ messages: [{ role: "user", content: [{ text: "x", image: {} }] }] }, /one member/],
    [{ messages: [{ role: "user", content: [{ __proto__x: 1 }] }] }, /one member/],
    [{ messages: [{ role: "user", content: [{ image: { format: "bmp", source: { bytes: "x" } } }] }] }, /format/],
    [{ messages: [{ role: "user", content: "x" }] }, /list/],
    [{ messages: [], toolConfig: { tools: [{}] } }, /toolSpec/],
    [{}, /messages/],
  ])("%j is refused by name", async (body, reason) => {
    const reply = await fetch(`${gateway().baseUrl}/bedrock/model/main/converse`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway().keyId}~${gateway().key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    })
    expect([reply.status, reply.headers.get("x-amzn-errortype")]).toEqual([400, "ValidationException"])
    expect(await reply.text()).toMatch(reason)
  })
})
