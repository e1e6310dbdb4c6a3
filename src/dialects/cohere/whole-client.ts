/**
 * Embeddings and reranking towards clients of Cohere's API, v2 and the v1 that some clients still use.
 * Source: https://docs.cohere.com/reference/embed, /reference/rerank, /v1/reference/embed
 */
import type { EmbeddingResponse } from "../../protocol/kinds/embedding.ts"
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

export const cohereErrors: ErrorWords = {
  error: ({ code, message, requestId, detail }) => ({
    id: requestId,
    message,
    code,
    ...(detail !== undefined && { detail }),
  }),
  requestIdHeader: "x-request-id",
}

const embedFields: FieldTable = {
  ...all(carried, "model", "texts", "input_type", "embedding_types", "output_dimension", "truncate"),
  ...all(withoutEffect("requests have one priority"), "priority"),
  ...all(refused("texts are embedded"), "images", "inputs"),
  ...all(refused("a text is cut at the model's own limit"), "max_tokens"),
}

const purposes = {
  search_query: "query",
  search_document: "document",
  classification: "classification",
  clustering: "clustering",
}

/** Whether a text that is too long is cut: at its end, unless the client says otherwise. */
const truncations = { NONE: false, END: true }

const apiVersion = (version: 1 | 2) => ({ version: String(version) })

/** @param version 1 gives vectors without their type, where the client names none */
const embedClient = (version: 1 | 2): WholeClient<EmbeddingResponse> => ({
  name: `Cohere embed v${version}`,
  errors: cohereErrors,
  fields: embedFields,
  fieldNames: [
    ["input", "texts"],
    ["dimensions", "output_dimension"],
    ["inputType", "input_type"],
  ],
  decode: (body) => {
    const reader = new FieldReader()
    reader.check(embedFields, body, "")
    const model = reader.string(body["model"], "model")
    const types = isAbsent(body["embedding_types"])
      ? ["float"]
      : reader.list(body["embedding_types"], "embedding_types")
    const [type] = types
    if (types.length !== 1 || (type !== "float" && type !== "base64")) {
      reader.refuse("embedding_types", 'must be ["float"] or ["base64"]')
    }
    const texts = body["texts"]
    return reader.result({
      omitted: reader.omitted,
      model,
      request: present({
        input: texts,
        inputType: reader.word(purposes, body["input_type"], "input_type"),
        dimensions: body["output_dimension"],
        truncate: reader.word(truncations, body["truncate"] ?? "END", "truncate"),
        encoding: type,
      }),
      reply: ({ requestId, vectors, usage }) => ({
        id: requestId,
        ...(version === 1 && isAbsent(body["embedding_types"])
          ? { response_type: "embeddings_floats", embeddings: vectors }
          : { response_type: "embeddings_by_type", embeddings: { [String(type)]: vectors } }),
        texts,
        meta: { api_version: apiVersion(version), billed_units: { input_tokens: usage.inTokens } },
      }),
    })
  },
})

export const cohereEmbed = embedClient(2)
export const cohereEmbedV1 = embedClient(1)

const rerankFields: FieldTable = {
  ...all(carried, "model", "query", "documents", "top_n", "max_tokens_per_doc", "return_documents"),
  ...all(withoutEffect("requests have one priority"), "priority"),
}

const rerankV1Fields: FieldTable = {
  ...all(carried, "model", "query", "documents", "top_n", "rank_fields", "return_documents"),
  max_chunks_per_doc: withoutEffect("the vendor cuts long documents itself"),
}

/** The texts of documents, which may be objects: the named members of each, one in a line. */
const textsOf = (reader: FieldReader, documents: unknown, names: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  reader.list(documents, "documents").map((document, index) => {
    if (typeof document === "string") return document
    const object = reader.object(document, `documents.${index}`)
    const values = names.map((name) => (typeof name === "string" ? object[name] : undefined))
    const said = values.filter((value) => !isAbsent(value))
    if (said.length === 0) reader.refuse(`documents.${index}`, `must have ${names.join(" or ")}`)
    return said.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join("\n")
  })

/** @param version documents of version 1 may be objects, of which `rank_fields` names the members that count */
const rerankClient = (version: 1 | 2): WholeClient<RerankResponse> => ({
  name: version === 1 ? "Cohere rerank v1" : "Cohere rerank",
  errors: cohereErrors,
  fields: version === 1 ? rerankV1Fields : rerankFields,
  fieldNames: [
    ["topN", "top_n"],
    ["maxTokensPerDocument", "max_tokens_per_doc"],
  ],
  decode: (body) => {
    const reader = new FieldReader()
    reader.check(version === 1 ? rerankV1Fields : rerankFields, body, "")
    const model = reader.string(body["model"], "model")
    const { documents } = body
    const names = isAbsent(body["rank_fields"]) ? ["text"] : reader.list(body["rank_fields"], "rank_fields")
    const told = body["return_documents"] === true && Array.isArray(documents) ? documents : undefined
    return reader.result({
      omitted: reader.omitted,
      model,
      request: present({
        query: body["query"],
        documents: version === 1 ? textsOf(reader, documents, names) : documents,
        topN: body["top_n"],
        maxTokensPerDocument: body["max_tokens_per_doc"],
      }),
      reply: ({ requestId, results, usage }) => ({
        id: requestId,
        results: results.map(({ index, score }) => ({
          index,
          relevance_score: score,
          ...(told !== undefined && { document: shownOf(told[index]) }),
        })),
        meta: {
          api_version: apiVersion(version),
          billed_units: { search_units: usage.dims?.["searches"] ?? 0 },
        },
      }),
    })
  },
})

const shownOf = (document: unknown): unknown => (typeof document === "string" ? { text: document } : document)

export const cohereRerankClient = rerankClient(2)
export const cohereRerankV1 = rerankClient(1)
