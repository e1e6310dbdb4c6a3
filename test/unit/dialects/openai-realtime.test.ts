/** The meaning of events of a realtime session: tables, and properties of what may pass. */
import { describe, expect, it } from "vitest"
import { bytesPerSecond } from "../../../src/dialects/openai-realtime/audio.ts"
import { readClientEvent } from "../../../src/dialects/openai-realtime/client-events.ts"
import { usageOfDone, usageOfTranscript } from "../../../src/dialects/openai-realtime/usage.ts"
import { azureRealtime, openaiRealtime } from "../../../src/dialects/openai-realtime/vendor.ts"
import { readVendorEvent } from "../../../src/dialects/openai-realtime/vendor-events.ts"
import { noTranscript, type SessionLimits } from "../../../src/dialects/realtime-dialect.ts"
import { randomOf } from "../../support/random.ts"

const limits: SessionLimits = {
  models: ["voice", "vendor-voice"],
  maxOutTokens: 4096,
  hasTools: true,
  transcriptUnits: ["seconds", "tokens"],
}
const fromVendor = (event: unknown) =>
  readVendorEvent(Buffer.from(typeof event === "string" ? event : JSON.stringify(event)))
const fromClient = (event: unknown) =>
  readClientEvent(Buffer.from(typeof event === "string" ? event : JSON.stringify(event)), limits)

describe("a vendor's event", () => {
  it.each([
    ["response.output_audio.delta", 6, 0],
    ["response.audio.delta", 6, 0],
    ["response.output_text.delta", 0, 8],
    ["response.text.delta", 0, 8],
    ["response.output_audio_transcript.delta", 0, 8],
    ["response.audio_transcript.delta", 0, 8],
    ["response.function_call_arguments.delta", 0, 8],
  ])("%s counts the same in any order of its fields", (type, audioBytes, textBytes) => {
    const delta = "AAAAAAAA"
    for (const event of [
      { type, response_id: "r", delta },
      { delta, response_id: "r", type },
      { type, delta, event_id: "e", response_id: "r", item_id: "i" },
    ]) {
      expect(fromVendor(event)).toEqual({ is: "delta", responseId: "r", audioBytes, textBytes })
    }
    const spaced = JSON.stringify({ type, response_id: "r", delta }, undefined, 2)
    expect(fromVendor(spaced)).toEqual({ is: "delta", responseId: "r", audioBytes, textBytes })
  })

  it("with an escaped quote is estimated no higher than it is", () => {
    const event = fromVendor({ type: "response.output_text.delta", response_id: "r", delta: 'say "yes" now' })
    expect(event).toMatchObject({ is: "delta", audioBytes: 0 })
    if (event.is === "delta") expect(event.textBytes).toBeLessThanOrEqual('say \\"yes\\" now'.length)
  })

  it.each(["", "null", "[]", "no json", "{}", '{"type":5}', `{"type":"response.done"`, "[".repeat(100_000)])(
    "%.20s is malformed",
    (text) => {
      expect(fromVendor(text)).toEqual({ is: "malformed" })
    },
  )

  it.each([
    ["completed", undefined, [], "end"],
    ["completed", undefined, [{ type: "function_call" }], "tool_call"],
    ["incomplete", { reason: "max_output_tokens" }, [], "max_tokens"],
    ["incomplete", { reason: "content_filter" }, [], "filtered"],
    ["cancelled", { reason: "turn_detected" }, [], "interrupted"],
    ["failed", { type: "failed" }, [], "interrupted"],
  ])("response.done that is %s with %o stopped", (status, status_details, output, stop) => {
    const response = { id: "r", status, status_details, output }
    expect(fromVendor({ type: "response.done", response })).toMatchObject({
      is: "done",
      responseId: "r",
      stop,
      hasFailed: status === "failed",
      usage: undefined,
    })
  })

  it("tells whose fault an error is", () => {
    const error = (type: string) => fromVendor({ type: "error", error: { type, message: "m" } })
    expect(error("invalid_request_error")).toMatchObject({ is: "error", ofAccount: false })
    expect(error("server_error")).toMatchObject({ is: "error", ofAccount: true })
  })
})

