/** The gateway's own count of an exchange. */
import { Effect } from "effect"
import type { Tokenizer } from "../../calls/tokens/tokenizer.ts"
import { tokensOfBytes } from "../../calls/tokens/tokens.ts"
import type { Estimated } from "./bill.ts"
import type { Prompt } from "./prompt.ts"
import type { UsageMeter } from "./usage-meter.ts"

/** Tokens of an exchange: of its prompt, and of the answer received so far. */
export const countExchange = Effect.fnUntraced(function* (
  tokenizer: Tokenizer["Service"],
  prompt: Prompt,
  seen: UsageMeter,
): Effect.fn.Return<Estimated> {
  const { text, tokens } = yield* prompt.parts
  const kept = seen.keptText()
  const promptTokens = tokens + (yield* tokenizer.count(text))
  const outTokens = (yield* tokenizer.count(kept)) + tokensOfBytes(seen.outputBytes - Buffer.byteLength(kept))
  return { promptTokens, outTokens }
})
