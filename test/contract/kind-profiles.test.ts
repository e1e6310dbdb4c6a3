/** Calls beside chat at vendors with OpenAI's API: each gets what it takes, in its own words, and its own replies are read. */
import { beforeEach, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue, type VendorCall, type VendorScript } from "../../src/testing/index.ts"
import { errorOf, useGateway } from "../support/gateway.ts"
import { png, wavOf } from "../support/media-samples.ts"

const ids = newTestIds()

/** Models by their handles: kind, vendor's profile, the vendor's name of the model, and more of the target. */
const models: Readonly<Record<string, readonly [kind: string, profile: string, model: string, more?: string]>> = {
  "embed-qwen": ["embedding", "qwen", "text-embedding-v4"],
  "embed-nvidia": ["embedding", "nvidia", "nvidia/nv-embedqa-e5-v5"],
  "embed-mistral": ["embedding", "mistral", "codestral-embed"],
  "rank-nvidia": ["rerank", "nvidia", "nvidia/llama-nemotron-rerank-1b-v2"],
  "rank-qwen": ["rerank", "qwen", "qwen3-rerank"],
  "embed-generic": ["embedding", "generic", "bge-m3", "maxInputs: 2"],
  "rank-sglang": ["rerank", "generic", "qwen3-reranker-8b"],
  "rank-fireworks": ["rerank", "fireworks", "accounts/fireworks/models/qwen3-reranker-8b"],
  "mod-mistral": ["moderation", "mistral", "mistral-moderation-latest"],
  "draw-azure": ["image", "azure", "pictures-prod"],
  "draw-dalle": ["image", "azure", "old-pictures", "family: dall-e-3"],
  "draw-router": ["image", "generic", "openai/gpt-image-1"],
  "draw-openrouter": ["image", "openrouter", "openai/gpt-image-1"],
  "draw-endpoint": ["image", "generic", "ep-2026", "family: seedream-4-0"],
  "draw-together": ["image", "together", "black-forest-labs/FLUX.1-dev"],
  "draw-xai": ["image", "xai", "grok-imagine-image"],
  "say-mistral": ["speech", "mistral", "voxtral-mini-tts-2603"],
  "hear-azure": ["transcription", "azure", "transcribe-prod"],
  "hear-named": ["transcription", "azure", "any", "family: gpt-4o-transcribe"],
  "hear-vllm": ["transcription", "vllm", "mistralai/Voxtral-Mini-4B"],
  "hear-generic": ["transcription", "generic", "Systran/faster-whisper-large-v3"],
  "hear-groq": ["transcription", "groq", "whisper-large-v3"],
  "hear-mistral": ["transcription", "mistral", "voxtral-mini-latest"],
}
const handles = Object.keys(models)
const profiles = [...new Set(Object.values(models).map(([, profile]) => profile))]

/** The unit by which each kind is billed. */
const priceOf: Readonly<Record<string, string>> = {
  embedding: 'input: "1"',
  rerank: 'input: "1"',
  moderation: 'input: "1"',
  image: 'dims: { images: "10" }',
  speech: 'dims: { characters: "10" }',
  transcription: 'dims: { audio_seconds: "10" }',
}

const gateway = useGateway({
  ids,
  catalogue: ({ vendor, second }) =>
    testCatalogue({ vendor, second }, ids)
      .replace(
        "vendors:\n",
        `vendors:\n${profiles
          .map((profile) => {
            const base = profile === "azure" ? vendor : `${vendor}/v1`
            return `  - { id: ${profile}, dialect: openai-chat, profile: ${profile}, baseUrl: "${base}", credential: "env:WEIR_TEST_VENDOR" }\n`
          })
          .join("")}`,
      )
      .replace(
        "models:\n",
        `models:\n${handles
          .map((handle) => {
            const [kind, profile, model, more] = models[handle] ?? []
            const target = `{ vendor: ${profile}, model: "${model}"${more === undefined ? "" : `, ${more}`} }`
            return `  - { handle: ${handle}, kind: ${kind}, targets: [${target}] }\n`
          })
          .join("")}`,
      )
      .replace(
        "prices:\n",
        `prices:\n${handles
          .map((handle) => {
            const [kind = ""] = models[handle] ?? []
            return `  - { model: ${handle}, currency: USD, ${priceOf[kind]}, from: 2026-01-01 }\n`
          })
          .join("")}`,
      )
      .replace("models: [main,", `models: [${handles.join(", ")}, main,`),
})

