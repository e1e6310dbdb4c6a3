/** SDKs that draw, speak and transcribe, unchanged, against a whole gateway. */
import { setTimeout as sleep } from "node:timers/promises"
import { createOpenAI } from "@ai-sdk/openai"
import { GoogleGenAI } from "@google/genai"
import { generateImage, experimental_generateSpeech as generateSpeech, experimental_transcribe as transcribe } from "ai"
import { CohereClient } from "cohere-ai"
import OpenAI, { toFile } from "openai"
import { beforeEach, describe, expect, it } from "vitest"
import { answerMedia } from "../../../src/development/simulated-media.ts"
import { newTestIds, testCatalogue, type VendorCall } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { mp3Of, png, wavOf } from "../../support/media-samples.ts"
import { python, runPython } from "./run-python.ts"

const ids = newTestIds()

/** Handles as SDKs know the models. */
const handles = [
  ["gpt-image-1", "image", "images"],
  ["tts-1", "speech", "characters"],
  ["whisper-1", "transcription", "audio_seconds"],
  ["sora-2", "video", "video_seconds"],
] as const

const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace(
        "models:\n",
        `models:\n${handles.map(([handle, kind]) => `  - { handle: ${handle}, kind: ${kind}, targets: [{ vendor: openai, model: ${handle} }] }\n`).join("")}`,
      )
      .replace(
        "prices:\n",
        `prices:\n${handles.map(([model, , unit]) => `  - { model: ${model}, currency: USD, dims: { ${unit}: "1000" }, from: 2026-01-01 }\n`).join("")}`,
      )
      .replace("models: [main,", "models: [gpt-image-1, tts-1, whisper-1, sora-2, main,"),
})

const simulate = async (call: VendorCall): Promise<void> => {
  const answer = answerMedia(call)
  const isJson = answer === undefined || "json" in answer
  call.head(200, { "content-type": isJson ? "application/json" : answer.type })
  await call.write(isJson ? JSON.stringify(answer?.json) : answer.bytes)
  call.end()
}

beforeEach(() => gateway().vendor.script(simulate))

const apiKey = () => `${gateway().keyId}~${gateway().key}`
const baseURL = () => `${gateway().baseUrl}/openai/v1`
const isPng = (data: string | undefined) => data?.startsWith("iVBORw0KGgo") === true

describe("cohere-ai", () => {
  const client = () => new CohereClient({ token: apiKey(), environment: `${gateway().baseUrl}/cohere`, maxRetries: 0 })

  it("transcribes", async () => {
    const asked = { model: "whisper-1", language: "en", temperature: 0.2 }
    const { text } = await client().audio.transcriptions.create(new Blob([new Uint8Array(wavOf(3))]), asked)
    expect(text).toBe("A recording of 3 seconds.")
    const sent = gateway().vendor.calls.at(-1)?.sent.toString("latin1") ?? ""
    expect(sent).toMatch(/name="temperature"\r\n\r\n0\.2/)
    const odd = client().audio.transcriptions.create(new Blob([new Uint8Array(wavOf(1))]), {
      model: "nobody",
      language: "en",
    })
    await expect(odd).rejects.toMatchObject({ statusCode: 403 })
  })
})

