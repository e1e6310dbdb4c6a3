/** The four timeout tiers of an upstream call. Source: interface.md "Limits", decisions "Timeout tiers". */
import { Effect } from "effect"
import { Tier, type TimeoutTiers } from "../protocol/catalogue.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { Watched } from "./watch.ts"

/**
 * connect: to a connection. ttfb: from there to the first frame (streaming) or the whole body (not streaming).
 * idle: between signs of life of the vendor. total: the whole conversation with vendors, for safety.
 */
export type { Tier }

export const tiers: ReadonlyArray<Tier> = Tier.literals

/** The name of a tier's time among a usage record's dimensions; `obs_*` are never billed. */
export const dimensionOf = (tier: Tier): string => `obs_${tier}_ms`

/** Milliseconds of each tier. */
export type Timeouts = Readonly<Record<Tier, number>>

export const defaultTimeouts: Timeouts = { connect: 10_000, ttfb: 120_000, idle: 90_000, total: 3_600_000 }

type Layer = { readonly [tier in Tier]?: number | undefined } | undefined

/** Each layer overrides the ones before it: defaults, the environment's profile, variables, the vendor, the model. */
export const resolveTimeouts = (layers: {
  readonly profile: TimeoutTiers
  readonly variables: Layer
  readonly vendor: Layer
  readonly model: Layer
}): Timeouts => {
  const pick = (tier: Tier): number =>
    layers.model?.[tier] ??
    layers.vendor?.[tier] ??
    layers.variables?.[tier] ??
    layers.profile[tier] ??
    defaultTimeouts[tier]
  return { connect: pick("connect"), ttfb: pick("ttfb"), idle: pick("idle"), total: pick("total") }
}

export type TierTimeout = ServiceError<`upstream_${Tier}_timeout`>

export const tierTimeout = (tier: Tier, timeoutMs: number): TierTimeout =>
  serviceError(`upstream_${tier}_timeout`, `The upstream did not keep the ${tier} timeout`, {
    detail: { tier, timeoutMs },
  })

/** The tier that an error tells of, where it is one's. */
export const tierOf = (error: object): Tier | undefined =>
  tiers.find((tier) => "code" in error && error.code === `upstream_${tier}_timeout`)

/** The total tier of a conversation, for its watch. */
export const totalClock = (beganMs: number, limitMs: number): Watched<TierTimeout> => ({
  sinceMs: () => beganMs,
  limitMs,
  late: () => tierTimeout("total", limitMs),
})

/** Fails with the tier's own error when the effect takes longer than the tier allows. */
export const withinTier =
  (tier: Tier, timeouts: Timeouts) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | TierTimeout, R> =>
    Effect.timeoutOrElse(effect, {
      duration: timeouts[tier],
      orElse: () => Effect.fail(tierTimeout(tier, timeouts[tier])),
    })
