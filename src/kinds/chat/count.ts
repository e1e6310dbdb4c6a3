/** The gateway's own count of an exchange. */
import { Effect } from "effect"
import type { Tokenizer } from "../../calls/tokens/tokenizer.ts"
import { tokensOfBytes } from "../../calls/tokens/tokens.ts"
import type { Estimated } from "./bill.ts"
import type { AddedPrompt, Prompt } from "./prompt.ts"
import { partsOfPrompt } from "./prompt-tokens.ts"
import type { UsageMeter } from "./usage-meter.ts"

/** Tokens of an exchange: of its prompt, and of the answer received so far. */
export const countExchange = Effect.fnUntraced(function* (
  tokenizer: Tokenizer["Service"],
  prompt: Prompt,
  seen: UsageMeter,
  added?: AddedPrompt,
): Effect.fn.Return<Estimated> {
  const own = yield* prompt.parts
  const more = added === undefined ? { text: "", tokens: 0 } : partsOfPrompt(added.thread, added.tools)
  const text = own.text + more.text
  const tokens = own.tokens + more.tokens
  const kept = seen.keptText()
  const promptTokens = tokens + (yield* tokenizer.count(text))
  const outTokens = (yield* tokenizer.count(kept)) + tokensOfBytes(seen.outputBytes - Buffer.byteLength(kept))
  return { promptTokens, outTokens }
})
