/** Fields of OpenAI's pictures, speech, transcription and moderation: each reaches the vendor, and each part of its reply the client. */
import OpenAI, { toFile } from "openai"
import { beforeEach, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue, type VendorCall } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { png, wavOf } from "../../support/media-samples.ts"

const ids = newTestIds()

/** Handles as the SDK knows the models: kind, price, and the vendor's name where it is another. */
const models = [
  ["gpt-image-1", "image", 'dims: { images: "1000" }'],
  ["gemini-3-pro-image", "image", 'dims: { images: "1000", "images:4K": "4000" }'],
  ["gpt-4o-mini-tts", "speech", 'dims: { characters: "1000" }'],
  ["scribe-voices", "speech", 'dims: { characters: "1000" }'],
  ["whisper-1", "transcription", 'dims: { audio_seconds: "1000" }'],
  ["gpt-4o-transcribe", "transcription", 'dims: { audio_seconds: "1000" }'],
  ["gpt-4o-transcribe-diarize", "transcription", 'dims: { audio_seconds: "1000" }'],
  ["nova-3", "transcription", 'dims: { audio_seconds: "1000" }'],
  ["omni-moderation-latest", "moderation", 'input: "0"'],
  ["rerank-v3.5", "rerank", 'dims: { searches: "2000" }'],
] as const
const vendors: Readonly<Record<string, string>> = {
  "gemini-3-pro-image": "gemini",
  "scribe-voices": "voices",
  "nova-3": "deepgram",
  "rerank-v3.5": "cohere",
}

const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace(
        "vendors:\n",
        `vendors:
  - { id: voices, dialect: elevenlabs, baseUrl: "${urls.vendor}/v1" }
  - { id: deepgram, dialect: deepgram, baseUrl: "${urls.vendor}/v1" }
  - { id: cohere, dialect: cohere, baseUrl: "${urls.vendor}" }
`,
      )
      .replace(
        "models:\n",
        `models:\n${models
          .map(
            ([handle, kind]) =>
              `  - { handle: ${handle}, kind: ${kind}, targets: [{ vendor: ${vendors[handle] ?? "openai"}, model: ${handle} }] }\n`,
          )
          .join("")}`,
      )
      .replace(
        "prices:\n",
        `prices:\n${models.map(([model, , price]) => `  - { model: ${model}, currency: USD, ${price}, from: 2026-01-01 }\n`).join("")}`,
      )
      .replace("models: [main,", `models: [${models.map(([handle]) => handle).join(", ")}, main,`),
})

const replies = (json: object) =>
  gateway().vendor.script((call) => {
    call.head(200, { "content-type": "application/json" })
    call.end(JSON.stringify(json))
  })
const streams = (...events: ReadonlyArray<object>) =>
  gateway().vendor.script(async (call) => {
    call.head()
    for (const event of events) await call.write(`data: ${JSON.stringify(event)}\n\n`)
    call.end()
  })

let before = 0
beforeEach(() => {
  before = gateway().vendor.calls.length
})
const callsOfTest = () => gateway().vendor.calls.slice(before)
const lastCall = (): VendorCall => {
  const call = gateway().vendor.calls.at(-1)
  if (call === undefined) throw new Error("the vendor was not called")
  return call
}
/** The value of a part of the last form. */
const partOf = (name: string): ReadonlyArray<string> => {
  const text = lastCall().sent.toString("latin1")
  return [...text.matchAll(/name="([^"]+)"\r\n\r\n([^\r]*)\r\n/g)].flatMap(([, known, value = ""]) =>
    known === name ? [value] : [],
  )
}

const client = () =>
  new OpenAI({
    baseURL: `${gateway().baseUrl}/openai/v1`,
    apiKey: `${gateway().keyId}~${gateway().key}`,
    maxRetries: 0,
  })
const post = (path: string, body: object) =>
  fetch(`${gateway().baseUrl}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${gateway().keyId}~${gateway().key}`,
      "content-type": "application/json",
    },
    body: JSON.stringify(body),
  })
const picture = png.toString("base64")
const url = `data:image/png;base64,${picture}`
const model = "gpt-image-1"
const wav = () => toFile(wavOf(2), "a.wav", { type: "audio/wav" })

