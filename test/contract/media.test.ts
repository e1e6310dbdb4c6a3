/** Pictures, speech and transcription: each has everything that an exchange has. */
import { createHash, randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { Schema } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { connect } from "../../src/client/index.ts"
import { sign } from "../../src/identity/signature.ts"
import { ImageResponse } from "../../src/protocol/kinds/image.ts"
import { TranscriptionResponse } from "../../src/protocol/kinds/transcription.ts"
import { newTestIds, testCatalogue, type VendorCall, type VendorScript } from "../../src/testing/index.ts"
import { balanceOf, errorOf, eventually, holdsOf, lastUsage, useGateway } from "../support/gateway.ts"
import { flacOf, mp3Of, png, wavOf } from "../support/media-samples.ts"

const ids = newTestIds()

const price = (model: string, more: string) => `  - { model: ${model}, currency: USD, ${more}, from: 2026-01-01 }\n`

const catalogue = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(urls, ids)
    .replace(
      "vendors:\n",
      `vendors:
  - { id: elevenlabs, dialect: elevenlabs, baseUrl: "${urls.second}/v1", credential: "env:WEIR_TEST_VENDOR" }
  - { id: deepgram, dialect: deepgram, baseUrl: "${urls.second}/v1", credential: "env:WEIR_TEST_VENDOR" }
`,
    )
    .replace(
      "models:\n",
      `models:
  - { handle: draw, kind: image, targets: [{ vendor: openai, model: gpt-image-1, tier: 1 }, { vendor: gemini, model: gemini-image, tier: 2 }] }
  - { handle: draw-by-size, kind: image, targets: [{ vendor: openai, model: gpt-image-1 }] }
  - { handle: draw-badly, kind: image, targets: [{ vendor: openai, model: gpt-image-0 }] }
  - { handle: say, kind: speech, targets: [{ vendor: openai, model: tts-1, tier: 1 }, { vendor: elevenlabs, model: eleven, tier: 2 }] }
  - { handle: say-by-tokens, kind: speech, targets: [{ vendor: openai, model: gpt-4o-mini-tts }] }
  - { handle: say-gemini, kind: speech, targets: [{ vendor: gemini, model: gemini-tts }] }
  - { handle: hear, kind: transcription, targets: [{ vendor: openai, model: whisper-1, tier: 1 }, { vendor: deepgram, model: nova-3, tier: 2 }] }
  - { handle: hear-by-tokens, kind: transcription, targets: [{ vendor: openai, model: gpt-4o-transcribe }] }
  - { handle: hear-scribe, kind: transcription, targets: [{ vendor: elevenlabs, model: scribe_v1 }] }
`,
    )
    .replace(
      "prices:\n",
      `prices:\n${price("draw", 'input: "5", output: "40", dims: { image_in: "10" }')}${price(
        "draw-by-size",
        'dims: { "images:1024x1024:high": "160000", "images:1024x1024": "40000" }',
      )}${price("draw-badly", 'dims: { images: "40000" }')}${price("say", 'dims: { characters: "15" }')}${price("say-by-tokens", 'input: "1", dims: { audio_out: "12" }')}${price(
        "say-gemini",
        'dims: { characters: "20" }',
      )}${price("hear", 'dims: { audio_seconds: "100" }')}${price(
        "hear-by-tokens",
        'input: "2", output: "10", dims: { audio_in: "6" }',
      )}${price("hear-scribe", 'dims: { audio_seconds: "110" }')}`,
    )
    .replace(
      "models: [main,",
      "models: [draw, draw-by-size, draw-badly, say, say-by-tokens, say-gemini, hear, hear-by-tokens, hear-scribe, main,",
    )

const gateway = useGateway({ ids, catalogue })

const answer =
  (bodyOf: (call: VendorCall) => unknown, status = 200): VendorScript =>
  (call) => {
    call.head(status, { "content-type": "application/json" })
    call.end(JSON.stringify(bodyOf(call)))
  }

const picture = png.toString("base64")
const drawn = (n = 1) => ({
  created: 1,
  data: Array.from({ length: n }, () => ({ b64_json: picture })),
  usage: {
    input_tokens: 20,
    output_tokens: 1000,
    total_tokens: 1020,
    input_tokens_details: { image_tokens: 12, text_tokens: 8 },
  },
})
const sounds =
  (bytes: Uint8Array): VendorScript =>
  (call) => {
    call.head(200, { "content-type": "audio/mpeg" })
    void call.write(bytes).then(() => call.end())
  }
const heard = (text = "Hello there.") => ({
  task: "transcribe",
  language: "english",
  duration: 2.5,
  text,
  segments: [{ id: 0, text: " Hello there.", start: 0, end: 1.5 }],
})

beforeEach(() => {
  gateway().vendor.script(answer(() => drawn()))
  gateway().second.script(answer(() => ({}), 500))
})

const post = (path: string, body: object, headers: Record<string, string | undefined> = {}) =>
  gateway().call("POST", path, body, headers)
const draw = (more: object = {}) => post("/t1/images", { model: "draw", prompt: "a weir", ...more })
const say = (more: object = {}) => post("/t1/speech", { model: "say", input: "Hello", voice: "alloy", ...more })
const credential = () => ({ "x-svc-key-id": gateway().keyId, "x-svc-key": gateway().key })

type Parts = Readonly<Record<string, string | Blob>>
const formOf = (parts: Parts): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(parts)) {
    if (typeof value === "string") form.append(name, value)
    else form.append(name, value, "file.wav")
  }
  return form
}
const sendForm = (path: string, parts: Parts) =>
  fetch(`${gateway().baseUrl}${path}`, { method: "POST", headers: credential(), body: formOf(parts) })
