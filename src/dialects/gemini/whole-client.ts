/** Embeddings towards clients of Gemini's API, one and several. Source: https://ai.google.dev/api/embeddings */
import type { Result } from "effect"
import { type EmbeddingResponse, maxEmbeddingInputs } from "../../protocol/kinds/embedding.ts"
import { all, carried, FieldReader, type FieldRefusal, type FieldTable, present, refused } from "../client/fields.ts"
import type { WholeAsked, WholeClient } from "../client/whole-client.ts"
import { isObject, type JsonObject } from "../parse/json.ts"
import { generateError } from "./client-reply.ts"

const oneFields: FieldTable = {
  ...all(carried, "model", "content", "taskType", "outputDimensionality", "autoTruncate"),
  ...all(refused("no vendor but Gemini knows titles"), "title"),
}

/** Vertex AI has the settings of one text in an object of their own. */
const singleFields: FieldTable = { ...oneFields, embedContentConfig: carried }

const batchFields: FieldTable = all(carried, "requests")

export const purposes: Readonly<Record<string, string>> = {
  RETRIEVAL_QUERY: "query",
  QUESTION_ANSWERING: "query",
  FACT_VERIFICATION: "query",
  CODE_RETRIEVAL_QUERY: "query",
  RETRIEVAL_DOCUMENT: "document",
  SEMANTIC_SIMILARITY: "similarity",
  CLASSIFICATION: "classification",
  CLUSTERING: "clustering",
  TASK_TYPE_UNSPECIFIED: "document",
}

export const geminiErrors = { error: generateError, requestIdHeader: "x-request-id" }

/** The text of a content: its parts, which are texts alone. */
const textOf = (content: unknown, path: string, reader: FieldReader): string => {
  const { parts } = reader.object(content, path)
  return reader
    .list(parts, `${path}.parts`)
    .map((part, at) => reader.string(isObject(part) ? part["text"] : undefined, `${path}.parts.${at}.text`))
    .join("")
}

const readOne = (one: JsonObject, path: string, reader: FieldReader) => {
  const prefix = path === "" ? "" : `${path}.`
  reader.check(oneFields, one, path)
  return {
    text: textOf(one["content"], `${prefix}content`, reader),
    rest: present({
      inputType: reader.word(purposes, one["taskType"], `${prefix}taskType`),
      dimensions: one["outputDimensionality"],
      truncate: one["autoTruncate"],
    }),
  }
}

const metadata = ({ usage }: EmbeddingResponse) => ({ usageMetadata: { promptTokenCount: usage.inTokens } })

const fieldNames = [
  ["dimensions", "outputDimensionality"],
  ["inputType", "taskType"],
  ["truncate", "autoTruncate"],
  ["input", "content"],
] as const

export const embedContent: WholeClient<EmbeddingResponse> = {
  name: "Gemini embedContent",
  errors: geminiErrors,
  fields: singleFields,
  fieldNames,
  decode: ({ embedContentConfig: config, ...body }, model) => {
    const reader = new FieldReader()
    const { text, rest } = readOne({ ...body, ...reader.optionalObject(config, "embedContentConfig") }, "", reader)
    return reader.result({
      omitted: reader.omitted,
      model,
      request: { input: [text], ...rest },
      reply: (response) => ({ embedding: { values: response.vectors[0] ?? [] }, ...metadata(response) }),
    })
  },
}

export const batchEmbedContents: WholeClient<EmbeddingResponse> = {
  name: "Gemini batchEmbedContents",
  errors: geminiErrors,
  fields: batchFields,
  fieldNames,
  decode: (body, model): Result.Result<WholeAsked<EmbeddingResponse>, FieldRefusal> => {
    const reader = new FieldReader()
    reader.check(batchFields, body, "")
    const listed = reader.list(body["requests"], "requests")
    if (listed.length > maxEmbeddingInputs) reader.refuse("requests", `has more than ${maxEmbeddingInputs} elements`)
    const read = listed
      .slice(0, maxEmbeddingInputs)
      .map((one, at) => readOne(reader.object(one, `requests.${at}`), `requests.${at}`, reader))
    const [first] = read
    const wanted = JSON.stringify(first?.rest)
    const other = read.findIndex(({ rest }) => JSON.stringify(rest) !== wanted)
    if (other > 0) reader.refuse(`requests.${other}`, "must ask for the same as the first: only texts may differ")
    return reader.result({
      omitted: reader.omitted,
      model,
      request: { input: read.map(({ text }) => text), ...first?.rest },
      reply: (response) => ({ embeddings: response.vectors.map((values) => ({ values })), ...metadata(response) }),
    })
  },
}