describe("openai", () => {
  const client = () => new OpenAI({ baseURL: baseURL(), apiKey: apiKey(), maxRetries: 0 })

  it("draws, and changes a picture", async () => {
    const { data } = await client().images.generate({ model: "gpt-image-1", prompt: "a weir", n: 2, size: "1024x1024" })
    expect(data?.map(({ b64_json }) => isPng(b64_json))).toEqual([true, true])
    const edited = await client().images.edit({
      model: "gpt-image-1",
      prompt: "brighter",
      image: [await toFile(png, "a.png", { type: "image/png" }), await toFile(png, "b.png", { type: "image/png" })],
    })
    expect(isPng(edited.data?.[0]?.b64_json)).toBe(true)
    expect(gateway().vendor.calls.at(-1)?.sent.toString("latin1").split('name="image[]"').length).toBe(3)
  })

  it("streams a picture, partial ones first", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      for (const type of ["image_generation.partial_image", "image_generation.completed"]) {
        await call.write(
          `data: ${JSON.stringify({ type, b64_json: png.toString("base64"), partial_image_index: 0 })}\n\n`,
        )
      }
      call.end()
    })
    const stream = await client().images.generate({
      model: "gpt-image-1",
      prompt: "a weir",
      stream: true,
      partial_images: 1,
    })
    const types: Array<string> = []
    for await (const event of stream) types.push(event.type)
    expect(types).toEqual(["image_generation.partial_image", "image_generation.completed"])
  })

  it("speaks, as bytes and as events", async () => {
    const spoken = await client().audio.speech.create({
      model: "tts-1",
      voice: "alloy",
      input: "Hello",
      response_format: "wav",
    })
    const bytes = Buffer.from(await spoken.arrayBuffer())
    expect([bytes.toString("latin1", 0, 4), spoken.headers.get("content-type")]).toEqual(["RIFF", "audio/wav"])
    const events = await client().audio.speech.create({
      model: "tts-1",
      voice: "alloy",
      input: "Hello",
      stream_format: "sse",
    })
    const text = await events.text()
    expect(text).toContain('"type":"speech.audio.delta"')
    expect(text).toContain('"type":"speech.audio.done"')
  })

  it.each([
    ["wav", wavOf(3), "audio/wav", 3],
    ["mp3", mp3Of(3), "audio/mpeg", 3],
  ])("transcribes and translates %s in each format", async (name, recording, type, seconds) => {
    const file = () => toFile(recording, `a.${name}`, { type })
    const { audio } = client()
    const plain = await audio.transcriptions.create({ model: "whisper-1", file: await file() })
    expect(plain.text).toContain(`${seconds} seconds`)
    expect(plain).toMatchObject({ usage: { type: "duration" } })
    const verbose = await audio.transcriptions.create({
      model: "whisper-1",
      file: await file(),
      response_format: "verbose_json",
      timestamp_granularities: ["word"],
    })
    expect([verbose.language, verbose.words?.length]).toEqual(["english", 5])
    const srt = await audio.transcriptions.create({ model: "whisper-1", file: await file(), response_format: "srt" })
    expect(srt).toContain("00:00:00,000 --> 00:00:0")
    const english = await audio.translations.create({ model: "whisper-1", file: await file() })
    expect(english.text).toContain("seconds")
    expect(gateway().vendor.calls.at(-1)?.path).toBe("/v1/audio/translations")
  })

  it("is told of what cannot be done in its own words", async () => {
    await expect(
      client().audio.transcriptions.create({
        model: "whisper-1",
        file: await toFile(Buffer.from(`PK\u0003\u0004${"x".repeat(99)}`), "a.mp3"),
      }),
    ).rejects.toMatchObject({ status: 400, param: "file" })
    await expect(
      client().images.generate({ model: "gpt-image-1", prompt: "a weir", size: "0x0" as "auto" }),
    ).rejects.toMatchObject({ status: 400, param: "size" })
    await expect(
      client().images.generate({ model: "gpt-image-1", prompt: "a weir", response_format: "url" }),
    ).rejects.toMatchObject({ status: 400, param: "response_format" })
    await expect(client().audio.speech.create({ model: "none", voice: "alloy", input: "Hello" })).rejects.toMatchObject(
      { status: 403 },
    )
  })
})

describe("ai", () => {
  const openai = () => createOpenAI({ baseURL: baseURL(), apiKey: apiKey() })

  it("draws", async () => {
    const { image } = await generateImage({ model: openai().image("gpt-image-1"), prompt: "a weir", maxRetries: 0 })
    expect(isPng(image.base64)).toBe(true)
  })

  it("speaks", async () => {
    const { audio } = await generateSpeech({
      model: openai().speech("tts-1"),
      text: "Hello",
      voice: "alloy",
      maxRetries: 0,
    })
    expect(audio.uint8Array.length).toBeGreaterThan(100)
  })

  it("transcribes", async () => {
    const { text, durationInSeconds } = await transcribe({
      model: openai().transcription("whisper-1"),
      audio: wavOf(2),
      maxRetries: 0,
    })
    expect(text).toBe("A recording of 2 seconds.")
    expect(durationInSeconds).toBeGreaterThanOrEqual(2)
  })
})

