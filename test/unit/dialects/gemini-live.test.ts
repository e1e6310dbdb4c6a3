/** Messages of Google's Live API: their meaning, and messages that nobody should send. */
import { describe, expect, it } from "vitest"
import { isPlainSound, readLiveMessage } from "../../../src/dialects/gemini-live/client-messages.ts"
import { configIn, readSetup, setupMessage } from "../../../src/dialects/gemini-live/setup.ts"
import { renamedUsage, usageOfMetadata } from "../../../src/dialects/gemini-live/usage.ts"
import { geminiLive, vertexLive } from "../../../src/dialects/gemini-live/vendor.ts"
import { LiveReader } from "../../../src/dialects/gemini-live/vendor-reader.ts"
import type { SessionLimits } from "../../../src/dialects/realtime-dialect.ts"
import { constrained } from "../../../src/http/compatible/live-token.ts"
import { randomOf } from "../../support/random.ts"

const limits: SessionLimits = { models: [], maxOutTokens: 4096, hasTools: true, transcriptUnits: [] }
const bytes = (message: unknown) => Buffer.from(typeof message === "string" ? message : JSON.stringify(message))
const fromClient = (message: unknown) => readLiveMessage(bytes(message), limits)
const reader = () => new LiveReader((handle) => `sealed ${handle}`, "gemini")
const kindsOf = (live: LiveReader, message: unknown) => live.read(bytes(message)).events.map((event) => event.is)

const data = Buffer.alloc(12).toString("base64")
const usualBytes = 18

describe("a client's message of sound", () => {
  it.each([
    [{ realtimeInput: { audio: { data, mimeType: "audio/pcm;rate=16000" } } }, true],
    [{ realtime_input: { audio: { mime_type: "audio/pcm;rate=16000", data } } }, true],
    [{ realtimeInput: { audio: { data, mimeType: "audio/pcm" } } }, true],
    [{ realtimeInput: { mediaChunks: [{ data, mimeType: "audio/pcm;rate=16000" }] } }, false],
    [{ realtimeInput: { audio: { data, mimeType: "audio/pcm;rate=16000" }, text: "" } }, false],
    [{ realtimeInput: { audio: { data, mimeType: "audio/pcm;rate=1" } } }, false],
  ])("%j has its length", (message, isPlain) => {
    expect(isPlainSound(bytes(message))).toBe(isPlain)
    const event = fromClient(message)
    expect(event.is === "audio" ? event.audioBytes : event.is === "added" && event.added.audioBytes).toBe(usualBytes)
  })

  it("is not plain with an escape, or with a second member", () => {
    expect(isPlainSound(bytes('{"realtimeInput":{"audio":{"data":"\\u0041","mimeType":"audio/pcm"}}}'))).toBe(false)
    expect(isPlainSound(bytes('{"realtimeInput":{"audio":{"data":"A","mimeType":"audio/pcm"}},"setup":{}}'))).toBe(
      false,
    )
  })
})

describe("a client's message", () => {
  it("asks for a response if its turn is complete, and has its texts with their parts", () => {
    const turns = [{ parts: [{ text: "one" }, { functionResponse: { name: "f", response: { two: 3 } } }] }]
    expect(fromClient({ clientContent: { turns, turnComplete: true } }).is).toBe("respond")
    expect(fromClient({ client_content: { turns, turn_complete: false } })).toMatchObject({
      is: "added",
      mayAnswer: false,
      added: {
        texts: [
          ["text", "one"],
          ["toolResults", "f"],
          ["toolResults", "two"],
          ["toolResults", "3"],
        ],
      },
    })
  })

  it("may be answered without a request if it is a text, a picture or a result", () => {
    const picture = { data: "AAAA", mimeType: "image/jpeg" }
    expect(fromClient({ realtimeInput: { video: picture } })).toMatchObject({ mayAnswer: true, added: { images: 1 } })
    expect(fromClient({ realtimeInput: { text: "hi" } })).toMatchObject({ mayAnswer: true })
    expect(fromClient({ toolResponse: { functionResponses: [] } })).toMatchObject({ mayAnswer: true })
  })
})