/** Answers as a vendor that refuses what it does not know. */
const strict =
  (knows: ReadonlyArray<string>, bodyOf: (call: VendorCall) => unknown): VendorScript =>
  (call) => {
    const names = isForm(call) ? Object.keys(partsOf(call)) : Object.keys(call.body)
    const unknown = names.find((name) => !knows.includes(name))
    call.head(unknown === undefined ? 200 : 422, { "content-type": "application/json" })
    call.end(JSON.stringify(unknown === undefined ? bodyOf(call) : { message: `Extra inputs: ${unknown}` }))
  }

const isForm = ({ headers }: VendorCall) => String(headers["content-type"]).startsWith("multipart/")

/** The parts of a form, files by their beginning; lists joined. */
const partsOf = ({ sent }: VendorCall): Readonly<Record<string, string>> => {
  const parts: Record<string, string> = {}
  for (const [, name = "", value = ""] of sent
    .toString("latin1")
    .matchAll(/name="([^"]+)"[^\r]*\r\n(?:content-type[^\r]*\r\n)?\r\n([\s\S]*?)\r\n--/g)) {
    parts[name] = parts[name] === undefined ? value.slice(0, 40) : `${parts[name]},${value}`
  }
  return parts
}

const lastCall = (): VendorCall => {
  const call = gateway().vendor.calls.at(-1)
  if (call === undefined) throw new Error("the vendor was not called")
  return call
}

let before = 0
const callsOfTest = () => gateway().vendor.calls.slice(before)
beforeEach(() => {
  before = gateway().vendor.calls.length
})

const post = (path: string, body: object) => gateway().call("POST", path, body)
const openai = (path: string, body: object) => post(`/openai/v1${path}`, body)
const sendForm = (path: string, parts: Readonly<Record<string, string | Blob | ReadonlyArray<string>>>) => {
  const form = new FormData()
  for (const [name, value] of Object.entries(parts)) {
    for (const each of Array.isArray(value) ? value : [value]) form.append(name, each)
  }
  return fetch(`${gateway().baseUrl}/openai/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway().keyId}~${gateway().key}` },
    body: form,
  })
}
const jsonOf = async (response: Response) => {
  const json: unknown = await response.json()
  if (response.status !== 200) throw new Error(JSON.stringify(json))
  return Object(json)
}
const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])
const picture = png.toString("base64")
const wav = () => new Blob([new Uint8Array(wavOf(2))], { type: "audio/wav" })

