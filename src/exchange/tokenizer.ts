/**
 * Token counts where a vendor reports none: those of o200k, the tokenizer of OpenAI's current models, and a tenth more,
 * because other vendors cut finer. It is loaded when it is first needed: that takes 140 ms and 70 MB.
 */
import { Effect } from "effect"
import type { ExchangeRequest } from "../protocol/exchange.ts"
import type { Estimated } from "./bill.ts"
import { promptParts, tokensOfBytes } from "./estimate.ts"
import type { Tally } from "./tally.ts"

type Count = (text: string) => number

/** A text is counted in slices: the time of a merge grows with the square of a word, and words may be of any length. */
const sliceChars = 128
/** Other work of the process gets its turn after so many slices, about a millisecond. */
const slicesATurn = 128
/** What is longer is counted by its bytes from there on. */
const maxChars = 256 * 1024

let tokenizer: Count | undefined

const load: Effect.Effect<Count> = Effect.suspend(() => {
  if (tokenizer !== undefined) return Effect.succeed(tokenizer)
  return Effect.promise(async () => {
    const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base")
    // What looks like a control token is text here.
    tokenizer = (text) => countTokens(text, { disallowedSpecial: new Set() })
    return tokenizer
  })
})

/** Tokens of a text. */
export const countTokens = Effect.fnUntraced(function* (text: string): Effect.fn.Return<number> {
  const count = yield* load
  const end = Math.min(text.length, maxChars)
  let tokens = 0
  for (let at = 0, slice = 1; at < end; at += sliceChars, slice++) {
    tokens += count(text.slice(at, Math.min(at + sliceChars, end)))
    if (slice % slicesATurn === 0) yield* Effect.yieldNow
  }
  return tokens + Math.ceil(tokens / 10) + tokensOfBytes(Buffer.byteLength(text.slice(end)))
})

/** Tokens of an exchange: of its prompt, and of the answer as far as it came. */
export const countExchange = Effect.fnUntraced(function* (
  request: ExchangeRequest,
  seen: Tally,
): Effect.fn.Return<Estimated> {
  const { text, tokens } = promptParts(request)
  const kept = seen.keptText()
  const promptTokens = tokens + (yield* countTokens(text))
  const outTokens = (yield* countTokens(kept)) + tokensOfBytes(seen.outputBytes - Buffer.byteLength(kept))
  return { promptTokens, outTokens }
})
