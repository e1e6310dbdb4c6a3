/** The gateway's own count of an exchange. */
import { Effect } from "effect"
import type { Tokenizer } from "../../calls/tokenizer.ts"
import { tokensOfBytes } from "../../calls/tokens.ts"
import type { ExchangeRequest } from "../../protocol/exchange.ts"
import type { Estimated } from "./bill.ts"
import { promptParts } from "./prompt.ts"
import type { UsageMeter } from "./usage-meter.ts"

/** Tokens of an exchange: of its prompt, and of the answer received so far. */
export const countExchange = Effect.fnUntraced(function* (
  tokenizer: Tokenizer["Service"],
  request: ExchangeRequest,
  seen: UsageMeter,
): Effect.fn.Return<Estimated> {
  const { text, tokens } = promptParts(request)
  const kept = seen.keptText()
  const promptTokens = tokens + (yield* tokenizer.count(text))
  const outTokens = (yield* tokenizer.count(kept)) + tokensOfBytes(seen.outputBytes - Buffer.byteLength(kept))
  return { promptTokens, outTokens }
})