describe("a setup", () => {
  it.each([
    ["live", "live"],
    ["models/live", "live"],
    ["publishers/google/models/live", "live"],
    ["projects/p/locations/l/publishers/google/models/live", "live"],
    ["models/acme/live", "acme/live"],
  ])("names %s", (model, handle) => {
    expect(readSetup({ model })).toMatchObject({ success: { model: handle } })
  })

  it("is written for a vendor with its name and the conversation, and without the client's", () => {
    const read = readSetup({
      model: "models/live",
      session_resumption: { handle: "ours", transparent: true },
      tools: [],
    })
    expect(read).toMatchObject({ success: { handle: "ours", config: { session_resumption: { transparent: true } } } })
    const body = JSON.stringify({ session_resumption: { transparent: true } })
    expect(JSON.parse(setupMessage(body, geminiLive.modelName("m"), "theirs"))).toEqual({
      setup: { model: "models/m", session_resumption: { transparent: true, handle: "theirs" } },
    })
    expect(vertexLive({ project: "p", location: "l" }).modelName("m")).toBe(
      "projects/p/locations/l/publishers/google/models/m",
    )
  })

  it("may have members of any name in schemas", () => {
    const properties = { user_id: { type: "STRING" }, userId: { type: "STRING" } }
    const tools = [{ functionDeclarations: [{ name: "f", parameters: { type: "OBJECT", properties } }] }]
    expect(configIn(bytes({ setup: { model: "models/live", tools } }))).toMatchObject({ _tag: "Success" })
  })
})

describe("a token's configuration", () => {
  const token = { token: "", id: "", uses: 1, beginsUntilMs: 0, madeAtMs: 0 }
  const sent = { model: "models/b", generation_config: { temperature: 1, topK: 2 }, tools: [] }

  it.each([
    [undefined, [], sent],
    [{ model: "models/a" }, [], { model: "models/a" }],
    [{ model: "models/a" }, ["model"], { ...sent, model: "models/a" }],
    [
      { generationConfig: { temperature: 0 } },
      ["generationConfig.temperature"],
      { model: "models/b", tools: [], generationConfig: { temperature: 0, topK: 2 } },
    ],
    [{}, ["tools", "generation_config.top_k"], { model: "models/b", generationConfig: { temperature: 1 } }],
    [undefined, ["tools"], { model: "models/b", generation_config: { temperature: 1, topK: 2 } }],
  ])("%j with the fields %j", (setup, fields, config) => {
    expect(constrained({ ...token, ...(setup !== undefined && { setup }), fields }, sent)).toEqual(config)
  })

  it("leaves the client the conversation that it resumes", () => {
    const own = { ...sent, sessionResumption: { handle: "h" } }
    expect(constrained({ ...token, setup: { model: "models/a" }, fields: [] }, own)).toEqual({
      model: "models/a",
      sessionResumption: { handle: "h" },
    })
  })
})