const wav = (seconds = 2.5) => new Blob([new Uint8Array(wavOf(seconds))], { type: "audio/wav" })
const hear = (parts: Parts = {}) => sendForm("/t1/transcriptions", { model: "hear", file: wav(), ...parts })

const openHolds = async () => (await holdsOf(gateway())).filter(({ state }) => state === "held")

const readImages = Schema.decodeUnknownSync(ImageResponse, { onExcessProperty: "error" })
const readTranscript = Schema.decodeUnknownSync(TranscriptionResponse, { onExcessProperty: "error" })

describe("pictures", () => {
  it("are made, and billed by the tokens that the vendor counted", async () => {
    const before = await balanceOf(gateway())
    const response = await draw({ size: "1024x1024", quality: "high" })
    const reply = readImages(await response.json())
    expect([response.status, reply.images]).toEqual([200, [{ mime: "image/png", data: picture }]])
    // 8 tokens of text at 5, 12 of pictures at 10, 1000 at 40.
    expect(reply.usage).toMatchObject({ cost: "0.04016", dims: { images: 1, image_in: 12 } })
    expect(before - (await balanceOf(gateway()))).toBe(401_600_000n)
    expect(gateway().vendor.calls.at(-1)?.body).toEqual({
      model: "gpt-image-1",
      prompt: "a weir",
      size: "1024x1024",
      quality: "high",
    })
    expect(await lastUsage(gateway())).toMatchObject({ purpose: "image", model: "draw" })
  })

  it("cost what the most exact price says", async () => {
    const cost = async (more: object) => {
      const response = await draw({ model: "draw-by-size", ...more })
      return response.status === 200 ? readImages(await response.json()).usage.cost : errorOf(response)
    }
    expect(await cost({ size: "1024x1024", quality: "high" })).toBe("0.16")
    expect(await cost({ size: "1024x1024", quality: "low" })).toBe("0.04")
    expect(await cost({ size: "512x512" })).toMatchObject({ code: "pricing_guard_tripped" })
  })

  it("are changed: the vendor gets the files of a form, and of JSON", async () => {
    const response = await sendForm("/t1/images", {
      model: "draw",
      prompt: "brighter",
      images: new Blob([new Uint8Array(png)], { type: "image/png" }),
      mask: new Blob([new Uint8Array(png)], { type: "image/png" }),
    })
    expect([response.status, readImages(await response.json()).images.length]).toEqual([200, 1])
    const [first] = gateway().vendor.calls.slice(-1)
    expect(first?.path).toBe("/v1/images/edits")
    expect(first?.sent.includes(png)).toBe(true)
    expect(first?.sent.toString("latin1")).toContain('name="mask"')
    const again = await draw({ images: [{ t: "image", mime: "image/png", data: picture }] })
    expect(again.status).toBe(200)
    expect(gateway().vendor.calls.at(-1)?.sent.includes(png)).toBe(true)
  })

  it("come from the next target, one by one where the vendor makes one at a time", async () => {
    gateway().vendor.script((call) => {
      if (call.path.includes("generateContent")) {
        return answer(() => ({
          candidates: [
            { content: { parts: [{ text: "Here" }, { inlineData: { mimeType: "image/png", data: picture } }] } },
          ],
          usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 1290 },
        }))(call)
      }
      return answer(() => ({}), 500)(call)
    })
    const response = await draw({ n: 3 })
    const reply = readImages(await response.json())
    expect([reply.images.length, reply.usage.inTokens, reply.usage.outTokens, reply.usage.dims]).toEqual([
      3,
      15,
      3870,
      { images: 3 },
    ])
  })

  it("are not believed to be more than were asked for, and no pictures are no reply", async () => {
    for (const bad of [
      drawn(2),
      { data: [] },
      { data: [{ url: "https://example.com/a.png" }] },
      { data: [{ b64_json: "<html>" }] },
    ]) {
      gateway().vendor.script(answer(() => bad))
      const before = await balanceOf(gateway())
      expect(await errorOf(await draw({ model: "draw-badly" }))).toMatchObject({
        code: "upstream_error",
      })
      expect(await balanceOf(gateway())).toBe(before)
    }
  })

  it.each([
    ["input", { input_tokens: 100_000, output_tokens: 1000 }],
    ["output", { input_tokens: 20, output_tokens: 10_000_000 }],
  ])("whose %s tokens cannot be true are billed as what is held for them", async (_, usage) => {
    gateway().vendor.script(answer(() => ({ ...drawn(), usage: { ...drawn().usage, ...usage } })))
    const told = readImages(await (await draw()).json()).usage
    gateway().vendor.script(answer(() => ({ ...drawn(), usage: undefined })))
    const missing = readImages(await (await draw()).json()).usage
    expect(told).toMatchObject({ estimatedReason: "upstream_usage_implausible", cost: missing.cost })
    expect(missing).toMatchObject({ estimatedReason: "upstream_usage_missing" })
  })

  it("are streamed, partial ones first", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      const event = (type: string, more: object = {}) =>
        `event: ${type}\ndata: ${JSON.stringify({ type, b64_json: picture, ...more })}\n\n`
      await call.write(event("image_generation.partial_image", { partial_image_index: 0 }))
      await call.write(event("image_generation.completed", { usage: drawn().usage }))
      call.end()
    })
    const text = await (await draw({ stream: true })).text()
    expect([...text.matchAll(/^event: (\S+)/gm)].map(([, name]) => name)).toEqual([
      "t.open",
      "t.delta",
      "t.delta",
      "t.usage",
      "t.close",
    ])
    expect([...text.matchAll(/"partial":(\w+)/g)].map(([, partial]) => partial)).toEqual(["true", "false"])
    expect(text).toContain('"cost":"0.04016"')
  })

  it("whose stream breaks off after a partial one are billed once, as what they are at most, and tell it", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      const partial = { type: "image_generation.partial_image", b64_json: picture, partial_image_index: 0 }
      await call.write(`data: ${JSON.stringify(partial)}\n\n`)
      await call.wait(100)
      call.reset()
    })
    const before = await balanceOf(gateway())
    const text = await (await draw({ model: "draw-by-size", stream: true, size: "1024x1024", quality: "high" })).text()
    expect([...text.matchAll(/^event: (\S+)/gm)].map(([, name]) => name)).toEqual([
      "t.open",
      "t.delta",
      "t.usage",
      "t.err",
    ])
    expect(text).toContain('"code":"upstream_disconnected"')
    expect(before - (await balanceOf(gateway()))).toBe(1_600_000_000n)
    expect(await lastUsage(gateway())).toMatchObject({ estimated_reason: "upstream_disconnected" })
    expect(await openHolds()).toEqual([])
  })
})