describe("embeddings", () => {
  const vectors = ({ body }: VendorCall) => ({
    data: listOf(body["input"]).map((text, index) => ({ index, embedding: [Number(String(text)), 1] })),
    usage: { prompt_tokens: listOf(body["input"]).length, total_tokens: 1 },
  })

  it("go to DashScope ten at once, and come back in order", async () => {
    gateway().vendor.script(strict(["model", "input"], vectors))
    const input = Array.from({ length: 25 }, (_, at) => String(at))
    const { data, usage } = await jsonOf(await openai("/embeddings", { model: "embed-qwen", input }))
    expect(callsOfTest().map(({ body }) => listOf(body["input"]).length)).toEqual([10, 10, 5])
    expect(listOf(data).map((one) => Object(one).embedding[0])).toEqual(input.map(Number))
    expect(usage.prompt_tokens).toBe(25)
  })

  it.each([
    ["/t1/embeddings", { inputType: "query" }, "query"],
    ["/t1/embeddings", { inputType: "document" }, "passage"],
    ["/t1/embeddings", {}, "passage"],
    ["/openai/v1/embeddings", { input_type: "query" }, "query"],
    ["/openai/v1/embeddings", { input_type: "passage", truncate: "END" }, "passage"],
  ])("tell NVIDIA what they are for: %s %j", async (path, more, said) => {
    gateway().vendor.script(strict(["model", "input", "input_type", "truncate"], vectors))
    expect((await post(path, { model: "embed-nvidia", input: ["1"], ...more })).status).toBe(200)
    expect(lastCall().body).toMatchObject({ input_type: said, truncate: "truncate" in more ? "END" : "NONE" })
  })

  it("go to a server in as many parts as the catalogue says, and are asked for as numbers", async () => {
    gateway().vendor.script(strict(["model", "input"], vectors))
    const asked = { model: "embed-generic", input: ["1", "2", "3"], encoding_format: "base64" }
    const { data } = await jsonOf(await openai("/embeddings", asked))
    expect(callsOfTest().map(({ body }) => listOf(body["input"]).length)).toEqual([2, 1])
    const [first] = listOf(data)
    expect(Buffer.from(String(Object(first).embedding), "base64").readFloatLE(0)).toBe(1)
  })

  it("have the length in Mistral's word", async () => {
    gateway().vendor.script(strict(["model", "input", "output_dimension"], vectors))
    await jsonOf(await openai("/embeddings", { model: "embed-mistral", input: "1", dimensions: 2 }))
    expect(lastCall().body["output_dimension"]).toBe(2)
  })
})

describe("reranking", () => {
  const asked = { query: "q", documents: ["a", "b"] }

  it.each([
    ["rank-nvidia", "/v1/ranking", ["model", "query", "passages", "truncate"], "rankings", "logit"],
    [
      "rank-qwen",
      "/v1/reranks",
      ["model", "query", "documents", "top_n", "return_documents"],
      "results",
      "relevance_score",
    ],
    [
      "rank-fireworks",
      "/v1/rerank",
      ["model", "query", "documents", "top_n", "return_documents"],
      "data",
      "relevance_score",
    ],
  ])("%s is asked at %s", async (model, path, knows, list, score) => {
    gateway().vendor.script(
      strict(knows, () => ({
        [list]: [
          { index: 1, [score]: -1.5 },
          { index: 0, [score]: -3 },
        ],
        usage: { prompt_tokens: 8, total_tokens: 8 },
      })),
    )
    const { results } = await jsonOf(await openai("/rerank", { model, ...asked, top_n: 5 }))
    expect(results).toEqual([
      { index: 1, relevance_score: -1.5 },
      { index: 0, relevance_score: -3 },
    ])
    expect(lastCall().path).toBe(path)
    if (model === "rank-nvidia") expect(lastCall().body["query"]).toEqual({ text: "q" })
    // A number above that of the documents is refused by some, and changes nothing.
    else expect(lastCall().body["top_n"]).toBe(2)
  })

  it("reads the list that SGLang answers with", async () => {
    gateway().vendor.script(
      strict(["model", "query", "documents", "top_n", "return_documents"], () => [
        { score: 0.9, index: 1, document: "b" },
        { score: 0.1, index: 0, document: "a" },
      ]),
    )
    const { results } = await jsonOf(await openai("/rerank", { model: "rank-sglang", ...asked, top_n: 1 }))
    expect(results).toEqual([{ index: 1, relevance_score: 0.9 }])
  })

  it("takes documents that are objects, and tells them as they came", async () => {
    gateway().vendor.script(
      strict(["model", "query", "documents", "top_n", "return_documents"], () => ({
        results: [{ index: 0, relevance_score: 1 }],
      })),
    )
    const documents = [{ text: "a", id: "x" }]
    const { results } = await jsonOf(
      await openai("/rerank", { model: "rank-qwen", query: "q", documents, return_documents: true }),
    )
    expect(lastCall().body["documents"]).toEqual(["a"])
    expect(results).toEqual([{ index: 0, relevance_score: 1, document: { text: "a", id: "x" } }])
  })

  it("refuses a limit of documents by its name where the vendor has none", async () => {
    const response = await openai("/rerank", { model: "rank-qwen", ...asked, max_tokens_per_doc: 100 })
    expect(await response.json()).toMatchObject({ error: { param: "max_tokens_per_doc" } })
    expect([response.status, callsOfTest().length]).toEqual([400, 0])
  })
})