describe("pictures", () => {
  it.each([0, 1, 3])("have the %i partial ones that are asked for", async (partial_images) => {
    streams({
      type: "image_generation.completed",
      b64_json: picture,
      size: "1024x1024",
      quality: "high",
      background: "opaque",
    })
    const stream = await client().images.generate({ model, prompt: "x", stream: true, partial_images })
    const events: Array<object> = []
    for await (const event of stream) events.push(event)
    expect(lastCall().body["partial_images"]).toBe(partial_images)
    // The vendor's choice is reported.
    expect(events).toMatchObject([{ size: "1024x1024", quality: "high", background: "opaque" }])
  })

  it("are made as they are asked for, and say how they were made", async () => {
    replies({
      data: [{ b64_json: picture, revised_prompt: "a clear x" }],
      size: "1536x1024",
      quality: "high",
      background: "opaque",
    })
    const asked = { output_format: "webp", output_compression: 50, moderation: "low", background: "opaque" } as const
    const reply = await client().images.generate({ model, prompt: "x", ...asked })
    expect(lastCall().body).toMatchObject(asked)
    expect(reply).toMatchObject({ size: "1536x1024", quality: "high", background: "opaque" })
    expect(reply.data).toEqual([{ b64_json: picture, revised_prompt: "a clear x" }])
    await client().images.edit({
      model,
      prompt: "x",
      image: await toFile(png, "a.png", { type: "image/png" }),
      input_fidelity: "high",
    })
    expect(partOf("input_fidelity")).toEqual(["high"])
  })

  it.each([
    ["images", [{ image_url: url }, { image_url: url }]],
    ["image", url],
    ["image", [url]],
  ])("to change come in JSON too: %s", async (name, given) => {
    replies({ data: [{ b64_json: picture }] })
    const response = await post("/openai/v1/images/edits", {
      model,
      prompt: "x",
      [name]: given,
      mask: { image_url: url },
    })
    expect([response.status, lastCall().path]).toEqual([200, "/v1/images/edits"])
    const count = Array.isArray(given) ? given.length : 1
    expect(lastCall().sent.toString("latin1").split('name="image[]"').length - 1).toBe(count)
    expect(lastCall().sent.toString("latin1")).toContain('name="mask"')
  })

  it.each([
    ["/openai/v1/images/edits", { model, prompt: "x" }, "image"],
    ["/openai/v1/images/edits", { model, prompt: "x", images: [{ file_id: "file_1" }] }, "images.0.file_id"],
    ["/openai/v1/images/edits", { model, prompt: "x", images: [{ image_url: "https://a.test/a.png" }] }, "images.0"],
    ["/openai/v1/images/generations", { model, prompt: "x", style: "natural" }, "style"],
    ["/openai/v1/images/generations", { model, prompt: "x", resolution: "2K" }, "resolution"],
    ["/openai/v1/images/generations", { model, prompt: "x", partial_images: 4 }, "partial_images"],
    ["/openai/v1/images/generations", { model, prompt: "x", output_compression: 50 }, "output_compression"],
    [
      "/openai/v1/images/generations",
      { model, prompt: "x", output_format: "jpeg", background: "transparent" },
      "background",
    ],
  ])("that cannot be had are refused by name: %s %j", async (path, body, param) => {
    const response = await post(path, body)
    expect(await response.json()).toMatchObject({ error: { param } })
    expect([response.status, callsOfTest().length]).toEqual([400, 0])
  })

  it.each([["image[]"], ["image[0]"]])("to change come in a form as %s too, with one mask", async (name) => {
    replies({ data: [{ b64_json: picture }] })
    const form = new FormData()
    form.append("model", model)
    form.append("prompt", "x")
    form.append(name, new Blob([new Uint8Array(png)], { type: "image/png" }))
    form.append(name.replace("0", "1"), new Blob([new Uint8Array(png)], { type: "image/png" }))
    form.append("mask[]", new Blob([new Uint8Array(png)], { type: "image/png" }))
    const response = await fetch(`${gateway().baseUrl}/openai/v1/images/edits`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway().keyId}~${gateway().key}` },
      body: form,
    })
    expect(response.status).toBe(200)
    const sent = lastCall().sent.toString("latin1")
    expect([sent.split('name="image[]"').length, sent.split('name="mask"').length]).toEqual([3, 2])
  })

  it("of an edit without one, in a form, are not made", async () => {
    const form = new FormData()
    form.append("model", model)
    form.append("prompt", "x")
    const response = await fetch(`${gateway().baseUrl}/openai/v1/images/edits`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway().keyId}~${gateway().key}` },
      body: form,
    })
    expect(await response.json()).toMatchObject({ error: { param: "image" } })
    expect([response.status, callsOfTest().length]).toEqual([400, 0])
  })

  it.each([
    [
      { size: "16:9", resolution: "4K" },
      { aspectRatio: "16:9", imageSize: "4K" },
    ],
    [
      { size: "16:9", resolution: "4k" },
      { aspectRatio: "16:9", imageSize: "4K" },
    ],
    [{ size: "2K" }, { imageSize: "2K" }],
    [{ size: "1024x1024" }, { aspectRatio: "1:1" }],
  ])("of Gemini have a ratio and lines: %j", async (size, imageConfig) => {
    replies({ candidates: [{ content: { parts: [{ inlineData: { mimeType: "image/png", data: picture } }] } }] })
    const response = await post("/openai/v1/images/generations", { model: "gemini-3-pro-image", prompt: "x", ...size })
    expect(response.status).toBe(200)
    expect(lastCall().body["generationConfig"]).toMatchObject({ imageConfig })
    // A price of its own for large pictures.
    expect(response.headers.get("x-svc-cost")).toBe("resolution" in size ? "0.004" : "0.001")
  })

  it("of a client of Gemini keep their lines and seed, and nothing is dropped", async () => {
    replies({ candidates: [{ content: { parts: [{ inlineData: { mimeType: "image/png", data: picture } }] } }] })
    const generate = (generationConfig: object) =>
      post("/gemini/v1beta/models/gemini-3-pro-image:generateContent", {
        contents: [{ role: "user", parts: [{ text: "x" }] }],
        generationConfig: { responseModalities: ["IMAGE"], ...generationConfig },
      })
    const made = await generate({ imageConfig: { aspectRatio: "16:9", imageSize: "2K" }, seed: 7 })
    expect(made.status).toBe(200)
    expect(lastCall().body["generationConfig"]).toMatchObject({
      imageConfig: { aspectRatio: "16:9", imageSize: "2K" },
      seed: 7,
    })
    for (const config of [{ temperature: 0.2 }, { imageConfig: { personGeneration: "ALLOW_ALL" } }]) {
      expect((await generate(config)).status).toBe(400)
    }
  })
})

