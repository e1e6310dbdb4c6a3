/**
 * Texts that a client sends as tokens of OpenAI's embedding models, as some SDKs do by default. The vocabulary is loaded when
 * the first such request comes. Source: https://platform.openai.com/docs/api-reference/embeddings/create
 */
import { createRequire } from "node:module"

const load = createRequire(import.meta.url)

interface Vocabulary {
  readonly decode: (tokens: ReadonlyArray<number>) => string
}

const isVocabulary = (value: unknown): value is Vocabulary =>
  typeof value === "object" && value !== null && "decode" in value && typeof value.decode === "function"

let vocabulary: Vocabulary | undefined

const decode = (tokens: ReadonlyArray<number>): string | undefined => {
  if (vocabulary === undefined) {
    const loaded: unknown = load("gpt-tokenizer/encoding/cl100k_base")
    if (!isVocabulary(loaded)) return undefined
    vocabulary = loaded
  }
  try {
    return vocabulary.decode(tokens)
  } catch {
    return undefined
  }
}

const isTokens = (value: unknown): value is ReadonlyArray<number> =>
  Array.isArray(value) && value.length > 0 && value.every((each) => Number.isInteger(each) && each >= 0)

/** The text of a list of tokens; undefined if it is none. */
export const textOfTokens = (value: unknown): string | undefined => (isTokens(value) ? decode(value) : undefined)

/** A list of texts, from one text, one list of tokens, or a list of either; any other value is left unchanged. */
export const tokensToText = (input: unknown): unknown => {
  if (typeof input === "string") return [input]
  if (isTokens(input)) return [textOfTokens(input) ?? input]
  return Array.isArray(input) ? input.map((each: unknown) => textOfTokens(each) ?? each) : input
}