describe("moderation", () => {
  it("is flagged where Mistral's reply has a category, and not where it has none", async () => {
    gateway().vendor.script(
      strict(["model", "input"], () => ({
        results: [
          { categories: { pii: true, violence: false }, category_scores: { pii: 0.9, violence: 0.1 } },
          { categories: { pii: false }, category_scores: { pii: 0.1 } },
        ],
        usage: { prompt_tokens: 3 },
      })),
    )
    const { results } = await jsonOf(await openai("/moderations", { model: "mod-mistral", input: ["a", "b"] }))
    expect(results).toEqual([
      { flagged: true, categories: { pii: true, violence: false }, category_scores: { pii: 0.9, violence: 0.1 } },
      { flagged: false, categories: { pii: false }, category_scores: { pii: 0.1 } },
    ])
  })

  it("of a picture is refused by name where a vendor judges texts", async () => {
    const input = [{ type: "image_url", image_url: { url: `data:image/png;base64,${picture}` } }]
    const response = await openai("/moderations", { model: "mod-mistral", input })
    expect(await response.json()).toMatchObject({ error: { param: "input" } })
    expect(response.status).toBe(400)
  })
})

describe("pictures", () => {
  const own = ["model", "prompt", "n", "size", "quality", "background", "output_format", "output_compression"]
  const drawn = () => ({ data: [{ b64_json: picture }] })

  it.each([
    ["draw-azure", own, {}],
    ["draw-router", own, {}],
    [
      "draw-azure",
      [...own, "moderation", "input_fidelity"],
      { output_format: "jpeg", output_compression: 50, moderation: "low" },
    ],
    ["draw-dalle", ["model", "prompt", "size", "quality", "style", "response_format"], { style: "natural" }],
    [
      "draw-openrouter",
      ["model", "prompt", "n", "aspect_ratio", "resolution", "size", "quality"],
      { size: "16:9", resolution: "2K" },
    ],
    [
      "draw-together",
      ["model", "prompt", "n", "width", "height", "response_format", "output_format", "seed"],
      { size: "1024x768" },
    ],
    [
      "draw-xai",
      ["model", "prompt", "n", "aspect_ratio", "resolution", "response_format"],
      { size: "16:9", resolution: "2k" },
    ],
    ["draw-endpoint", ["model", "prompt", "size", "response_format", "seed"], { size: "2K" }],
  ])("of %s are asked for by what it knows", async (model, knows, more) => {
    gateway().vendor.script(strict(knows, drawn))
    const { data } = await jsonOf(await openai("/images/generations", { model, prompt: "x", ...more }))
    expect(data).toEqual([{ b64_json: picture }])
    if (model === "draw-openrouter") {
      expect([lastCall().path, lastCall().body]).toMatchObject([
        "/v1/images",
        { aspect_ratio: "16:9", resolution: "2K" },
      ])
      return
    }
    const sent = lastCall().body
    if (model === "draw-together") expect(sent).toMatchObject({ width: 1024, height: 768, response_format: "base64" })
    else if (model === "draw-xai") expect(sent).toMatchObject({ aspect_ratio: "16:9", resolution: "2k" })
    else expect(sent).toMatchObject(more)
  })

  it.each([
    ["draw-azure", { style: "natural" }, "style"],
    ["draw-dalle", { output_compression: 50 }, "output_compression"],
    ["draw-xai", { quality: "high" }, "quality"],
    ["draw-together", { size: "2K" }, "size"],
  ])("of %s with %j are refused by name", async (model, more, param) => {
    const response = await openai("/images/generations", { model, prompt: "x", ...more })
    expect(await response.json()).toMatchObject({ error: { param } })
    expect([response.status, callsOfTest().length]).toEqual([400, 0])
  })

  it("are changed at Seedream by addresses beside the prompt, and at xAI by JSON", async () => {
    gateway().vendor.script(strict(["model", "prompt", "image", "images", "response_format"], drawn))
    const parts = { prompt: "x", image: new Blob([new Uint8Array(png)], { type: "image/png" }) }
    const url = `data:image/png;base64,${picture}`
    expect((await sendForm("/images/edits", { model: "draw-endpoint", ...parts })).status).toBe(200)
    expect([lastCall().path, lastCall().body["image"]]).toEqual(["/v1/images/generations", [url]])
    expect((await sendForm("/images/edits", { model: "draw-xai", ...parts })).status).toBe(200)
    expect([lastCall().path, lastCall().body["image"]]).toEqual(["/v1/images/edits", { url }])
    gateway().vendor.script(strict(["model", "prompt", "input_references"], drawn))
    expect((await sendForm("/images/edits", { model: "draw-openrouter", ...parts })).status).toBe(200)
    expect(lastCall().body["input_references"]).toEqual([{ type: "image_url", image_url: { url } }])
  })
})

