/** Errors and clocks of the four timeout tiers. */
import { Effect } from "effect"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { type Tier, type Timeouts, tiers } from "../protocol/timeout-tiers.ts"
import type { Watched } from "./watch.ts"

export type TierTimeout = ServiceError<`upstream_${Tier}_timeout`>

export const tierTimeout = (tier: Tier, timeoutMs: number): TierTimeout =>
  serviceError(`upstream_${tier}_timeout`, `The upstream exceeded the ${tier} timeout`, {
    detail: { tier, timeoutMs },
  })

/** The tier of a timeout error; undefined for other errors. */
export const tierOf = (error: object): Tier | undefined =>
  tiers.find((tier) => "code" in error && error.code === `upstream_${tier}_timeout`)

/** The total tier of a conversation, for its watch. */
export const totalClock = (beganMs: number, limitMs: number): Watched<TierTimeout> => ({
  sinceMs: () => beganMs,
  limitMs,
  late: () => tierTimeout("total", limitMs),
})

/** Fails with the tier's error if the effect takes longer than the tier allows. */
export const withinTier =
  (tier: Tier, timeouts: Timeouts) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | TierTimeout, R> =>
    Effect.timeoutOrElse(effect, {
      duration: timeouts[tier],
      orElse: () => Effect.fail(tierTimeout(tier, timeouts[tier])),
    })
