/** Sound in realtime sessions: the length of bytes, and an estimate of their tokens. Pure. */
import { isObject } from "../parse/json.ts"
import type { TokenRates } from "../realtime-dialect.ts"

/** The format with which a session begins: 16 bits, 24,000 times a second. */
export const usualBytesPerSecond = 48_000

/** Source: OpenAI, "Managing Realtime costs". */
export const openaiRates: TokenRates = { inTokensPerSecond: 10, outTokensPerSecond: 20, imageTokens: 1500 }

/**
 * Bytes of a second in a format: of today's API, `{type: "audio/pcm", rate}`, or of the preview, `"pcm16"`.
 *
 * @returns undefined if it is no known format
 */
export const bytesPerSecond = (format: unknown): number | undefined => {
  if (isObject(format)) {
    const { type, rate } = format
    if (type === "audio/pcm") return rate === undefined ? usualBytesPerSecond : isRate(rate) ? rate * 2 : undefined
    return type === "audio/pcmu" || type === "audio/pcma" ? 8000 : undefined
  }
  if (format === "pcm16") return usualBytesPerSecond
  return format === "g711_ulaw" || format === "g711_alaw" ? 8000 : undefined
}

/** Samples of a second of speech: other numbers would make a length of any size from a few bytes. */
const isRate = (rate: unknown): rate is number =>
  typeof rate === "number" && Number.isInteger(rate) && rate >= 8000 && rate <= 48_000

/** The number of bytes in a base64 text. */
export const bytesOfBase64 = (characters: number): number => Math.floor((characters * 3) / 4)