describe("a video", () => {
  it("is made to its end by OpenAI's SDK", async () => {
    let polls = 0
    gateway().vendor.script(async (call) => {
      const isContent = call.path.endsWith("/content")
      call.head(200, { "content-type": isContent ? "video/mp4" : "application/json" })
      if (isContent) await call.write("film")
      else {
        const status = call.path === "/v1/videos" ? "queued" : ++polls < 2 ? "in_progress" : "completed"
        await call.write(JSON.stringify({ id: "video_1", object: "video", status, progress: 50 }))
      }
      call.end()
    })
    const client = new OpenAI({ baseURL: baseURL(), apiKey: apiKey(), maxRetries: 0 })
    const input_reference = await toFile(png, "a.png", { type: "image/png" })
    const made = await client.videos.create({
      model: "sora-2",
      prompt: "a weir",
      seconds: "4",
      size: "1280x720",
      input_reference,
    })
    expect(made).toMatchObject({ object: "video", status: "queued" })
    let video = made
    while (video.status === "queued" || video.status === "in_progress") {
      await sleep(200)
      video = await client.videos.retrieve(made.id)
    }
    expect(video).toMatchObject({ status: "completed", model: "sora-2", seconds: "4", size: "1280x720", progress: 100 })
    expect(video.completed_at).toBeGreaterThanOrEqual(video.created_at)
    const input_reference_url = `data:image/png;base64,${png.toString("base64")}`
    const second = await client.videos.create({
      prompt: "another",
      model: "sora-2",
      input_reference: { image_url: input_reference_url },
    })
    expect(
      gateway()
        .vendor.calls.find(({ sent }) => sent.includes("another"))
        ?.sent.includes(png),
    ).toBe(true)
    const listed: Array<string> = []
    for await (const { id } of client.videos.list({ limit: 1 })) listed.push(id)
    expect(listed).toEqual([second.id, video.id])
    const oldest = await client.videos.list({ order: "asc" })
    expect([oldest.data.map(({ id }) => id), oldest.has_more]).toEqual([[video.id, second.id], false])
    await expect(client.videos.list({ limit: 0 })).rejects.toMatchObject({ status: 400, param: "limit" })
    const remix = await client.videos.remix(video.id, { prompt: "a weir at night" })
    expect(remix).toMatchObject({ remixed_from_video_id: video.id, status: "queued", seconds: "4", size: "1280x720" })
    const asked = gateway().vendor.calls.at(-1)
    expect([asked?.path, asked?.body]).toEqual(["/v1/videos/video_1/remix", { prompt: "a weir at night" }])
    await expect(client.videos.remix(remix.id, { prompt: "again" })).rejects.toMatchObject({
      status: 400,
      param: "video_id",
    })
    await expect(client.videos.remix("job_none", { prompt: "again" })).rejects.toMatchObject({ param: "video_id" })
    const content = await client.videos.downloadContent(video.id)
    expect(await content.text()).toBe("film")
    expect(await client.videos.delete(video.id)).toMatchObject({ deleted: true })
    await expect(
      client.videos.create({ prompt: "a weir", model: "sora-2", seconds: "0" as "4" }),
    ).rejects.toMatchObject({
      status: 400,
      param: "seconds",
    })
  })
})