describe("speech", () => {
  const sound = Buffer.from(Array.from({ length: 5000 }, (_, at) => at % 251))

  it("comes as bytes, and costs its characters", async () => {
    gateway().vendor.script(sounds(sound))
    const before = await balanceOf(gateway())
    const response = await say({ input: "Grüße 👋", format: "mp3" })
    const bytes = Buffer.from(await response.arrayBuffer())
    expect([response.status, response.headers.get("content-type"), bytes.equals(sound)]).toEqual([
      200,
      "audio/mpeg",
      true,
    ])
    expect(before - (await balanceOf(gateway()))).toBe(7n * 150_000n)
    expect(await lastUsage(gateway())).toMatchObject({ purpose: "speech", model: "say" })
    expect(await openHolds()).toEqual([])
  })

  /** All of the sound in an event, and its usage, if that is reported. */
  const soundEvents =
    (usage?: object): VendorScript =>
    async (call) => {
      call.head()
      await call.write(`data: ${JSON.stringify({ type: "speech.audio.delta", audio: sound.toString("base64") })}\n\n`)
      await call.write(`data: ${JSON.stringify({ type: "speech.audio.done", usage })}\n\n`)
      call.end()
    }

  it("is asked for with its tokens where tokens are billed", async () => {
    gateway().vendor.script(soundEvents({ input_tokens: 10, output_tokens: 50 }))
    const before = await balanceOf(gateway())
    const response = await say({ model: "say-by-tokens" })
    expect(Buffer.from(await response.arrayBuffer()).equals(sound)).toBe(true)
    expect(gateway().vendor.calls.at(-1)?.body).toMatchObject({ stream_format: "sse" })
    expect(before - (await balanceOf(gateway()))).toBe(6_100_000n)
  })

  it("whose tokens the vendor does not tell is billed as the longest that is held for its text", async () => {
    gateway().vendor.script(soundEvents())
    const before = await balanceOf(gateway())
    await (await say({ model: "say-by-tokens" })).arrayBuffer()
    // Two tokens of text, and 16 of sound for each of five characters.
    expect(before - (await balanceOf(gateway()))).toBe(2n * 10_000n + 80n * 120_000n)
    expect(await lastUsage(gateway())).toMatchObject({
      estimated_reason: "upstream_usage_missing",
      dims: { audio_out: 80 },
    })
  })

  it("of samples gets the head of a WAV file", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      const inlineData = { mimeType: "audio/L16;rate=24000", data: sound.toString("base64") }
      await call.write(`data: ${JSON.stringify({ candidates: [{ content: { parts: [{ inlineData }] } }] })}\n\n`)
      await call.write(`data: ${JSON.stringify({ candidates: [{ finishReason: "STOP" }] })}\n\n`)
      call.end()
    })
    const response = await say({ model: "say-gemini" })
    const bytes = Buffer.from(await response.arrayBuffer())
    expect([response.headers.get("content-type"), bytes.toString("latin1", 0, 4), bytes.length]).toEqual([
      "audio/wav",
      "RIFF",
      5044,
    ])
    expect(await errorOf(await say({ model: "say-gemini", format: "mp3" }))).toMatchObject({
      code: "bad_request",
      detail: { capability: "format" },
    })
  })

  it("is paid by a client that leaves after the first byte, and not by one that leaves before", async () => {
    const leave = async (script: VendorScript) => {
      gateway().vendor.script(script)
      const before = await balanceOf(gateway())
      const controller = new AbortController()
      const answered = fetch(`${gateway().baseUrl}/t1/speech`, {
        method: "POST",
        headers: { ...credential(), "content-type": "application/json" },
        body: JSON.stringify({ model: "say", input: "Hello", voice: "alloy" }),
        signal: controller.signal,
      })
      const calls = gateway().vendor.calls.length
      await eventually(() => gateway().vendor.calls.length > calls)
      const response = await Promise.race([answered, sleep(200, undefined)])
      await response?.body?.getReader().read()
      controller.abort()
      await answered.catch(() => {})
      await eventually(async () => (await openHolds()).length === 0)
      return before - (await balanceOf(gateway()))
    }
    expect(
      await leave(async (call) => {
        call.head(200, { "content-type": "audio/mpeg" })
        await call.write(sound)
      }),
    ).toBe(750_000n)
    expect(await leave(() => {})).toBe(0n)
  })

  it("that breaks off after its first bytes is cut off, and is billed as the vendor bills it", async () => {
    gateway().vendor.script(async (call) => {
      call.head(200, { "content-type": "audio/mpeg" })
      await call.write(sound)
      await call.wait(100)
      call.reset()
    })
    const before = await balanceOf(gateway())
    const response = await say()
    expect(response.status).toBe(200)
    await expect(response.arrayBuffer()).rejects.toThrow()
    await eventually(async () => (await openHolds()).length === 0)
    expect(before - (await balanceOf(gateway()))).toBe(750_000n)
    const events = await say({ stream: true })
    expect(await events.text()).toContain("event: t.err")
  })

  it("comes from the next target if the first answers with text or with an error", async () => {
    gateway().second.script(sounds(sound))
    for (const script of [answer(() => ({ audio: "none" })), answer(() => ({}), 503)]) {
      gateway().vendor.script(script)
      const response = await say()
      expect([response.status, Buffer.from(await response.arrayBuffer()).equals(sound)]).toEqual([200, true])
      expect(gateway().second.calls.at(-1)?.path).toBe("/v1/text-to-speech/alloy/stream?output_format=mp3_44100_128")
    }
  })

  it("as events is base64", async () => {
    gateway().vendor.script(sounds(sound))
    const text = await (await say({ stream: true })).text()
    const parts = [...text.matchAll(/"t":"audio","data":"([^"]*)"/g)].map(([, data = ""]) =>
      Buffer.from(data, "base64"),
    )
    expect(Buffer.concat(parts).equals(sound)).toBe(true)
    expect(text).toContain("event: t.close")
  })
})

