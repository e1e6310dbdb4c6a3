/** The counts of one response of a realtime session, from the sums that its vendor reports. Pure. */
import type { ResponseUsage } from "./realtime-dialect.ts"

/** Tokens as a vendor reports them: the parts of a sum may be more than it. */
export interface ReportedSums {
  readonly input: number
  readonly output: number
  /** The part of the input that came from a cache. */
  readonly cached: number
  readonly cachedAudio: number
  readonly cachedImages: number
  /** Parts of the whole input, cached or not. */
  readonly audioIn: number
  readonly imagesIn: number
  readonly audioOut: number
  /** Tokens of thoughts, which are a part of the output. */
  readonly thoughts?: number
}

/** No part is more than its sum, and what came from the cache counts there alone. */
export const realtimeCounts = (sums: ReportedSums): ResponseUsage["counts"] => {
  const { input, output, thoughts = 0 } = sums
  const cached = Math.min(sums.cached, input)
  const cachedAudio = Math.min(sums.cachedAudio, cached)
  const cachedImages = Math.min(sums.cachedImages, cached - cachedAudio)
  const full = input - cached
  const audioIn = Math.min(Math.max(0, sums.audioIn - cachedAudio), full)
  const dims = {
    audio_in: audioIn,
    image_in: Math.min(Math.max(0, sums.imagesIn - cachedImages), full - audioIn),
    cache_read_audio: cachedAudio,
    audio_out: Math.min(sums.audioOut, output),
    reasoning: thoughts,
  }
  return {
    inTokens: full,
    outTokens: output,
    cacheReadTokens: cached,
    cacheWriteTokens: 0,
    dims: Object.fromEntries(Object.entries(dims).filter(([, count]) => count > 0)),
  }
}
