/** Probabilities of tokens, as OpenAI's APIs write them. Source: https://platform.openai.com/docs/api-reference/chat/object */
import type { TokenLogprob } from "../../protocol/extra-params.ts"
import { type JsonObject, objectsAt, stringAt } from "../parse/json.ts"

type Reckoned = Omit<TokenLogprob, "top">

const reckoned = (one: JsonObject): Reckoned | undefined => {
  const token = stringAt(one, "token")
  const { logprob, bytes } = one
  if (token === undefined || typeof logprob !== "number") return undefined
  const isBytes = Array.isArray(bytes) && bytes.every((byte): byte is number => Number.isInteger(byte))
  return { token, logprob, ...(isBytes ? { bytes } : bytes === null && { bytes }) }
}

/** A list of tokens. */
export const tokensOf = (tokens: ReadonlyArray<JsonObject>): ReadonlyArray<TokenLogprob> | undefined => {
  const read = tokens.flatMap((one) => {
    const known = reckoned(one)
    return known === undefined
      ? []
      : [{ ...known, top: objectsAt(one, "top_logprobs").flatMap((each) => reckoned(each) ?? []) }]
  })
  return read.length === 0 ? undefined : read
}

/** The logprobs of a choice of a chat completion. */
export const logprobsOf = (logprobs: JsonObject | undefined): ReadonlyArray<TokenLogprob> | undefined =>
  logprobs === undefined ? undefined : tokensOf(objectsAt(logprobs, "content"))

/** The logprobs in OpenAI's format. */
export const openaiLogprobs = (tokens: ReadonlyArray<TokenLogprob>) =>
  tokens.map(({ top, ...token }) => ({ ...openaiToken(token), top_logprobs: top.map(openaiToken) }))

const openaiToken = ({ token, logprob, bytes }: Reckoned) => ({
  token,
  logprob,
  bytes: bytes === undefined ? [...Buffer.from(token)] : bytes,
})