describe("@google/genai", () => {
  const client = () => new GoogleGenAI({ apiKey: apiKey(), httpOptions: { baseUrl: `${gateway().baseUrl}/gemini` } })

  it("draws, and changes a picture", async () => {
    const { data } = await client().models.generateContent({
      model: "gpt-image-1",
      contents: [{ text: "brighter" }, { inlineData: { mimeType: "image/png", data: png.toString("base64") } }],
      config: { responseModalities: ["TEXT", "IMAGE"] },
    })
    expect(isPng(data)).toBe(true)
    expect(gateway().vendor.calls.at(-1)?.path).toBe("/v1/images/edits")
  })

  it.each(["gpt-image-1", "gpt%2Dimage-1"])("or any other client predicts pictures with %s", async (model) => {
    const response = await fetch(`${gateway().baseUrl}/gemini/v1beta/models/${model}:predict`, {
      method: "POST",
      headers: { "x-goog-api-key": apiKey(), "content-type": "application/json" },
      body: JSON.stringify({ instances: [{ prompt: "a weir" }], parameters: { sampleCount: 2, aspectRatio: "16:9" } }),
    })
    const { predictions } = Object(await response.json())
    expect(
      predictions.map(({ bytesBase64Encoded }: { bytesBase64Encoded: string }) => isPng(bytesBase64Encoded)),
    ).toEqual([true, true])
    // Videos of other tests are asked for meanwhile.
    const drawn = gateway().vendor.calls.findLast(({ path }) => path.includes("/images/"))
    expect(drawn?.body).toMatchObject({ n: 2, size: "1536x864" })
  })

  it("predicts no picture without a text", async () => {
    const response = await fetch(`${gateway().baseUrl}/gemini/v1beta/models/gpt-image-1:predict`, {
      method: "POST",
      headers: { "x-goog-api-key": apiKey(), "content-type": "application/json" },
      body: JSON.stringify({ instances: [{}] }),
    })
    expect(await response.text()).toContain("instances.0.prompt: is required")
  })

  it.each(["image", "mask", "referenceImages", "productImages", "newMember"])(
    "predicts no picture from a text when the instance has %s too",
    async (member) => {
      const before = gateway().vendor.calls.length
      const response = await fetch(`${gateway().baseUrl}/gemini/v1beta/models/gpt-image-1:predict`, {
        method: "POST",
        headers: { "x-goog-api-key": apiKey(), "content-type": "application/json" },
        body: JSON.stringify({ instances: [{ prompt: "a weir", [member]: { bytesBase64Encoded: "" } }] }),
      })
      expect(response.status).toBe(400)
      expect(await response.text()).toContain(`instances.0.${member}`)
      expect(
        gateway()
          .vendor.calls.slice(before)
          .filter(({ path }) => path.includes("/images/")),
      ).toEqual([])
    },
  )

  it("speaks, whole and streamed", async () => {
    const asked = {
      model: "tts-1",
      contents: [{ parts: [{ text: "Hello" }] }],
      config: {
        responseModalities: ["AUDIO"],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: "alloy" } } },
      },
    }
    const { data = "" } = await client().models.generateContent(asked)
    // A tone of 0.06 seconds a character, 24,000 samples of two bytes a second.
    expect(Buffer.from(data, "base64").length).toBe(5 * 0.06 * 48_000)
    const parts: Array<Buffer> = []
    for await (const piece of await client().models.generateContentStream(asked)) {
      if (piece.data !== undefined) parts.push(Buffer.from(piece.data, "base64"))
    }
    expect(Buffer.concat(parts).length).toBe(5 * 0.06 * 48_000)
    const sound = Buffer.from(Array.from({ length: 7000 }, (_, at) => at % 251))
    gateway().vendor.script(async (call) => {
      call.head(200, { "content-type": "audio/pcm" })
      for (let at = 0, size = 1; at < sound.length; at += size++) {
        await call.write(sound.subarray(at, at + size))
        await call.wait(size < 5 ? 5 : 0)
      }
      call.end()
    })
    const cut = await client().models.generateContent(asked)
    expect(Buffer.from(cut.data ?? "", "base64").equals(sound)).toBe(true)
    expect(cut.candidates?.[0]?.finishReason).toBe("STOP")
  })
})

describe.skipIf(python === undefined)("openai, in Python", () => {
  it("draws, speaks, transcribes and has a video made", async () => {
    gateway().vendor.script(async (call) => {
      if (!call.path.startsWith("/v1/videos")) return simulate(call)
      const isContent = call.path.endsWith("/content")
      call.head(200, { "content-type": isContent ? "video/mp4" : "application/json" })
      const status = call.path === "/v1/videos" ? "queued" : "completed"
      await call.write(isContent ? "film" : JSON.stringify({ id: "video_1", object: "video", status }))
      call.end()
    })
    const { code, out, errors } = await runPython("media.py", {
      BASE_URL: gateway().baseUrl,
      API_KEY: apiKey(),
      // The SDK says that its makers will end an API.
      PYTHONWARNINGS: "ignore",
    })
    expect([code, errors]).toEqual([0, ""])
    expect(JSON.parse(out)).toHaveLength(8)
  }, 60_000)
})