describe("speech", () => {
  const asked = { model: "say-mistral", input: "Hello", voice: "en_paul_neutral" }
  const sound = Buffer.from("some sound")
  const knows = ["model", "input", "voice_id", "response_format", "stream"]

  it("of Mistral comes in base64, in events or in one object", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(
        `data: ${JSON.stringify({ type: "speech.audio.delta", audio_data: sound.toString("base64") })}\n\n`,
      )
      await call.write(`data: ${JSON.stringify({ type: "speech.audio.done", usage: { prompt_tokens: 3 } })}\n\n`)
      call.end()
    })
    const streamed = await openai("/audio/speech", asked)
    expect(Buffer.from(await streamed.arrayBuffer())).toEqual(sound)
    expect(lastCall().body).toEqual({
      model: "voxtral-mini-tts-2603",
      input: "Hello",
      voice_id: "en_paul_neutral",
      response_format: "mp3",
      stream: true,
    })
    gateway().vendor.script(strict(knows, () => ({ audio_data: sound.toString("base64") })))
    const whole = await openai("/audio/speech", { ...asked, voice: { id: "voice_1" } })
    expect(Buffer.from(await whole.arrayBuffer())).toEqual(sound)
    expect(lastCall().body["voice_id"]).toBe("voice_1")
    gateway().vendor.script(strict(knows, () => ({ object: "nothing" })))
    expect((await openai("/audio/speech", asked)).status).toBe(502)
  })

  it.each([
    [{ speed: 1.5 }, "speed"],
    [{ instructions: "softly" }, "instructions"],
    [{ response_format: "aac" }, "response_format"],
  ])("of Mistral with %j is refused by name", async (more, param) => {
    const response = await openai("/audio/speech", { ...asked, ...more })
    expect(await response.json()).toMatchObject({ error: { param } })
  })
})

