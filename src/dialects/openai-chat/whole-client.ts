/**
 * Embeddings, moderation and reranking towards clients of OpenAI's API.
 * Source: https://platform.openai.com/docs/api-reference/embeddings, /moderations; reranking as Jina, vLLM and Cohere share it
 */
import type { EmbeddingResponse } from "../../protocol/kinds/embedding.ts"
import type { ModerationResponse } from "../../protocol/kinds/moderation.ts"
import type { RerankResponse } from "../../protocol/kinds/rerank.ts"
import {
  all,
  carried,
  FieldReader,
  type FieldTable,
  isAbsent,
  present,
  refused,
  withoutEffect,
} from "../client/fields.ts"
import type { ErrorWords, WholeClient } from "../client/whole-client.ts"
import { isObject } from "../parse/json.ts"
import { imageBlockOf } from "../vendor/pictures.ts"
import { chatError } from "./client-reply.ts"
import { tokensToText } from "./token-input.ts"

export const openaiErrors: ErrorWords = { error: chatError, requestIdHeader: "x-request-id" }

const embeddingFields: FieldTable = {
  ...all(carried, "model", "input", "dimensions", "encoding_format", "input_type", "truncate"),
  ...all(withoutEffect("it labels a request for its vendor"), "user"),
}

/** Purposes of vectors by the names of NVIDIA, Voyage and Cohere, whose clients use this API too. */
const purposes = {
  query: "query",
  search_query: "query",
  document: "document",
  passage: "document",
  search_document: "document",
  similarity: "similarity",
  classification: "classification",
  clustering: "clustering",
}

const truncations = { NONE: false, END: true }

export const openaiEmbeddings: WholeClient<EmbeddingResponse> = {
  name: "OpenAI embeddings",
  errors: openaiErrors,
  fields: embeddingFields,
  fieldNames: [
    ["encoding", "encoding_format"],
    ["inputType", "input_type"],
  ],
  decode: (body) => {
    const reader = new FieldReader()
    reader.check(embeddingFields, body, "")
    const model = reader.string(body["model"], "model")
    return reader.result({
      omitted: reader.omitted,
      model,
      request: present({
        input: tokensToText(body["input"]),
        dimensions: body["dimensions"],
        encoding: body["encoding_format"],
        inputType: reader.word(purposes, body["input_type"], "input_type"),
        truncate: reader.word(truncations, body["truncate"], "truncate"),
      }),
      reply: ({ vectors, usage }) => ({
        object: "list",
        data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })),
        model,
        usage: { prompt_tokens: usage.inTokens, total_tokens: usage.inTokens },
      }),
    })
  },
}

const moderationFields: FieldTable = all(carried, "model", "input")

/** The model that the API takes if none is named. */
const moderationModel = "omni-moderation-latest"

/** Texts, or the parts of one input. */
const moderated = (input: unknown, reader: FieldReader): unknown => {
  if (!Array.isArray(input)) return typeof input === "string" ? [input] : input
  return input.map((part: unknown, at) => {
    if (!isObject(part)) return part
    if (part["type"] === "text") return part["text"]
    return imageBlockOf(reader.object(part["image_url"], `input.${at}.image_url`)["url"])
  })
}

export const openaiModerations: WholeClient<ModerationResponse> = {
  name: "OpenAI moderations",
  errors: openaiErrors,
  fields: moderationFields,
  fieldNames: [],
  decode: (body) => {
    const reader = new FieldReader()
    reader.check(moderationFields, body, "")
    const model = isAbsent(body["model"]) ? moderationModel : reader.string(body["model"], "model")
    return reader.result({
      omitted: reader.omitted,
      model,
      request: present({ input: moderated(body["input"], reader) }),
      reply: ({ requestId, results }) => ({
        id: requestId.replace(/^req_/, "modr-"),
        model,
        results: results.map(({ flagged, categories, scores, inputTypes }) => ({
          flagged,
          categories,
          category_scores: scores,
          ...(inputTypes !== undefined && { category_applied_input_types: inputTypes }),
        })),
      }),
    })
  },
}

const rerankFields: FieldTable = {
  ...all(carried, "model", "query", "documents", "top_n", "return_documents", "max_tokens_per_doc"),
  ...all(withoutEffect("it labels a request for its vendor"), "user"),
  ...all(refused("documents are texts"), "rank_fields"),
}

/** Documents are texts, or objects whose text is ranked. */
const textsOf = (documents: unknown): unknown =>
  Array.isArray(documents)
    ? documents.map((each: unknown) => (isObject(each) && typeof each["text"] === "string" ? each["text"] : each))
    : documents

export const sharedRerankClient: WholeClient<RerankResponse> = {
  name: "rerank",
  errors: openaiErrors,
  fields: rerankFields,
  fieldNames: [
    ["topN", "top_n"],
    ["maxTokensPerDocument", "max_tokens_per_doc"],
  ],
  decode: (body) => {
    const reader = new FieldReader()
    reader.check(rerankFields, body, "")
    const model = reader.string(body["model"], "model")
    const { documents } = body
    const told = body["return_documents"] === true && Array.isArray(documents) ? documents : undefined
    return reader.result({
      omitted: reader.omitted,
      model,
      request: present({
        query: body["query"],
        documents: textsOf(documents),
        topN: body["top_n"],
        maxTokensPerDocument: body["max_tokens_per_doc"],
      }),
      reply: ({ requestId, results, usage }) => ({
        id: requestId,
        object: "rerank",
        model,
        results: results.map(({ index, score }) => ({
          index,
          relevance_score: score,
          ...(told !== undefined && { document: isObject(told[index]) ? told[index] : { text: told[index] } }),
        })),
        usage: { prompt_tokens: usage.inTokens, total_tokens: usage.inTokens },
        meta: { billed_units: { search_units: usage.dims?.["searches"] ?? 0 } },
      }),
    })
  },
}
