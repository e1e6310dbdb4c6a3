/**
 * Search units, by which rerankers are billed: a query with up to a hundred documents; a document that is too long for
 * the model counts as several. Source: https://docs.cohere.com/docs/rerank-overview. Pure.
 */
import { tokensOfBytes } from "../../calls/tokens/tokens.ts"
import type { RerankAsked, Reranked } from "../../dialects/whole-dialect.ts"
import type { EstimatedReason } from "../../protocol/usage.ts"

const documentsPerUnit = 100
/** The size of a document and its query, in tokens. */
const tokensPerDocument = 500

/** @param tokensOf the most tokens that a text of so many bytes may have */
const unitsOf = ({ query, documents }: RerankAsked, tokensOf: (bytes: number) => number): number => {
  const queryBytes = Buffer.byteLength(query)
  const pieces = documents.reduce(
    (sum, document) => sum + Math.ceil(tokensOf(queryBytes + Buffer.byteLength(document)) / tokensPerDocument),
    0,
  )
  return Math.ceil(pieces / documentsPerUnit)
}

export class SearchUnits {
  /** The units that are held, and that are billed if the vendor reports none. */
  readonly expected: number
  readonly #asked: RerankAsked

  constructor(asked: RerankAsked) {
    this.#asked = asked
    this.expected = unitsOf(asked, tokensOfBytes)
  }

  /** The units to bill. */
  of(parts: ReadonlyArray<Reranked>): number {
    const units = reported(parts)
    return units === undefined || this.doubt(parts) !== undefined ? this.expected : units
  }

  /** The reason why a report is not believed. A token takes at least one byte. */
  doubt(parts: ReadonlyArray<Reranked>): EstimatedReason | undefined {
    const units = reported(parts)
    if (units === undefined || units === 0) return "upstream_usage_missing"
    return units > unitsOf(this.#asked, (bytes) => bytes + 1) ? "upstream_usage_implausible" : undefined
  }
}

const reported = ([first]: ReadonlyArray<Reranked>): number | undefined => first?.searches