describe("speech", () => {
  it.each([
    [{ id: "voice_1234" }],
    ["FunAudioLLM/CosyVoice2-0.5B:alex"],
    ["af_bella(2)+af_sky(1)"],
    ["en-US-Ava:DragonHDLatestNeural"],
    ["中文女"],
  ])("has the voice %j as it is named", async (voice) => {
    gateway().vendor.script(async (call) => {
      call.head(200, { "content-type": "audio/mpeg" })
      await call.write("sound")
      call.end()
    })
    const response = await post("/openai/v1/audio/speech", { model: "gpt-4o-mini-tts", input: "Hello", voice })
    expect([response.status, lastCall().body["voice"]]).toEqual([200, voice])
  })

  it.each([
    ["mp3", "RIFF....WAVE", "audio/wav"],
    ["wav", "RIFF....WAVE", "audio/wav"],
    ["flac", "ID3....", "audio/mpeg"],
    ["opus", "OggS....", "audio/ogg"],
    ["aac", "who knows", "audio/aac"],
    ["pcm", "RIFF", "audio/pcm"],
  ])("in %s that begins with %s is told as %s", async (response_format, sound, type) => {
    gateway().vendor.script(async (call) => {
      call.head(200, { "content-type": "audio/mpeg" })
      await call.write(sound)
      call.end()
    })
    const asked = { model: "gpt-4o-mini-tts", input: "Hello", voice: "alloy", response_format }
    const response = await post("/openai/v1/audio/speech", asked)
    expect([response.headers.get("content-type"), await response.text()]).toEqual([type, sound])
  })

  it.each(["..", "a/b", "a?b"])("has no voice %j where a voice is part of an address", async (voice) => {
    const response = await post("/openai/v1/audio/speech", { model: "scribe-voices", input: "Hello", voice })
    expect(await response.json()).toMatchObject({ error: { param: "voice" } })
    expect([response.status, callsOfTest().length]).toEqual([400, 0])
  })
})

