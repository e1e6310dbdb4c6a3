/**
 * The four timeout tiers of an upstream call and their configured values. Pure. Source: interface.md "Limits",
 * decisions "Timeout tiers".
 */
/**
 * connect: until the connection is established. ttfb: from there to the first frame (streaming) or the whole body (not
 * streaming). idle: between two reads from the vendor. total: all upstream calls of the exchange together.
 */
export const tiers = ["connect", "ttfb", "idle", "total"] as const
export type Tier = (typeof tiers)[number]

/** The dimension of a usage record that tells a tier's time; `obs_*` are never billed. */
export const dimensionOf = (tier: Tier): string => `obs_${tier}_ms`

/** The error code of a call that a tier ended. */
export const timeoutCodeOf = (tier: Tier): `upstream_${Tier}_timeout` => `upstream_${tier}_timeout`

/** The tier of an error code; undefined for other codes. */
export const tierOfCode = (code: string): Tier | undefined => tiers.find((tier) => code === timeoutCodeOf(tier))

/** Milliseconds of each tier. */
export type Timeouts = Readonly<Record<Tier, number>>

export const defaultTimeouts: Timeouts = { connect: 10_000, ttfb: 120_000, idle: 90_000, total: 3_600_000 }

type Layer = { readonly [tier in Tier]?: number | undefined } | undefined

/** Each source overrides the previous ones: defaults, the environment's profile, variables, the vendor, the model. */
export const resolveTimeouts = (layers: {
  readonly profile: NonNullable<Layer>
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
