/** Checks of the calls beside the exchange: embeddings, rankings, moderation. Models are found in the bundle. */
import { Schema } from "effect"
import { Bundle } from "../protocol/control/bundle.ts"
import { EmbeddingResponse } from "../protocol/kinds/embedding.ts"
import { ImageResponse } from "../protocol/kinds/image.ts"
import { ModerationResponse } from "../protocol/kinds/moderation.ts"
import { RerankResponse } from "../protocol/kinds/rerank.ts"
import { TranscriptionResponse } from "../protocol/kinds/transcription.ts"
import { VideoJob } from "../protocol/kinds/video.ts"
import { newUlid } from "../protocol/values/ulid.ts"
import { CheckSkipped, decode, expectError, expectThat, type Group, type Probe } from "./probe.ts"

/** A handle of a kind that the key may use. */
const modelOf = async (probe: Probe, kind: keyof Bundle["platformModels"]): Promise<string> => {
  const headers = { "x-svc-client-features": "platform-audio" }
  const { platformModels } = decode(await probe.send("/t1/config", { method: "GET", headers }), Bundle)
  const [handle] = platformModels[kind] ?? []
  if (handle === undefined) throw new CheckSkipped(`the key has no model for ${kind}`)
  return handle
}

export const kindChecks: Group = {
  section: "Other kinds of calls",
  checks: [
    {
      name: "embeddings keep the order of the input, each with the same length, and are billed once",
      run: async (probe) => {
        const model = await modelOf(probe, "embedding")
        const body = { model, input: ["river", "lake", "river"], meta: { requestId: newUlid(Date.now()) } }
        const first = await probe.send("/t1/embeddings", { body })
        const { vectors, dimensions } = decode(first, EmbeddingResponse)
        expectThat(vectors.length === 3, `${vectors.length} vectors came for three texts`)
        expectThat(
          vectors.every(({ length }) => length === dimensions),
          `not every vector has ${dimensions} numbers`,
        )
        const again = await probe.send("/t1/embeddings", { body })
        expectThat(again.headers.get("x-svc-idempotent-replay") === "1", "x-svc-idempotent-replay is missing")
        expectThat(again.text === first.text, "the second answer is another")
      },
    },
    {
      name: "base64 is of little-endian float32",
      run: async (probe) => {
        const model = await modelOf(probe, "embedding")
        const body = { model, input: ["river"], encoding: "base64" }
        const { vectors, dimensions } = decode(await probe.send("/t1/embeddings", { body }), EmbeddingResponse)
        const [vector] = vectors
        expectThat(typeof vector === "string", "the vector is no text")
        expectThat(atob(String(vector)).length === 4 * dimensions, `the text is not of ${dimensions} numbers`)
      },
    },
    {
      name: "no input, an empty text and an unknown field are bad_request",
      run: async (probe) => {
        const model = await modelOf(probe, "embedding")
        for (const more of [{ input: [] }, { input: [""] }, { input: ["a"], surprise: 1 }]) {
          expectError(await probe.send("/t1/embeddings", { body: { model, ...more } }), "bad_request")
        }
      },
    },
    {
      name: "rerank gives each document once, the best first",
      run: async (probe) => {
        const model = await modelOf(probe, "rerank")
        const body = { model, query: "a river", documents: ["a lake", "a river", "hills"] }
        const { results } = decode(await probe.send("/t1/rerank", { body }), RerankResponse)
        expectThat(new Set(results.map(({ index }) => index)).size === 3, "not every document is there once")
        const scores = results.map(({ score }) => score)
        expectThat(
          scores.every((score, at) => at === 0 || score <= (scores[at - 1] ?? score)),
          "the best is not first",
        )
      },
    },
    {
      name: "moderation judges each text",
      run: async (probe) => {
        const model = await modelOf(probe, "moderation")
        const body = { model, input: ["a river", "a lake"] }
        const { results } = decode(await probe.send("/t1/moderations", { body }), ModerationResponse)
        expectThat(results.length === 2, `${results.length} results came for two texts`)
      },
    },
    {
      name: "pictures are base64 of their type, and as many as were asked for at most",
      run: async (probe) => {
        const model = await modelOf(probe, "image")
        const { images } = decode(await probe.send("/t1/images", { body: { model, prompt: "a river" } }), ImageResponse)
        expectThat(images.length === 1, `${images.length} pictures came for one`)
        expectThat(atob(images[0]?.data ?? "").length > 0, "the picture is empty")
      },
    },
    {
      name: "speech as events ends with its usage, and is heard again in a transcription",
      run: async (probe) => {
        const [say, hear] = [await modelOf(probe, "textToSpeech"), await modelOf(probe, "speechToText")]
        const body = { model: say, input: "A river", voice: "alloy", format: "wav", stream: true }
        const { text } = await probe.send("/t1/speech", { body })
        expectThat(text.includes("event: t.usage"), "no t.usage came")
        const parts = [...text.matchAll(/"t":"audio","data":"([^"]*)"/g)].map(([, data = ""]) => atob(data))
        expectThat(parts.length > 0, "no sound came")
        const file = { t: "file", mime: "audio/wav", data: btoa(parts.join("")) }
        const heard = await probe.send("/t1/transcriptions", { body: { model: hear, file } })
        const { usage } = decode(heard, TranscriptionResponse)
        expectThat(usage.cost !== "", "the transcription has no cost")
      },
    },
    {
      name: "a video is a job: 202, then its state, and cancelled for good",
      run: async (probe) => {
        const model = await modelOf(probe, "video")
        const made = await probe.send("/t1/videos", { body: { model, prompt: "a river", seconds: 1 } })
        expectThat(made.status === 202, `the status is ${made.status}`)
        const { id } = Schema.decodeUnknownSync(Schema.fromJsonString(VideoJob))(made.text)
        const asked = decode(await probe.send(`/t1/videos/${id}`, { method: "GET" }), VideoJob)
        expectThat(asked.id === id, "another job was returned")
        const ended = decode(await probe.send(`/t1/videos/${id}`, { method: "DELETE" }), VideoJob)
        expectThat(ended.status === "cancelled" || ended.status === "done", `it is ${ended.status}`)
      },
    },
    {
      name: "a size of nothing, no voice, a file that is no recording and a video of no length are bad_request",
      run: async (probe) => {
        const bad: ReadonlyArray<readonly [string, object]> = [
          ["/t1/images", { model: "any", prompt: "a river", size: "0x0" }],
          ["/t1/speech", { model: "any", input: "a river" }],
          ["/t1/transcriptions", { model: "any", file: { t: "file", mime: "audio/mpeg", data: "UEsDBBQAAAAIAAAA" } }],
          ["/t1/videos", { model: "any", prompt: "a river", seconds: 0 }],
        ]
        for (const [path, body] of bad) expectError(await probe.send(path, { body }), "bad_request")
      },
    },
    {
      name: "a model of one kind cannot be called as another: model_not_authorized",
      run: async (probe) => {
        const model = await modelOf(probe, "embedding")
        expectError(await probe.send("/t1/exchange", { body: probe.ask({ model }) }), "model_not_authorized")
      },
    },
  ],
}
