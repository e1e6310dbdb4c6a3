/** Checks of the calls beside the exchange: embeddings, rankings, moderation. Models are found in the bundle. */
import { Bundle } from "../protocol/bundle.ts"
import { EmbeddingResponse } from "../protocol/embedding.ts"
import { ModerationResponse } from "../protocol/moderation.ts"
import { RerankResponse } from "../protocol/rerank.ts"
import { newUlid } from "../protocol/ulid.ts"
import { CheckSkipped, decode, expectError, expectThat, type Group, type Probe } from "./probe.ts"

/** A handle of a kind that the key may use. */
const modelOf = async (probe: Probe, kind: "embedding" | "rerank" | "moderation"): Promise<string> => {
  const { platformModels } = decode(await probe.send("/t1/config", { method: "GET" }), Bundle)
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
      name: "a model of one kind cannot be called as another: model_not_authorized",
      run: async (probe) => {
        const model = await modelOf(probe, "embedding")
        expectError(await probe.send("/t1/exchange", { body: probe.ask({ model }) }), "model_not_authorized")
      },
    },
  ],
}