describe("usage of a response", () => {
  const done = (inside: unknown, beside?: unknown) =>
    usageOfDone({ type: "response.done", response: { id: "r", usage: inside }, usage: beside })

  it("is taken from beside the response where that has none", () => {
    const usage = {
      input_tokens: 8,
      output_tokens: 376,
      output_token_details: { audio_tokens: 349 },
      billable_audio_seconds: 2.1,
    }
    expect(done({}, usage)).toEqual({
      counts: { inTokens: 8, outTokens: 376, cacheReadTokens: 0, cacheWriteTokens: 0, dims: { audio_out: 349 } },
      billedSeconds: 3,
    })
    expect(done(null, usage)?.counts.outTokens).toBe(376)
  })

  it("splits what was cached from what was not", () => {
    const usage = {
      input_tokens: 139,
      output_tokens: 61,
      input_token_details: {
        text_tokens: 43,
        audio_tokens: 96,
        cached_tokens: 74,
        cached_tokens_details: { text_tokens: 10, audio_tokens: 64 },
      },
      output_token_details: { text_tokens: 18, audio_tokens: 43 },
    }
    expect(done(usage)?.counts).toEqual({
      inTokens: 65,
      outTokens: 61,
      cacheReadTokens: 74,
      cacheWriteTokens: 0,
      dims: { audio_in: 32, cache_read_audio: 64, audio_out: 43 },
    })
  })

  it("is none where nothing is stated, and zero where zero is", () => {
    for (const nothing of [
      undefined,
      null,
      {},
      { input_tokens: "5" },
      { input_tokens: 5 },
      { input_tokens: -1, output_tokens: 1 },
    ]) {
      expect(done(nothing)).toBeUndefined()
    }
    expect(done({ input_tokens: 0, output_tokens: 0 })?.counts).toMatchObject({ inTokens: 0, outTokens: 0 })
  })

  it("has no part that is more than its whole, whatever is reported", () => {
    const random = randomOf(7)
    const any = () => [0, 1, 17, 1e9, -5, 0.5, "9", null, undefined][Math.floor(random() * 9)]
    for (let run = 0; run < 2000; run++) {
      const counts = done({
        input_tokens: any(),
        output_tokens: any(),
        input_token_details: {
          audio_tokens: any(),
          image_tokens: any(),
          cached_tokens: any(),
          cached_tokens_details: { audio_tokens: any(), image_tokens: any() },
        },
        output_token_details: { audio_tokens: any() },
      })?.counts
      if (counts === undefined) continue
      const { inTokens, outTokens, cacheReadTokens, dims } = counts
      for (const count of [inTokens, outTokens, cacheReadTokens, ...Object.values(dims)]) {
        expect(Number.isSafeInteger(count) && count >= 0).toBe(true)
      }
      expect((dims["audio_in"] ?? 0) + (dims["image_in"] ?? 0)).toBeLessThanOrEqual(inTokens)
      expect(dims["audio_out"] ?? 0).toBeLessThanOrEqual(outTokens)
      expect(dims["cache_read_audio"] ?? 0).toBeLessThanOrEqual(cacheReadTokens)
    }
  })

  it("of a transcription is its seconds, begun ones whole, or its tokens", () => {
    expect(usageOfTranscript({ usage: { type: "duration", seconds: 2.2 } })).toEqual({ ...noTranscript, seconds: 3 })
    expect(usageOfTranscript({ usage: { type: "tokens", input_tokens: 900, output_tokens: 100 } })).toEqual({
      seconds: 0,
      inTokens: 900,
      outTokens: 100,
    })
    for (const usage of [undefined, { type: "tokens", input_tokens: -5 }, { type: "duration", seconds: -1 }]) {
      expect(usageOfTranscript({ usage })).toEqual(noTranscript)
    }
  })
})

