/** Sound of Google's Live API. Pure. Source: https://ai.google.dev/gemini-api/docs/live-guide#audio-formats */
import { bytesOfBase64, usualBytesPerSecond } from "../openai-realtime/audio.ts"
import type { TokenRates } from "../realtime-dialect.ts"

/** Source: https://ai.google.dev/gemini-api/docs/tokens, and "Live API pricing" of Vertex AI. */
export const liveRates: TokenRates = { inTokensPerSecond: 25, outTokensPerSecond: 25, imageTokens: 258 }

/** Samples of a second, where a message does not state them. */
const usualRate = { input: 16_000, output: 24_000 }

/**
 * The size that the sound would have in the session's usual format: each message may have a format of its own.
 * @param rate samples of a second, as the message states them
 */
export const soundBytes = (base64: number, rate: string | undefined, side: keyof typeof usualRate): number => {
  const stated = Number(rate ?? usualRate[side])
  const samples = stated >= 8000 && stated <= 48_000 ? stated : usualRate[side]
  return Math.round((bytesOfBase64(base64) * usualBytesPerSecond) / (samples * 2))
}

export const rateOf = (mimeType: string): string | undefined => /;\s*rate=(\d{4,5})/.exec(mimeType)?.[1]