describe("transcription", () => {
  const knows = ["model", "file", "language", "prompt", "response_format", "temperature", "stream"]
  const times = ["timestamp_granularities[]", "timestamp_granularities"]
  const hear = (model: string, more: Parameters<typeof sendForm>[1] = {}) =>
    sendForm("/audio/transcriptions", { model, file: wav(), ...more })

  it.each([
    ["hear-azure", "json"],
    ["hear-vllm", "json"],
    // Replies of a Whisper in plain JSON do not have the length of a recording, by which it is billed.
    ["hear-generic", "verbose_json"],
    ["hear-groq", "verbose_json"],
  ])("of %s is asked for %s where the client needs no times", async (model, format) => {
    const known = format === "verbose_json" ? [...knows, ...times] : knows
    gateway().vendor.script(strict(known, () => ({ text: "Hi", duration: 2 })))
    expect(await jsonOf(await hear(model, { response_format: "json" }))).toMatchObject({ text: "Hi" })
    expect(partsOf(lastCall())["response_format"]).toBe(format)
  })

  it("is asked for times where the client needs them, words and segments", async () => {
    const words = [{ word: "Hi", start: 0, end: 1 }]
    const segments = [
      {
        id: 0,
        seek: 0,
        start: 0,
        end: 1,
        text: " Hi",
        tokens: [5],
        temperature: 0,
        avg_logprob: -0.2,
        compression_ratio: 0.8,
        no_speech_prob: 0.01,
      },
    ]
    gateway().vendor.script(strict([...knows, ...times], () => ({ text: "Hi", duration: 2, words, segments })))
    const reply = await jsonOf(
      await hear("hear-groq", {
        response_format: "verbose_json",
        "timestamp_granularities[]": ["word", "segment"],
      }),
    )
    expect(partsOf(lastCall())["timestamp_granularities[]"]).toBe("word,segment")
    expect(reply).toMatchObject({ words, segments: [{ ...segments[0], text: "Hi" }] })
  })

  it("of a family that the catalogue names is asked as that", async () => {
    const response = await hear("hear-named", { response_format: "verbose_json" })
    expect(await response.json()).toMatchObject({ error: { param: "timestamp_granularities" } })
    expect([response.status, callsOfTest().length]).toEqual([400, 0])
  })

  it("of a server that streams as OpenAI does is streamed", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(`data: ${JSON.stringify({ type: "transcript.text.delta", delta: "Hi" })}\n\n`)
      await call.write(`data: ${JSON.stringify({ type: "transcript.text.done", text: "Hi" })}\n\n`)
      call.end()
    })
    const text = await (await hear("hear-generic", { stream: "true" })).text()
    expect(text).toContain('"type":"transcript.text.done","text":"Hi"')
    expect(partsOf(lastCall())["stream"]).toBe("true")
  })

  it("of a server that is not known tells who speaks, whatever its model is called", async () => {
    const segments = [{ id: "seg_0", start: 0, end: 1, text: "Hi", speaker: "SPEAKER_00" }]
    gateway().vendor.script(strict(knows, () => ({ text: "Hi", duration: 2, segments })))
    const reply = await jsonOf(await hear("hear-generic", { response_format: "diarized_json", prompt: "Weir" }))
    expect(reply).toMatchObject({ segments })
    expect(partsOf(lastCall())["response_format"]).toBe("diarized_json")
  })

  it("of Mistral has its own fields, times and speakers", async () => {
    const own = ["model", "file", "language", "temperature", "stream", "diarize", "timestamp_granularities"]
    const spoken = { text: "Hi", start: 0, end: 1, speaker_id: "speaker_1" }
    gateway().vendor.script(
      strict(own, () => ({ text: "Hi", language: "en", segments: [spoken], usage: { prompt_audio_seconds: 2 } })),
    )
    expect(await jsonOf(await hear("hear-mistral", { language: "en" }))).toMatchObject({
      text: "Hi",
      usage: { type: "duration", seconds: 2 },
    })
    expect(partsOf(lastCall())["language"]).toBe("en")
    const diarized = await jsonOf(await hear("hear-mistral", { response_format: "diarized_json" }))
    expect(diarized).toMatchObject({
      task: "transcribe",
      segments: [{ speaker: "speaker_1", text: "Hi", id: "seg_0" }],
    })
    expect(partsOf(lastCall())).toMatchObject({ diarize: "true", timestamp_granularities: "segment" })
    for (const [param, more] of [
      ["prompt", { prompt: "Weir" }],
      ["language", { language: "en", response_format: "srt" }],
    ] as const) {
      expect(await (await hear("hear-mistral", more)).json()).toMatchObject({ error: { param } })
    }
  })
})

describe("a field that no target has", () => {
  it("is told to a client of twp/1 as a capability", async () => {
    expect(
      await errorOf(
        await post("/t1/rerank", { model: "rank-qwen", query: "q", documents: ["a"], maxTokensPerDocument: 9 }),
      ),
    ).toMatchObject({ status: 400, code: "bad_request", detail: { capability: "maxTokensPerDocument" } })
  })
})
