/** Recorded embeddings and rankings through their dialects: every number, and usage as recorded. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { dialectOf } from "../../src/dialects/index.ts"
import { isObject, type JsonObject, objectAt, objectsAt, parseObject } from "../../src/dialects/parse/json.ts"
import { toBase64 } from "../../src/dialects/vendor/vectors.ts"
import type { EmbeddingAsked, RerankAsked } from "../../src/dialects/whole-dialect.ts"
import type { DialectName } from "../../src/protocol/catalogue/vendor.ts"
import { isError, recordingsOf } from "../support/recorded/recordings.ts"

const embeddings: ReadonlyArray<
  readonly [folder: string, dialect: DialectName, listOf: (body: JsonObject) => unknown]
> = [
  ["embed-openai", "openai-chat", (body) => objectsAt(body, "data").map(({ embedding }) => embedding)],
  ["embed-voyage", "voyage", (body) => objectsAt(body, "data").map(({ embedding }) => embedding)],
  ["embed-gemini", "gemini", (body) => objectsAt(body, "embeddings").map(({ values }) => values)],
  [
    "embed-bedrock",
    "bedrock",
    (body) =>
      Array.isArray(body["embedding"])
        ? [body["embedding"]]
        : (objectAt(body, "embeddings")?.["float"] ?? listOf(body)),
  ],
  ["embed-cohere", "cohere", (body) => objectAt(body, "embeddings")?.["float"]],
]

/** A list of vectors, or of objects that have one each. */
const listOf = ({ embeddings: list }: JsonObject): unknown =>
  Array.isArray(list) ? list.map((one) => (isObject(one) ? one["embedding"] : one)) : undefined

/** The only number of tokens that a reply has. */
const tokensIn = (body: JsonObject): number | undefined => {
  const usage =
    objectAt(body, "usage") ?? objectAt(body, "usageMetadata") ?? objectAt(objectAt(body, "meta"), "billed_units")
  const found =
    usage?.["prompt_tokens"] ?? usage?.["promptTokenCount"] ?? usage?.["input_tokens"] ?? usage?.["total_tokens"]
  return typeof found === "number" ? found : undefined
}

/** The vectors as float32, which is their type. */
const exact = (vectors: unknown): ReadonlyArray<string> =>
  Array.isArray(vectors) ? vectors.map((vector) => toBase64(vector)) : []

describe.each(embeddings)("%s", (folder, name, listOf) => {
  const dialect = dialectOf({ dialect: name })
  it.for(recordingsOf(folder))("%s", ([, recording]) => {
    const body = parseObject(recording.response.body) ?? {}
    if (isError(recording) || recording.response.status >= 400) {
      expect(dialect.decodeError(recording.response.status, recording.response.body).status).toBe(
        recording.response.status,
      )
      return
    }
    const recorded = listOf(body)
    const input = Array.from({ length: exact(recorded).length }, (_, at) => `text ${at}`)
    const headers = recording.response.headers ?? {}
    const got = dialect.embedding?.decode(body, { input }, headers)
    expect(exact(recorded).length).toBeGreaterThan(0)
    expect(exact(got?.vectors)).toEqual(exact(recorded))
    const counted = headers["x-amzn-bedrock-input-token-count"]
    expect(got?.inTokens).toBe(counted === undefined ? tokensIn(body) : Number(counted))
  })

  // Nova's TEXT_RETRIEVAL does not exist in twp/1.
  it.for(recordingsOf(folder).filter(([, one]) => !JSON.stringify(one.request).includes("TEXT_RETRIEVAL")))(
    "%s is asked the same way",
    ([, { request }]) => {
      if (request === null || !isObject(request.body)) return
      if (dialect.embedding === undefined) throw new Error("no embedding")
      const wire = Result.getOrThrow(
        dialect.embedding.encode(askedIn(request.body), modelIn(request), modelIn(request)),
      )
      const sent = JSON.parse(wire.body) as JsonObject
      expect(request.path.endsWith(wire.path.replace("/v2", "").replace("/v1beta", ""))).toBe(true)
      for (const [field, value] of Object.entries(sent)) {
        // The recorded client leaves these two to their defaults; Weir states them.
        if (value !== false && field !== "truncation") expect([field, value]).toEqual([field, request.body[field]])
      }
    },
  )
})

const modelIn = ({ path, body }: { readonly path: string; readonly body: unknown }): string => {
  const named = isObject(body) ? body["model"] : undefined
  return typeof named === "string" ? named : decodeURIComponent(/models?\/([^:/]+)[:/]/.exec(path)?.[1] ?? "")
}

const purposes: Readonly<Record<string, NonNullable<EmbeddingAsked["inputType"]>>> = {
  search_query: "query",
  search_document: "document",
  query: "query",
  document: "document",
  classification: "classification",
  GENERIC_RETRIEVAL: "query",
  GENERIC_INDEX: "document",
  RETRIEVAL_QUERY: "query",
  RETRIEVAL_DOCUMENT: "document",
}

/** A recorded request in our words. */
const askedIn = (body: JsonObject): EmbeddingAsked => {
  const requests = objectsAt(body, "requests")
  const nova = objectAt(body, "singleEmbeddingParams")
  const texts =
    body["input"] ??
    body["texts"] ??
    body["inputText"] ??
    objectAt(nova, "text")?.["value"] ??
    requests.map((one) => objectsAt(objectAt(one, "content"), "parts")[0]?.["text"])
  const purpose = purposes[String(body["input_type"] ?? requests[0]?.["taskType"] ?? nova?.["embeddingPurpose"])]
  const dimensions = body["output_dimension"] ?? body["dimensions"]
  return {
    input: Array.isArray(texts) ? texts.map(String) : [String(texts)],
    ...(purpose !== undefined && { inputType: purpose }),
    ...(typeof dimensions === "number" && { dimensions }),
    ...(body["encoding_format"] === "base64" && { encoding: "base64" as const }),
    ...(body["truncate"] === "END" && { truncate: true }),
  }
}

describe.each([
  ["rerank-cohere", "cohere", "results"],
  ["rerank-together", "openai-chat", "results"],
  ["rerank-voyage", "voyage", "data"],
] as const)("%s", (folder, name, key) => {
  it.for(recordingsOf(folder))("%s", ([, recording]) => {
    const body = parseObject(recording.response.body) ?? {}
    const recorded = objectsAt(body, key)
    const asked: RerankAsked = { query: "q", documents: Array.from({ length: 6 }, () => "d"), topN: recorded.length }
    const got = dialectOf({ dialect: name }).rerank?.decode(body, asked, {})
    expect(got?.results).toEqual(recorded.map(({ index, relevance_score }) => ({ index, score: relevance_score })))
    const usage = objectAt(body, "usage")
    expect(got?.inTokens).toBe(usage?.["total_tokens"])
    expect(got?.searches).toBe(objectAt(objectAt(body, "meta"), "billed_units")?.["search_units"])
  })
})
