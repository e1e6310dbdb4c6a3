/** Bedrock: frames and their checksums, what a stream needs to be whole, and what each family of models is asked. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { VendorRequest } from "../../../src/dialects/chat-dialect.ts"
import {
  anthropicBody,
  bedrockBody,
  bedrockClaudeFrames,
  bedrockFrame,
  bedrockFrames,
} from "../../../src/testing/vendor-replies.ts"
import { chatOf } from "../../support/chat-of.ts"
import { decodeBytes, decodePieces, fold } from "../../support/replay.ts"

const dialect = chatOf({ dialect: "bedrock" })
const answer = { words: ["Grüße ", "🌊", " 漢字"], inTokens: 70, outTokens: 9 }
const stream = Buffer.concat(bedrockFrames(answer))

describe("a stream", () => {
  it("means what the whole reply means, cut at any byte", () => {
    const whole = decodePieces(dialect, [stream])
    expect(fold(whole)).toEqual(fold(dialect.decodeBody(bedrockBody(answer))))
    expect(decodeBytes(dialect, stream)).toEqual(whole)
    for (let at = 1; at < stream.length; at += 7) {
      expect(decodePieces(dialect, [stream.subarray(0, at), stream.subarray(at)])).toEqual(whole)
    }
  })

  it("is broken by any flipped bit, and nothing is read after it", () => {
    for (let at = 0; at < stream.length; at++) {
      const flipped = Buffer.from(stream)
      flipped.writeUInt8(flipped.readUInt8(at) ^ 1, at)
      const { faults, done } = fold(decodePieces(dialect, [flipped]))
      // A longer length waits for bytes that do not come: then the stream ends before its metadata.
      expect(done).toBe(false)
      expect(faults.length).toBeLessThanOrEqual(1)
    }
  })

  it.each([
    ["a frame that is longer than allowed", Buffer.from([0x7f, 0xff, 0xff, 0xff])],
    ["a frame that is shorter than its own head", Buffer.from([0, 0, 0, 3])],
    ["text", Buffer.from("HTTP/1.1 200 OK\r\n\r\n")],
    ["an event that is no JSON", Buffer.from(bedrockFrame("metadata", []).map((byte) => byte))],
  ])("%s is malformed or ignored, and never whole", (_what, bytes) => {
    expect(fold(decodePieces(dialect, [bytes])).done).toBe(false)
  })

  it.each([
    ["without metadata", bedrockFrames(answer).slice(0, -1)],
    ["without its stop", bedrockFrames(answer).filter((_, at, all) => at !== all.length - 2)],
    ["whose last frame is cut", [stream.subarray(0, -1)]],
  ])("%s is not complete", (_what, frames) => {
    const { done, stop } = fold(decodePieces(dialect, frames))
    expect([done, stop]).toEqual([false, undefined])
  })

  it.each([
    ["throttlingException", 429],
    ["validationException", 400],
    ["internalServerException", 500],
    ["modelStreamErrorException", 502],
    ["serviceUnavailableException", 503],
    ["modelTimeoutException", 504],
    ["somethingNewException", 502],
  ])("with %s in it fails with its status", (type, status) => {
    const events = decodePieces(dialect, [bedrockFrame(type, { message: "secret" }, "exception")])
    expect(events).toMatchObject([{ kind: "fault", fault: { status, code: type } }])
  })
})

describe("Claude in its own words", () => {
  const claude = chatOf({ dialect: "anthropic", profile: "bedrock" })
  const chunks = Buffer.concat(bedrockClaudeFrames(answer))

  it("means what Anthropic means, cut at any byte", () => {
    const whole = decodePieces(claude, [chunks])
    expect(fold(whole)).toEqual(fold(claude.decodeBody(anthropicBody(answer))))
    expect(decodeBytes(claude, chunks)).toEqual(whole)
  })

  it.each([
    ["a frame that fails its checksum", Buffer.concat([chunks.subarray(0, -1), Buffer.from([0])]), "malformed_reply"],
    ["a chunk without bytes", bedrockFrame("chunk", {}), "malformed_reply"],
    ["an exception", bedrockFrame("throttlingException", {}, "exception"), "throttlingException"],
  ])("fails with %s", (_what, bytes, code) => {
    const { faults, done } = fold(decodePieces(claude, [bytes]))
    expect([faults, done]).toEqual([[code], false])
  })

  it("refuses files by URL, as Vertex AI does", () => {
    const google = { project: "p", location: "global" }
    const thread = [{ role: "user" as const, blocks: [{ t: "image" as const, mime: "image/png", url: "https://x" }] }]
    for (const cloud of [claude, chatOf({ dialect: "anthropic", profile: "vertex", google })]) {
      const refused = cloud.encode({ ...request, thread })
      expect(Result.isFailure(refused) && refused.failure.capability).toBe("file_url")
    }
  })
})

describe("usage", () => {
  const usageOf = (usage: object) => {
    const body = { output: { message: { content: [{ text: "Hi" }] } }, stopReason: "end_turn", usage }
    return fold(dialect.decodeBody(JSON.stringify(body))).usage
  }

  it.each([
    ["numbers", { inputTokens: 70, outputTokens: 9 }, [70, 9, []]],
    ["decimal strings", { inputTokens: "70", outputTokens: "9.0" }, [70, 9, []]],
    ["no output", { inputTokens: 70 }, [70, 0, ["output"]]],
    ["a negative input", { inputTokens: -1, outputTokens: 9 }, [0, 9, ["input"]]],
    ["nonsense", { inputTokens: {}, outputTokens: "many" }, [0, 0, ["input", "output"]]],
  ])("reads %s", (_what, usage, expected) => {
    const got = usageOf(usage)
    expect([got?.inTokens, got?.outTokens, got?.missing ?? []]).toEqual(expected)
  })

  it("does not believe a cache write that is reported twice", () => {
    const once = { inputTokens: 10, outputTokens: 5, cacheReadInputTokens: 100, cacheWriteInputTokens: 2000 }
    expect(usageOf({ ...once, cacheWriteInputTokens: 4000, totalTokens: 2115 })?.cacheWriteTokens).toBe(2000)
    const details = [
      { ttl: "1h", inputTokens: 1500 },
      { ttl: "5m", inputTokens: 500 },
    ]
    const detailed = usageOf({ ...once, cacheWriteInputTokens: 4000, cacheDetails: details })
    expect(detailed).toMatchObject({ cacheWriteTokens: 2000, dims: { cache_write_1h: 1500 } })
    expect(usageOf(once)).toMatchObject({ inTokens: 10, cacheReadTokens: 100, cacheWriteTokens: 2000 })
  })
})

const request: VendorRequest = {
  model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
  thread: [{ role: "user", blocks: [{ t: "text", v: "Hi" }] }],
  tools: [],
  maxTokens: 4000,
  temperature: 0.5,
  stop: [],
  canReason: true,
  cache: { enabled: false, skipWrite: true },
  stream: true,
}
const sent = (changes: Partial<VendorRequest>) =>
  JSON.parse(Result.getOrThrow(dialect.encode({ ...request, ...changes })).body)
const refusal = (changes: Partial<VendorRequest>) =>
  Result.match(dialect.encode({ ...request, ...changes }), {
    onFailure: ({ capability }) => capability,
    onSuccess: () => "sent",
  })
const call = { t: "tool_call", id: "call_1", name: "f", input: { a: 1 } } as const
const tool = { name: "f", inputSchema: { type: "object" } }

describe("a request", () => {
  it("names the model whole in its path: ids, profiles and ARNs", () => {
    const pathOf = (model: string) => Result.getOrThrow(dialect.encode({ ...request, model, stream: false })).path
    expect(pathOf("amazon.nova-pro-v1:0")).toBe("/model/amazon.nova-pro-v1%3A0/converse")
    expect(pathOf("arn:aws:bedrock:us-east-1:1:application-inference-profile/x")).toBe(
      "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aapplication-inference-profile%2Fx/converse",
    )
  })

  it.each([
    ["anthropic.claude-sonnet-4-5-20250929-v1:0", { thinking: { type: "enabled", budget_tokens: 2048 } }],
    ["us.anthropic.claude-sonnet-4-6", { thinking: { type: "adaptive" }, output_config: { effort: "low" } }],
    ["us.amazon.nova-2-lite-v1:0", { reasoningConfig: { type: "enabled", maxReasoningEffort: "low" } }],
    ["openai.gpt-oss-120b-1:0", { reasoning_effort: "low" }],
    ["qwen.qwen3-32b-v1:0", { reasoning_config: "low" }],
    ["meta.llama3-3-70b-instruct-v1:0", undefined],
    ["arn:aws:bedrock:us-east-1:1:application-inference-profile/x", undefined],
  ])("asks %s to reason in its own fields", (model, fields) => {
    const { additionalModelRequestFields, inferenceConfig } = sent({ model, reasoning: "low" })
    expect(additionalModelRequestFields).toEqual(fields)
    // Claude takes no temperature while it thinks.
    expect(inferenceConfig.temperature).toBe(model.includes("claude") ? undefined : 0.5)
  })

  it("keeps the last four cache points, none without a cache, and none after reasoning", () => {
    const blocks = ["a", "b", "c", "d", "e"].map((v) => ({ t: "text" as const, v, cacheable: true }))
    const thread = [{ role: "user" as const, blocks }]
    const points = (cache: VendorRequest["cache"]) =>
      JSON.stringify(sent({ thread, cache })).split("cachePoint").length - 1
    expect(points({ enabled: true, skipWrite: true })).toBe(4)
    expect(points({ enabled: false, skipWrite: true })).toBe(0)
    const [message] = sent({ thread, cache: { enabled: true, skipWrite: false } }).messages
    expect(message.content.slice(0, 2)).toEqual([{ text: "a" }, { text: "b" }])
    expect(message.content.at(-1)).toEqual({ cachePoint: { type: "default" } })
  })

  it.each([
    ["anthropic.claude-sonnet-4-5-20250929-v1:0", ["1h", "1h", "5m"], ["1h", "1h", "5m"]],
    ["anthropic.claude-sonnet-4-5-20250929-v1:0", ["5m", true, "1h"], ["1h", "1h", "1h"]],
    ["us.amazon.nova-2-lite-v1:0", ["1h", true, "5m"], [undefined, undefined, undefined]],
  ] as const)("keeps prefixes of %s for %j", (model, lives, points) => {
    const blocks = lives.map((cacheable) => ({ t: "text" as const, v: "a", cacheable }))
    const cache = { enabled: true, skipWrite: false }
    const [message] = sent({ model, thread: [{ role: "user" as const, blocks }], cache }).messages
    const found = message.content.filter((block: object) => "cachePoint" in block)
    expect(found).toEqual(points.map((ttl) => ({ cachePoint: { type: "default", ...(ttl !== undefined && { ttl }) } })))
  })

  it("sends reasoning back to Claude with its signature or redacted, and to no other model", () => {
    const reasoning = [
      { t: "reasoning" as const, v: "Hm", signature: "sig" },
      { t: "reasoning" as const, v: "unsigned" },
      { t: "reasoning" as const, v: "of another", signature: "openai:x" },
      { t: "reasoning" as const, v: "opaque", redacted: true },
    ]
    const thread = [
      { role: "user" as const, blocks: [{ t: "text" as const, v: "Hi" }] },
      { role: "assistant" as const, blocks: [...reasoning, { t: "text" as const, v: "Yes" }] },
    ]
    expect(sent({ thread }).messages[1].content).toEqual([
      { reasoningContent: { reasoningText: { text: "Hm", signature: "sig" } } },
      { reasoningContent: { redactedContent: Buffer.from("opaque").toString("base64") } },
      { text: "Yes" },
    ])
    expect(sent({ thread, model: "amazon.nova-pro-v1:0" }).messages[1].content).toEqual([{ text: "Yes" }])
  })

  it("shortens ids of calls that Bedrock refuses, the same in call and result", () => {
    const id = `toolu|${"x".repeat(100)}`
    const thread = [
      { role: "user" as const, blocks: [{ t: "text" as const, v: "Hi" }] },
      { role: "assistant" as const, blocks: [{ ...call, id }] },
      { role: "tool" as const, blocks: [{ t: "tool_result" as const, id, v: "" }] },
    ]
    const [, first, second] = sent({ thread, tools: [tool] }).messages
    const [{ toolUse }] = first.content
    expect(toolUse.toolUseId).toMatch(/^[a-f0-9]{32}$/)
    expect(second.content).toEqual([
      { toolResult: { toolUseId: toolUse.toolUseId, content: [{ text: "(empty)" }], status: "success" } },
    ])
  })

  it("names documents as Bedrock allows, each differently, with text beside them", () => {
    const file = { t: "file" as const, mime: "application/pdf", name: "a_b/c.pdf", data: "AAAA" }
    const thread = [{ role: "user" as const, blocks: [file, file] }]
    const [{ content }] = sent({ thread }).messages
    expect(content.map((block: { document?: { name: string } }) => block.document?.name)).toEqual([
      "a b c pdf",
      "a b c pdf (2)",
      undefined,
    ])
    expect(content.at(-1)).toHaveProperty("text")
  })

  it.each([
    ["file_url", { thread: [{ role: "user", blocks: [{ t: "image", mime: "image/png", url: "https://x" }] }] }],
    ["file_type", { thread: [{ role: "user", blocks: [{ t: "image", mime: "image/tiff", data: "AAAA" }] }] }],
    ["file_type", { thread: [{ role: "user", blocks: [{ t: "file", mime: "application/zip", data: "AAAA" }] }] }],
    [
      "tools",
      {
        thread: [
          { role: "user", blocks: [{ t: "text", v: "Hi" }] },
          { role: "assistant", blocks: [call] },
        ],
      },
    ],
    [
      "tool_choice",
      {
        thread: [
          { role: "user", blocks: [{ t: "text", v: "Hi" }] },
          { role: "assistant", blocks: [call] },
        ],
        tools: [tool],
        toolChoice: "none",
      },
    ],
    ["parallel_tool_calls", { tools: [tool], parallelToolCalls: false }],
    ["output", { model: "amazon.nova-pro-v1:0", output: { schema: {} } }],
    ["output", { model: "anthropic.claude-sonnet-4-20250514-v1:0", output: { schema: {} } }],
    ["sent", { output: { schema: {} } }],
    ["sent", { tools: [tool], toolChoice: "none" }],
  ] as const)("that cannot be expressed is refused: %s", (capability, changes) => {
    expect(refusal(changes)).toBe(capability)
  })
})