describe("transcription", () => {
  it("costs the seconds that the vendor heard, whatever format is asked for", async () => {
    gateway().vendor.script(answer(() => heard()))
    const before = await balanceOf(gateway())
    const reply = readTranscript(await (await hear()).json())
    expect(reply).toMatchObject({ text: "Hello there.", language: "english", duration: 2.5 })
    expect(reply.usage).toMatchObject({ cost: "0.0003", dims: { audio_seconds: 3 } })
    const srt = await hear({ format: "srt" })
    expect([srt.headers.get("content-type"), await srt.text()]).toEqual([
      "application/x-subrip; charset=utf-8",
      "1\n00:00:00,000 --> 00:00:01,500\nHello there.\n\n",
    ])
    expect(await (await hear({ format: "vtt" })).text()).toBe(
      "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello there.\n\n",
    )
    expect(await (await hear({ format: "text" })).text()).toBe("Hello there.\n")
    expect(before - (await balanceOf(gateway()))).toBe(4n * 3_000_000n)
    expect(gateway().vendor.calls.at(-1)?.sent.toString("latin1")).toContain("verbose_json")
  })

  it("has the times that were asked for, or is no answer; silence has none", async () => {
    const asking = [
      { format: "srt" },
      { format: "vtt" },
      { format: "verbose" },
      { format: "verbose", timestamps: "word" },
    ]
    for (const parts of asking) {
      const before = await balanceOf(gateway())
      gateway().vendor.script(answer(() => ({ text: "Hello there.", duration: 2.5 })))
      expect(await errorOf(await hear(parts))).toMatchObject({ status: 502, code: "upstream_error" })
      expect(await balanceOf(gateway())).toBe(before)
      gateway().vendor.script(answer(() => ({ text: " ", duration: 2.5 })))
      expect((await hear(parts)).status).toBe(200)
      expect(before - (await balanceOf(gateway()))).toBe(3n * 1_000_000n)
    }
    expect(await openHolds()).toEqual([])
  })

  it("is not believed to be longer than the file", async () => {
    gateway().vendor.script(answer(() => ({ ...heard(), duration: 5000 })))
    const { usage } = readTranscript(await (await hear()).json())
    expect(usage).toMatchObject({ dims: { audio_seconds: 3 }, estimatedReason: "upstream_usage_implausible" })
  })

  it("whose head says less than there is costs what the vendor heard, as far as its bytes can be so long", async () => {
    const file = new Blob([new Uint8Array(flacOf(1, 30_000))], { type: "audio/flac" })
    const heardFor = async (duration: number) => {
      gateway().vendor.script(answer(() => ({ ...heard(), duration })))
      return readTranscript(await (await hear({ file })).json()).usage
    }
    const believed = await heardFor(20)
    expect(believed).toMatchObject({ dims: { audio_seconds: 20 } })
    expect(believed.estimatedReason).toBeUndefined()
    expect(await heardFor(5000)).toMatchObject({
      dims: { audio_seconds: 1 },
      estimatedReason: "upstream_usage_implausible",
    })
    expect(await openHolds()).toEqual([])
  })

  it("is billed by tokens where the model has tokens, however long the vendor says that it is", async () => {
    gateway().vendor.script(
      answer(() => ({
        text: "Hi",
        duration: 5000,
        usage: {
          type: "tokens",
          input_tokens: 14,
          output_tokens: 4,
          total_tokens: 18,
          input_token_details: { audio_tokens: 10 },
        },
      })),
    )
    const { usage } = readTranscript(await (await hear({ model: "hear-by-tokens" })).json())
    expect(usage).toMatchObject({ inTokens: 14, outTokens: 4, cost: "0.000108" })
    expect(usage.estimatedReason).toBeUndefined()
  })

  it("whose stream breaks off is billed for the whole file, and tells it", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(`data: ${JSON.stringify({ type: "transcript.text.delta", delta: "Hello" })}\n\n`)
      await call.wait(100)
      call.reset()
    })
    const before = await balanceOf(gateway())
    const text = await (await hear({ stream: "true" })).text()
    expect([...text.matchAll(/^event: (\S+)/gm)].map(([, name]) => name)).toEqual([
      "t.open",
      "t.delta",
      "t.usage",
      "t.err",
    ])
    const spent = before - (await balanceOf(gateway()))
    expect(await lastUsage(gateway())).toMatchObject({ estimated_reason: "upstream_disconnected" })
    expect(spent).toBe(3_000_000n)
    expect(await openHolds()).toEqual([])
  })

  it("tells who speaks as events of a stream", async () => {
    gateway().second.script((call) => {
      const words = [{ word: "Hello", start: 0, end: 1, speaker: 0 }]
      call.head(200, { "content-type": "application/json" })
      call.end(
        JSON.stringify({
          metadata: { duration: 2 },
          results: { channels: [{ alternatives: [{ transcript: "Hello", words }] }] },
        }),
      )
    })
    // The first target names no speakers.
    const text = await (await hear({ stream: "true", format: "diarized" })).text()
    expect(text).toContain('{"i":0,"t":"segment","text":"Hello","start":0,"end":1,"speaker":"0"}')
    expect(text).toContain('{"i":0,"t":"text","v":"Hello"}')
  })

  it("goes to the next target, with the same file", async () => {
    gateway().vendor.script(answer(() => ({}), 500))
    gateway().second.script(
      answer(() => ({
        metadata: { duration: 2.5 },
        results: {
          channels: [
            {
              detected_language: "en",
              alternatives: [{ transcript: "Hi", words: [{ word: "hi", start: 0, end: 1 }] }],
            },
          ],
        },
      })),
    )
    const reply = readTranscript(await (await hear()).json())
    expect(reply).toMatchObject({ text: "Hi", language: "en" })
    const { path, sent, headers } = gateway().second.calls.at(-1) ?? {}
    expect([path?.startsWith("/v1/listen?model=nova-3"), sent?.equals(wavOf(2.5)), headers?.["content-type"]]).toEqual([
      true,
      true,
      "audio/wav",
    ])
  })

  it.each([
    ["a WAV that says it is 4 GB", wavOf(2, 0xffffffff), 200],
    ["an MP3 without a head", mp3Of(3), 200],
    [
      "a zip called .mp3",
      Buffer.concat([Buffer.from("PK\u0003\u0004\u0014\u0000\u0000\u0000", "latin1"), Buffer.alloc(200)]),
      400,
    ],
    ["an empty file", Buffer.alloc(0), 400],
  ])("takes or refuses %s", async (_name, bytes, status) => {
    gateway().vendor.script(answer(() => ({ ...heard(), duration: 2 })))
    const file = new Blob([new Uint8Array(bytes)], { type: "audio/mpeg" })
    expect((await hear({ file })).status).toBe(status)
  })
})

