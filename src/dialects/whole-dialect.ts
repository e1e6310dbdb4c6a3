/** Calls whose reply is whole, in a vendor's format: pure translation, like {@link ChatDialect} for chat. */
import type { Result } from "effect"
import type { MediaBody } from "../media/media-file.ts"
import type { EmbeddingRequest } from "../protocol/kinds/embedding.ts"
import type { ModerationRequest, ModerationResult } from "../protocol/kinds/moderation.ts"
import type { RerankRequest, RerankResult } from "../protocol/kinds/rerank.ts"
import type { JsonObject } from "./parse/json.ts"
import type { WrittenVector } from "./parse/written-vector.ts"
import type { VendorFault } from "./vendor/faults.ts"
import type { EncodeRefusal, WireRequest } from "./wire.ts"

/** @typeParam Body of the request: text, or text with files */
export interface WholeDialect<Asked, Got, Body extends string | MediaBody = string> {
  /**
   * @param model the vendor's own name of the model
   * @param family the model as its maker names it
   */
  readonly encode: (asked: Asked, model: string, family: string) => Result.Result<WireRequest<Body>, EncodeRefusal>
  /** The vendor's answer; undefined if it is not in the vendor's format, or does not answer the request. */
  readonly decode: (body: JsonObject, asked: Asked, headers: ReplyHeaders) => Got | undefined
  /** The reason why a reply that was not decoded has nothing, e.g. because of a filter; undefined if it is malformed. */
  readonly faultIn?: (body: JsonObject) => VendorFault | undefined
}

/** Headers of a reply, by lower-case names. */
export type ReplyHeaders = Readonly<Record<string, string>>

/** Usage as the vendor reported it. */
export interface ReportedTokens {
  /** Undefined if it reported none, or no count. */
  readonly inTokens: number | undefined
}

export type EmbeddingAsked = Pick<EmbeddingRequest, "input" | "inputType" | "dimensions" | "truncate" | "encoding">

/** The vector as the vendor sent it: numbers, or base64 of little-endian float32; in a long reply, as the client gets it. */
export type Vector = ReadonlyArray<number> | string | WrittenVector

export interface Embedded extends ReportedTokens {
  /** The vectors in the order of the input. */
  readonly vectors: ReadonlyArray<Vector>
}

export interface EmbeddingDialect extends WholeDialect<EmbeddingAsked, Embedded> {
  /** The number of texts that the vendor takes in one request. */
  readonly maxInputs: (family: string) => number
}

export type RerankAsked = Pick<RerankRequest, "query" | "documents" | "topN" | "maxTokensPerDocument">

export interface Reranked extends ReportedTokens {
  readonly results: ReadonlyArray<RerankResult>
  /** Search units, if the vendor bills these. */
  readonly searches: number | undefined
}

export interface RerankDialect extends WholeDialect<RerankAsked, Reranked> {
  /** The number of documents that the vendor takes in one request. */
  readonly maxDocuments: number
}

export type ModerationAsked = Pick<ModerationRequest, "input">

export interface Moderated extends ReportedTokens {
  readonly results: ReadonlyArray<ModerationResult>
}

export type ModerationDialect = WholeDialect<ModerationAsked, Moderated>

/** A request with a body of JSON. */
export const jsonRequest = (path: string, body: object): WireRequest => ({
  path,
  headers: { accept: "application/json" },
  body: JSON.stringify(body),
})