describe("transcription", () => {
  const spoken = { type: "transcript.text.segment", id: "seg_1", start: 0, end: 1, text: "Hi", speaker: "agent" }

  it("tells who speaks, with voices that are known, in pieces as asked for", async () => {
    replies({ task: "transcribe", duration: 2, text: "Hi", segments: [spoken] })
    const reference = `data:audio/wav;base64,${wavOf(2).toString("base64")}`
    const reply = await client().audio.transcriptions.create({
      model: "gpt-4o-transcribe-diarize",
      file: await wav(),
      response_format: "diarized_json",
      chunking_strategy: "auto",
      known_speaker_names: ["agent"],
      known_speaker_references: [reference],
    })
    expect(reply).toMatchObject({ task: "transcribe", duration: 2, text: "Hi", segments: [{ ...spoken, id: "seg_0" }] })
    expect([partOf("response_format"), partOf("chunking_strategy")]).toEqual([["diarized_json"], ["auto"]])
    expect([partOf("known_speaker_names[]"), partOf("known_speaker_references[]")]).toEqual([["agent"], [reference]])
    await client().audio.transcriptions.create({
      model: "gpt-4o-transcribe-diarize",
      file: await wav(),
      response_format: "json",
      chunking_strategy: { type: "server_vad", threshold: 0.5, silence_duration_ms: 300 },
    })
    expect(["type", "threshold", "silence_duration_ms"].map((name) => partOf(`chunking_strategy[${name}]`))).toEqual([
      ["server_vad"],
      ["0.5"],
      ["300"],
    ])
  })

  it("is cut by the vendor where that must be said and the client does not", async () => {
    replies({ text: "Hi" })
    await client().audio.transcriptions.create({ model: "gpt-4o-transcribe-diarize", file: await wav() })
    expect(partOf("chunking_strategy")).toEqual(["auto"])
    await client().audio.transcriptions.create({ model: "gpt-4o-transcribe", file: await wav() })
    expect(partOf("chunking_strategy")).toEqual([])
  })

  it("tells who speaks in a stream", async () => {
    streams(spoken, { type: "transcript.text.delta", delta: "Hi" }, { type: "transcript.text.done", text: "Hi" })
    const stream = await client().audio.transcriptions.create({
      model: "gpt-4o-transcribe-diarize",
      file: await wav(),
      response_format: "diarized_json",
      stream: true,
    })
    const types: Array<string> = []
    for await (const event of stream) types.push(event.type)
    expect(types).toEqual(["transcript.text.segment", "transcript.text.delta", "transcript.text.done"])
  })

  it("tells who speaks at a vendor of words too", async () => {
    const words = [
      { word: "Hi", start: 0, end: 0.5, speaker: 0 },
      { word: "Hello", start: 0.5, end: 1, speaker: 1 },
    ]
    replies({
      metadata: { duration: 2 },
      results: { channels: [{ alternatives: [{ transcript: "Hi Hello", words }] }] },
    })
    const reply = await client().audio.transcriptions.create({
      model: "nova-3",
      file: await wav(),
      response_format: "diarized_json",
    })
    expect(reply).toMatchObject({
      segments: [
        { text: "Hi", speaker: "0" },
        { text: "Hello", speaker: "1" },
      ],
    })
    expect(lastCall().path).toContain("diarize=true")
  })

  it.each(["timestamp_granularities[]", "timestamp_granularities[0]"])("reads a list of a form as %s", async (name) => {
    const words = [{ word: "Hi", start: 0, end: 1 }]
    replies({ text: "Hi", words, segments: [{ text: "Hi", start: 0, end: 1 }] })
    const form = new FormData()
    form.append("model", "whisper-1")
    form.append("response_format", "verbose_json")
    form.append(name, "word")
    form.append(name.replace("0", "1"), "segment")
    form.append("file", new Blob([new Uint8Array(wavOf(2))], { type: "audio/wav" }), "a.wav")
    const response = await fetch(`${gateway().baseUrl}/openai/v1/audio/transcriptions`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway().keyId}~${gateway().key}` },
      body: form,
    })
    expect(await response.json()).toMatchObject({ words, segments: [{ id: 0, text: "Hi" }] })
    expect(partOf("timestamp_granularities[]")).toEqual(["word", "segment"])
  })

  it("tells how probable its tokens are", async () => {
    const logprobs = [{ token: "Hi", logprob: -0.1, bytes: [72, 105] }]
    replies({ text: "Hi", logprobs })
    const reply = await client().audio.transcriptions.create({
      model: "gpt-4o-transcribe",
      file: await wav(),
      include: ["logprobs"],
    })
    expect([reply.logprobs, partOf("include[]")]).toEqual([logprobs, ["logprobs"]])
  })

  it.each([
    ["gpt-4o-transcribe", { response_format: "diarized_json" }, "response_format"],
    ["whisper-1", { response_format: "diarized_json" }, "response_format"],
    ["nova-3", { prompt: "Weir" }, "prompt"],
    ["gpt-4o-transcribe-diarize", { prompt: "Weir" }, "prompt"],
    ["gpt-4o-transcribe-diarize", { include: ["logprobs"] }, "include"],
    ["whisper-1", { include: ["logprobs"] }, "include"],
    [
      "gpt-4o-transcribe",
      { known_speaker_names: ["a"], known_speaker_references: ["data:audio/wav;base64,AAAA"] },
      "known_speaker_references",
    ],
    ["nova-3", { temperature: 0.5 }, "temperature"],
    ["gpt-4o-transcribe-diarize", { known_speaker_names: ["agent"] }, "known_speaker_references"],
  ])("of %s with %j is refused by name", async (model, more, param) => {
    await expect(
      client().audio.transcriptions.create({ model, file: await wav(), ...Object(more) }),
    ).rejects.toMatchObject({ status: 400, param })
    expect(callsOfTest()).toEqual([])
  })

  it.each(["zh-Hans-CN", "multi", "es-419"])("has the language %s as it is named", async (language) => {
    replies({ text: "Hi" })
    await client().audio.transcriptions.create({ model: "gpt-4o-transcribe", file: await wav(), language })
    expect(partOf("language")).toEqual([language])
  })
})

describe("moderation and reranking", () => {
  it("says by which kind of input a category was judged", async () => {
    const judged = {
      flagged: true,
      categories: { violence: true },
      category_scores: { violence: 0.9 },
      category_applied_input_types: { violence: ["text", "image"] },
    }
    replies({ results: [judged] })
    const { results } = await client().moderations.create({
      model: "omni-moderation-latest",
      input: [
        { type: "text", text: "x" },
        { type: "image_url", image_url: { url } },
      ],
    })
    expect(results).toEqual([judged])
  })

  it("gives documents back to a client of Cohere that asks for them", async () => {
    replies({ results: [{ index: 1, relevance_score: 0.5 }], meta: { billed_units: { search_units: 1 } } })
    const asked = { model: "rerank-v3.5", query: "q", documents: ["a", "b"], top_n: 1, return_documents: true }
    expect(await (await post("/cohere/v2/rerank", asked)).json()).toMatchObject({
      results: [{ index: 1, relevance_score: 0.5, document: { text: "b" } }],
    })
  })

  it("carries the limit of a document to Cohere, whichever API asks", async () => {
    replies({ results: [{ index: 0, relevance_score: 0.5 }], meta: { billed_units: { search_units: 1 } } })
    for (const path of ["/cohere/v2/rerank", "/openai/v1/rerank"]) {
      const asked = { model: "rerank-v3.5", query: "q", documents: ["a"], max_tokens_per_doc: 100, priority: 1 }
      const { priority: _priority, ...known } = asked
      const response = await post(path, path.startsWith("/cohere") ? asked : known)
      expect([response.status, lastCall().body["max_tokens_per_doc"]]).toEqual([200, 100])
      // A field that changes no answer is left out, with a warning.
      expect(response.headers.get("x-svc-warning")).toBe(path.startsWith("/cohere") ? "fields_omitted=priority" : null)
    }
  })
})
