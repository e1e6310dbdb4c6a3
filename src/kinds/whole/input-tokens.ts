/**
 * Tokens of the input of a whole call: the number that is held, the limit of a vendor's report, and the count if the vendor
 * reports none.
 */
import { Effect } from "effect"
import type { Bill } from "../../calls/settle/bill.ts"
import type { Tokenizer } from "../../calls/tokens/tokenizer.ts"
import { tokensOfBytes } from "../../calls/tokens/tokens.ts"
import type { ReportedTokens } from "../../dialects/whole-dialect.ts"
import type { EstimatedReason } from "../../protocol/usage.ts"

/** The tokens that tokenizers add to each text, such as its beginning and its end. */
const tokensPerText = 64
/** The tokens that vendors add to a request. */
const spareTokens = 1024

export interface InputText {
  /** The text that the vendor reads, to count it. */
  readonly text: () => string
  /** The most bytes that the vendor reads, if it reads a part of the text repeatedly. */
  readonly bytes: number
  readonly texts: number
}

export class InputTokens {
  readonly #input: InputText
  readonly #tokenizer: Tokenizer["Service"]
  #counted: number | undefined

  constructor(input: InputText, tokenizer: Tokenizer["Service"]) {
    this.#input = input
    this.#tokenizer = tokenizer
  }

  /** A conservative estimate, before the call. */
  get held(): number {
    return tokensOfBytes(this.#input.bytes) + this.#input.texts
  }

  /** The most that a vendor can have counted: a token takes at least one byte. */
  get #limit(): number {
    const { bytes, texts } = this.#input
    return bytes + texts * tokensPerText + spareTokens
  }

  /** Counts the text if the vendor's report is missing or cannot be true. */
  estimate(parts: ReadonlyArray<ReportedTokens>): Effect.Effect<void> {
    if (this.#doubt(parts) === undefined) return Effect.void
    return Effect.map(this.#tokenizer.count(this.#input.text()), (tokens) => {
      this.#counted = tokens
    })
  }

  bill(parts: ReadonlyArray<ReportedTokens>, dims: Readonly<Record<string, number>> = {}): Bill {
    const estimatedReason = this.#doubt(parts)
    const inTokens = estimatedReason === undefined ? (reported(parts) ?? 0) : (this.#counted ?? this.held)
    return {
      counts: { inTokens, outTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, dims },
      ...(estimatedReason !== undefined && { estimatedReason }),
    }
  }

  implausible(parts: ReadonlyArray<ReportedTokens>): Record<string, unknown> | undefined {
    return this.#doubt(parts) === "upstream_usage_implausible"
      ? { reported: reported(parts), limit: this.#limit }
      : undefined
  }

  /** The reason why a report is not believed. */
  #doubt(parts: ReadonlyArray<ReportedTokens>): EstimatedReason | undefined {
    const tokens = reported(parts)
    if (tokens === undefined || tokens === 0) return "upstream_usage_missing"
    return tokens > this.#limit ? "upstream_usage_implausible" : undefined
  }
}

/** The sum of all parts; undefined if one of them has no report. */
const reported = (parts: ReadonlyArray<ReportedTokens>): number | undefined =>
  parts.reduce<number | undefined>(
    (sum, { inTokens }) => (sum === undefined || inTokens === undefined ? undefined : sum + inTokens),
    0,
  )

export const bytesOf = (texts: ReadonlyArray<string>): number =>
  texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0)