describe("the vendor's messages", () => {
  const usage = (prompt: number, out: number) => ({ promptTokenCount: prompt, responseTokenCount: out })
  const words = (text: string) => ({ serverContent: { outputTranscription: { text } } })
  const end = { serverContent: { turnComplete: true } }

  it.each<[string, ReadonlyArray<unknown>, ReadonlyArray<string>]>([
    ["a turn", [words("a"), words("b"), { ...end, usageMetadata: usage(1, 2) }], ["created", "delta", "delta", "done"]],
    ["a turn whose usage comes later", [words("a"), end, { usageMetadata: usage(1, 2) }], ["created", "delta", "done"]],
    ["a turn without usage", [words("a"), end, words("b")], ["created", "delta", "done", "created", "delta"]],
    ["an end of nothing", [end], ["unanswered"]],
    ["usage alone", [{ ...end, usageMetadata: usage(1, 2) }], ["created", "done"]],
    [
      "a call with usage, and its answer",
      [
        { toolCall: { functionCalls: [] }, usageMetadata: usage(1, 2) },
        words("a"),
        { ...end, usageMetadata: usage(5, 2) },
      ],
      ["created", "delta", "delta", "done", "created", "done"],
    ],
    [
      "a call with usage, and speech that goes on beside it",
      [
        { toolCall: { functionCalls: [] }, usageMetadata: usage(1, 2) },
        words("a"),
        { ...end, usageMetadata: usage(1, 9) },
      ],
      ["created", "delta", "delta", "done"],
    ],
    [
      "a call without usage, and its answer",
      [{ toolCall: { functionCalls: [] } }, words("a"), { ...end, usageMetadata: usage(5, 2) }],
      ["created", "delta", "delta", "done"],
    ],
    ["news of the session", [{ setupComplete: {} }, { goAway: { timeLeft: "5s" } }, { somethingNew: {} }], []],
  ])("%s", (_, messages, kinds) => {
    const live = reader()
    expect(messages.flatMap((message) => kindsOf(live, message))).toEqual(kinds)
  })

  it("settle a turn of which nothing more comes", () => {
    const live = reader()
    for (const message of [words("a"), end]) live.read(bytes(message))
    expect(live.settled(false)).toMatchObject([{ is: "done", usage: undefined, stop: "end" }])
    expect(live.settled(false)).toEqual([])
  })

  it("name the conversation sealed, and counts as the client reads them", () => {
    const update = { sessionResumptionUpdate: { newHandle: "theirs", resumable: true } }
    expect(JSON.parse(reader().read(bytes(update)).sent ?? "")).toEqual({
      sessionResumptionUpdate: { newHandle: "sealed theirs", resumable: true },
    })
    expect(renamedUsage({ candidatesTokenCount: 3, promptTokenCount: 1 }, "gemini")).toEqual({
      promptTokenCount: 1,
      responseTokenCount: 3,
    })
    expect(renamedUsage({ responseTokenCount: 3 }, "gemini")).toBeUndefined()
  })

  it("report counts that never exceed their totals", () => {
    expect(
      usageOfMetadata({
        promptTokenCount: 100,
        cachedContentTokenCount: 40,
        cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 30 }],
        promptTokensDetails: [
          { modality: "AUDIO", tokenCount: 50 },
          { modality: "VIDEO", tokenCount: 900 },
        ],
        responseTokenCount: 10,
        thoughtsTokenCount: 5,
        responseTokensDetails: [{ modality: "AUDIO", tokenCount: 99 }],
      })?.counts,
    ).toEqual({
      inTokens: 60,
      outTokens: 15,
      cacheReadTokens: 40,
      cacheWriteTokens: 0,
      dims: { audio_in: 20, image_in: 40, cache_read_audio: 30, audio_out: 15, reasoning: 5 },
    })
    for (const bad of [-1, 1.5, 1e300, "x", null, [], {}]) {
      const counts = usageOfMetadata({ promptTokenCount: bad, responseTokenCount: 1 })?.counts
      expect(counts?.inTokens ?? 0).toBe(0)
    }
  })
})

describe("messages of any shape", () => {
  const names =
    `setup clientContent client_content realtimeInput toolResponse serverContent modelTurn parts text audio data mimeType
    toolCall functionCalls usageMetadata promptTokenCount turnComplete sessionResumptionUpdate newHandle inlineData turns`.split(
      /\s+/,
    )
  const random = randomOf(7)
  const value = (depth: number): unknown => {
    const kind = Math.floor(random() * (depth > 4 ? 4 : 6))
    if (kind === 0) return random() < 0.5
    if (kind === 1) return Math.floor(random() * 1e6) - 5
    if (kind === 2) return "audio/pcm;rate=16000"
    if (kind === 3) return null
    if (kind === 4) return Array.from({ length: 2 }, () => value(depth + 1))
    return Object.fromEntries(
      Array.from({ length: 3 }, () => [names[Math.floor(random() * names.length)] ?? "", value(depth + 1)]),
    )
  }

  it("are read or refused, and every response ends once", () => {
    const live = reader()
    let open = 0
    for (let at = 0; at < 3000; at++) {
      const message = JSON.stringify(value(0))
      fromClient(message)
      const config = configIn(bytes(message))
      if (config._tag === "Success") readSetup(config.success)
      for (const event of live.read(bytes(message)).events) {
        if (event.is === "created") open++
        if (event.is === "done") open--
      }
      expect(open === 0 || open === 1).toBe(true)
    }
  })
})