describe("a client's event", () => {
  it.each([
    ["gpt-4o-transcribe", ["tokens"]],
    ["gpt-4o-mini-transcribe", ["tokens"]],
    ["whisper-1", ["seconds"]],
    ["gpt-realtime-whisper", ["seconds"]],
    ["gpt-live-transcribe", ["seconds"]],
    ["a-deployment", ["seconds", "tokens"]],
    [undefined, ["seconds", "tokens"]],
  ])("that asks for transcripts by %s is refused unless the price has %o", (model, allowing) => {
    const transcription = { ...(model !== undefined && { model }) }
    for (const session of [{ audio: { input: { transcription } } }, { input_audio_transcription: transcription }]) {
      for (const units of [[], ["seconds"], ["tokens"], ["seconds", "tokens"]] as const) {
        const event = { type: "session.update", session }
        const read = readClientEvent(Buffer.from(JSON.stringify(event)), { ...limits, transcriptUnits: units })
        expect(read.is).toBe(units.some((unit) => allowing.includes(unit)) ? "update" : "refused")
      }
    }
  })

  it.each([null, { model: "grok-transcribe" }])("that asks for %o needs no price of transcripts", (transcription) => {
    const event = { type: "session.update", session: { audio: { input: { transcription } } } }
    expect(readClientEvent(Buffer.from(JSON.stringify(event)), { ...limits, transcriptUnits: [] }).is).toBe("update")
  })

  it.each([
    ["session.update", "session", { instructions: "secret words" }],
    ["session.update", "session", { tools: [{ type: "function", name: "f", description: "secret words" }] }],
    ["session.update", "session", { audio: { input: { transcription: { model: "t", prompt: "secret words" } } } }],
    ["session.update", "session", { input_audio_transcription: { model: "t", prompt: "secret words" } }],
    ["response.create", "response", { instructions: "secret words" }],
    [
      "response.create",
      "response",
      { tools: [{ type: "function", name: "f", parameters: { title: "secret words" } }] },
    ],
  ])("%s with texts in its %s is read by policies, and counts: %o", (type, name, config) => {
    const event = fromClient({ type, [name]: config })
    expect(event).toHaveProperty("added.texts", [["text", expect.stringContaining("secret words")]])
    if ("added" in event) {
      expect(event.added.textBytes).toBe(Buffer.byteLength(event.added.texts.map(([, text]) => text).join("")))
    }
  })

  it("of sound goes on as it came, if it is nothing else", () => {
    const audio = Buffer.alloc(960).toString("base64")
    for (const text of [
      `{"type":"input_audio_buffer.append","audio":"${audio}"}`,
      `{ "type": "input_audio_buffer.append", "audio": "${audio}" }`,
    ]) {
      const event = fromClient(text)
      expect(event).toMatchObject({ is: "audio", audioBytes: 960 })
      if (event.is === "audio") expect(event.sent.toString()).toBe(text)
    }
    expect(fromClient({ audio, type: "input_audio_buffer.append", event_id: "e" })).toMatchObject({
      is: "audio",
      audioBytes: 960,
    })
  })

  it("means for the vendor what it was read as, however it is written", () => {
    // Keys that come twice, escapes in keys and types, other white space.
    const texts = [
      '{"type":"input_audio_buffer.append","audio":"AAAA","type":"session.update","session":{"max_output_tokens":9}}',
      '{"type":"session.update","type":"input_audio_buffer.append","audio":"AAAA","session":{"model":"other"}}',
      '{"typ\\u0065":"input_audio_buffer.append","audio":"AAAA"}',
      '{"type":"input_audio_buffer.\\u0061ppend","audio":"AAAA"}',
      '\n{"type":"response.create","response":{"max_output_tokens":9},"response":{"max_output_tokens":10}}',
      '{"type":"input_audio_buffer.append","audio":"AA\\u0041A"}',
    ]
    for (const text of texts) {
      const event = fromClient(text)
      if (event.is === "refused") continue
      const sent = JSON.parse(event.sent.toString())
      expect(fromClient(sent)).toEqual(fromClient(JSON.parse(text)))
      // Written again: no key comes twice.
      expect(event.sent.toString()).toBe(JSON.stringify(sent))
    }
  })

  it("tells what it adds", () => {
    const content = [
      { type: "input_text", text: "Hello" },
      { type: "input_audio", audio: "AAAA", transcript: "Hi" },
      { type: "input_image", image_url: "data:image/png;base64,AAAA" },
    ]
    expect(
      fromClient({ type: "conversation.item.create", item: { type: "message", role: "user", content } }),
    ).toMatchObject({
      is: "added",
      mayAnswer: false,
      added: { audioBytes: 3, images: 1, textBytes: 7, texts: ["Hello", "Hi"].map((text) => ["text", text]) },
    })
    expect(fromClient({ type: "input_audio_buffer.commit" })).toMatchObject({ is: "added", mayAnswer: true })
  })

  it("that updates the session names the model as the vendor does not, and may lower its limits", () => {
    const event = fromClient({
      type: "session.update",
      session: {
        type: "realtime",
        model: "voice",
        max_output_tokens: 100,
        audio: { input: { format: { type: "audio/pcmu" } } },
      },
    })
    expect(event).toMatchObject({ is: "update", maxOutTokens: 100, inBytesPerSecond: 8000 })
    if (event.is === "update") expect(event.sent).not.toContain("voice")
  })
})

describe("places and formats", () => {
  it("are those of the vendors", () => {
    expect(openaiRealtime.path("gpt realtime")).toBe("/realtime?model=gpt%20realtime")
    expect(azureRealtime(undefined).path("d")).toBe("/openai/v1/realtime?model=d")
    expect(azureRealtime("2025-04-01-preview").path("d")).toBe(
      "/openai/realtime?api-version=2025-04-01-preview&deployment=d",
    )
  })

  it.each([
    [{ type: "audio/pcm", rate: 24_000 }, 48_000],
    [{ type: "audio/pcm", rate: 16_000 }, 32_000],
    [{ type: "audio/pcm" }, 48_000],
    [{ type: "audio/pcma" }, 8000],
    ["pcm16", 48_000],
    ["g711_ulaw", 8000],
    ["mp3", undefined],
    [undefined, undefined],
  ])("%o has bytes a second", (format, bytes) => {
    expect(bytesPerSecond(format)).toBe(bytes)
  })
})