describe("forms", () => {
  const raw = (body: string | Buffer, type = "multipart/form-data; boundary=b", more: Record<string, string> = {}) =>
    fetch(`${gateway().baseUrl}/t1/transcriptions`, {
      method: "POST",
      headers: { ...credential(), "content-type": type, ...more },
      body: typeof body === "string" ? body : new Uint8Array(body),
    })
  const part = (name: string, value: string, more = "") =>
    `--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
  const file = (bytes = wavOf(1)) => part("file", bytes.toString("latin1"), '; filename="a.wav"')
  const model = part("model", "hear")

  beforeEach(() => gateway().vendor.script(answer(() => heard())))

  it("are read, whatever their order", async () => {
    expect((await raw(Buffer.from(`${file()}${model}--b--\r\n`, "latin1"))).status).toBe(200)
  })

  it.each([
    ["without a boundary", "", "multipart/form-data"],
    ["of a thousand parts", Array.from({ length: 1000 }, (_, at) => part(`f${at}`, "x")).join(""), undefined],
    ["with a name of 1 MB", part("n".repeat(1_000_000), "x"), undefined],
    ["with a file name of 10 kB", part("file", "x", `; filename="${"n".repeat(10_000)}"`), undefined],
    ["with a field of 1 MB", part("prompt", "x".repeat(1_000_000)), undefined],
    ["with a field that is twice there", `${model}${model}`, undefined],
    ["with an unknown field", part("frobnicate", "x"), undefined],
    ["with an unknown file", part("other", "x", '; filename="a.wav"'), undefined],
    ["with two files", file(), undefined],
    ["with a number that is none", part("temperature", "warm"), undefined],
    ["with a flag that is none", part("translate", "yes"), undefined],
    ["with meta that is no JSON", part("meta", "{"), undefined],
  ])("%s are refused, and cost nothing", async (_name, parts, type) => {
    const before = await balanceOf(gateway())
    const response = await raw(Buffer.from(`${parts}${model}${file()}--b--\r\n`, "latin1"), type)
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({ code: "bad_request" })
    expect(await balanceOf(gateway())).toBe(before)
  })

  it("that end too early, that are compressed, or whose sender is unknown, are refused", async () => {
    expect((await raw(Buffer.from(`${model}${file()}`, "latin1"))).status).toBe(400)
    expect((await raw(`${model}--b--`, undefined, { "content-encoding": "gzip" })).status).toBe(400)
    expect((await raw(`${model}--b--`, undefined, { "x-svc-key": "wrong" })).status).toBe(401)
  })

  it("with a request id are answered again, and another file is a conflict", async () => {
    const meta = JSON.stringify({ requestId: `req_${"7".repeat(32)}` })
    const before = await balanceOf(gateway())
    const [first, again] = [await hear({ meta }), await hear({ meta })]
    expect([first.status, again.status, again.headers.get("x-svc-idempotent-replay")]).toEqual([200, 200, "1"])
    expect(await again.json()).toMatchObject({ text: "Hello there." })
    expect(before - (await balanceOf(gateway()))).toBe(3_000_000n)
    expect(await errorOf(await hear({ meta, file: wav(1.5) }))).toMatchObject({ code: "idempotency_conflict" })
  })

  it("are signed over their bytes", async () => {
    const body = Buffer.from(`${model}${file()}--b--\r\n`, "latin1")
    const signed = (over: Uint8Array) => {
      const ts = String(Math.floor(Date.now() / 1000))
      const nonce = randomUUID()
      const secret = createHash("sha256").update(gateway().key).digest()
      const value = sign(secret, { method: "POST", target: "/t1/transcriptions", ts, nonce, body: over })
      return { "x-svc-ts": ts, "x-svc-nonce": nonce, "x-svc-sign": value }
    }
    expect((await raw(body, undefined, signed(body))).status).toBe(200)
    expect((await raw(body, undefined, signed(Buffer.from("other")))).status).toBe(401)
  })
})

describe("the typed client", () => {
  const client = () =>
    connect({ baseUrl: gateway().baseUrl, credentials: { keyId: gateway().keyId, key: gateway().key } })

  it("draws, speaks and transcribes", async () => {
    expect((await client().draw({ model: "draw", prompt: "a weir" })).images[0]?.mime).toBe("image/png")
    gateway().vendor.script(sounds(Buffer.from("sound")))
    expect(Buffer.from(await client().speak({ model: "say", input: "Hello", voice: "alloy" })).toString()).toBe("sound")
    gateway().vendor.script(answer(() => heard()))
    const file = { t: "file", mime: "audio/wav", data: wavOf(1).toString("base64") } as const
    expect((await client().transcribe({ model: "hear", file })).text).toBe("Hello there.")
  })
})
