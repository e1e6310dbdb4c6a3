/**
 * Headers with the rates of a client: as OpenAI writes them, and as Anthropic does. Pure. Sources: "Rate limits" of both vendors'
 * documentation.
 */

/** The tightest rate of a unit. */
export interface RateRoom {
  readonly unit: "requests" | "tokens"
  readonly limit: number
  readonly remaining: number
  /** The time until all of it is free again, if nothing more is asked for. */
  readonly resetMs: number
}

export type LimitHeaders = (rooms: ReadonlyArray<RateRoom>, nowMs: number) => Readonly<Record<string, string>>

export const openaiLimits: LimitHeaders = (rooms) =>
  Object.fromEntries(
    rooms.flatMap(({ unit, limit, remaining, resetMs }) => [
      [`x-ratelimit-limit-${unit}`, String(limit)],
      [`x-ratelimit-remaining-${unit}`, String(remaining)],
      [`x-ratelimit-reset-${unit}`, shortDuration(resetMs)],
    ]),
  )

export const anthropicLimits: LimitHeaders = (rooms, nowMs) =>
  Object.fromEntries(
    rooms.flatMap(({ unit, limit, remaining, resetMs }) => [
      [`anthropic-ratelimit-${unit}-limit`, String(limit)],
      [`anthropic-ratelimit-${unit}-remaining`, String(remaining)],
      [`anthropic-ratelimit-${unit}-reset`, `${new Date(nowMs + resetMs).toISOString().slice(0, 19)}Z`],
    ]),
  )

/** A duration such as `17ms`, `1.5s` or `6m0s`. */
const shortDuration = (ms: number): string => {
  if (ms < 1000) return `${Math.ceil(ms)}ms`
  const seconds = Math.ceil(ms / 100) / 10
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  const rest = `${minutes % 60}m${Math.floor(seconds % 60)}s`
  return minutes < 60 ? rest : `${Math.floor(minutes / 60)}h${rest}`
}
