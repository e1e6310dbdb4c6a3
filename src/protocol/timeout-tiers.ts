/** The four timeout tiers of an upstream call and their configured values. Pure. */
/**
 * connect: until the connection is established. ttfb: from there to the first frame (streaming) or the whole body (not
 * streaming). idle: between two reads from the vendor. total: all upstream calls of the exchange together.
 */
export const tiers = ["connect", "ttfb", "idle", "total"] as const
export type Tier = (typeof tiers)[number]

/** The dimension of a usage record that has a tier's time; `obs_*` are never billed. */
export const dimensionOf = (tier: Tier): string => `obs_${tier}_ms`

/** The error code of a call that a tier ended. */
export const timeoutCodeOf = (tier: Tier): `upstream_${Tier}_timeout` => `upstream_${tier}_timeout`

/** The tier of an error code; undefined for other codes. */
export const tierOfCode = (code: string): Tier | undefined => tiers.find((tier) => code === timeoutCodeOf(tier))

/** Milliseconds of each tier. */
export type Timeouts = Readonly<Record<Tier, number>>

export const defaultTimeouts: Timeouts = { connect: 10_000, ttfb: 120_000, idle: 90_000, total: 3_600_000 }

/** The tiers that one setting has; the others are set elsewhere. */
export type TierValues = { readonly [tier in Tier]?: number | undefined }

/** The settings of the platform, a vendor or a model: tiers for every environment, and tiers of environments by their names. */
export type TimeoutSettings = Readonly<Record<string, number | TierValues>>

export const isTier = (name: string): name is Tier => tiers.some((tier) => tier === name)

/** The environments that settings name. */
export const environmentsOf = (settings: TimeoutSettings = {}): ReadonlyArray<string> =>
  Object.keys(settings).filter((name) => !isTier(name))

/** A timeout in force, and its source. */
export interface TimeoutInForce {
  readonly ms: number
  /**
   * The source: a variable; `model`, `vendor` or `platform`, with `.` and the environment if it is of that only; or
   * `default`.
   */
  readonly source: string
  /** The timeout of the catalogue that a variable overrides. */
  readonly beaten?: Omit<TimeoutInForce, "beaten">
}

/** The variable that overrides the catalogue. */
export const variableOf = (tier: Tier): string => `SVC_UPSTREAM_${tier.toUpperCase()}_TIMEOUT_MS`

interface Layers {
  readonly environment: string
  readonly variables: TierValues
  readonly model: TimeoutSettings | undefined
  readonly vendor: TimeoutSettings | undefined
  readonly platform: TimeoutSettings | undefined
}

/**
 * The first setting that exists: of the model, the vendor, the platform, each first for the environment and then for all;
 * then the default. A variable overrides all of them, for an emergency.
 */
export const resolveTimeout = (tier: Tier, layers: Layers): TimeoutInForce => {
  const declared = inCatalogue(tier, layers)
  const ms = layers.variables[tier]
  if (ms === undefined) return declared
  return { ms, source: variableOf(tier), ...(declared.source !== "default" && { beaten: declared }) }
}

const inCatalogue = (tier: Tier, { environment, ...layers }: Layers): TimeoutInForce => {
  for (const place of ["model", "vendor", "platform"] as const) {
    const settings = layers[place]
    const own = isTier(environment) ? undefined : settings?.[environment]
    const ofEnvironment = typeof own === "object" ? own[tier] : undefined
    if (ofEnvironment !== undefined) return { ms: ofEnvironment, source: `${place}.${environment}` }
    const plain = settings?.[tier]
    if (typeof plain === "number") return { ms: plain, source: place }
  }
  return { ms: defaultTimeouts[tier], source: "default" }
}

/** {@link resolveTimeout} of each tier. */
export const resolveTimeouts = (layers: Layers): Readonly<Record<Tier, TimeoutInForce>> => ({
  connect: resolveTimeout("connect", layers),
  ttfb: resolveTimeout("ttfb", layers),
  idle: resolveTimeout("idle", layers),
  total: resolveTimeout("total", layers),
})

/** The times without their sources. */
export const millisOfTiers = ({ connect, ttfb, idle, total }: ReturnType<typeof resolveTimeouts>): Timeouts => ({
  connect: connect.ms,
  ttfb: ttfb.ms,
  idle: idle.ms,
  total: total.ms,
})
