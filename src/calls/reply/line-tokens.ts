/**
 * The tokens of a settled call of a batch, as a header of its reply: so a reply that is given again has them too. The reply is an
 * answer in a file, and no client gets its headers.
 */
import { Option, Schema } from "effect"
import type { Usage } from "../../protocol/usage.ts"

/** Input has the cached tokens, output those of reasoning. */
export interface LineTokens {
  readonly input: number
  readonly cached: number
  readonly output: number
  readonly reasoning: number
}

export const noTokens: LineTokens = { input: 0, cached: 0, output: 0, reasoning: 0 }

const header = "x-svc-tokens"

const Tokens = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const TokensJson = Schema.fromJsonString(
  Schema.Struct({ input: Tokens, cached: Tokens, output: Tokens, reasoning: Tokens }),
)
const encode = Schema.encodeSync(TokensJson)
const decode = Schema.decodeUnknownOption(TokensJson)

type Counted = Pick<Usage, "inTokens" | "outTokens" | "cacheReadTokens" | "cacheWriteTokens" | "dims">

export const tokensHeader = ({ inTokens, outTokens, cacheReadTokens, cacheWriteTokens, dims = {} }: Counted) => ({
  [header]: encode({
    input: inTokens + cacheReadTokens + cacheWriteTokens,
    cached: cacheReadTokens,
    output: outTokens,
    reasoning: dims["reasoning"] ?? 0,
  }),
})

/** @param headers of a reply to a request of a batch */
export const tokensIn = (headers: Readonly<Record<string, string>>): LineTokens =>
  Option.getOrElse(decode(headers[header]), () => noTokens)
