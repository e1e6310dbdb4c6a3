/** Prices usage: pure, exact, rounded once. */
import { type HostedUses, hostedUnits } from "../protocol/hosted-unit.ts"
import { entryOf } from "../protocol/values/entry.ts"
import { type Amount, parseAmount } from "./amount.ts"
import { atLength, type PriceStep, pricesUpTo } from "./price-steps.ts"

/** Counts to be priced; `inTokens` excludes cache reads and writes. */
export interface Counts {
  readonly inTokens: number
  readonly outTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly dims: Readonly<Record<string, number>>
}

/** Counts of a call that is billed by units alone. */
export const noTokens = { inTokens: 0, outTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 } as const

/** Tokens of the input, cached or not. */
export const inputTokens = ({ inTokens, cacheReadTokens, cacheWriteTokens }: Counts): number =>
  inTokens + cacheReadTokens + cacheWriteTokens

/** Tokens of input and output, as a daily quota counts them. */
export const allTokens = (counts: Counts): number => inputTokens(counts) + counts.outTokens

/** A price list of one model in one currency; amounts per million tokens (or per million units of a dimension). */
export interface Price {
  readonly currency: string
  readonly input: Amount
  readonly output: Amount
  readonly cacheRead?: Amount | undefined
  readonly cacheWrite?: Amount | undefined
  readonly cacheWrite1h?: Amount | undefined
  readonly dims: Readonly<Record<string, Amount>>
  /** Factors of the prices of tokens, by service tier. */
  readonly tiers?: Readonly<Record<string, Amount>> | undefined
  /** The prices of calls with a long input. */
  readonly above?: ReadonlyArray<PriceStep<Price>> | undefined
  /** The share of a charge that a reply from the cache costs, from 0 to 1. */
  readonly cachedReply?: Amount | undefined
  /** The share of a price that a line of a batch costs, from 0 to 1; see `batch-price.ts`. */
  readonly batch?: Amount | undefined
  /** Prices that the list does not state; they are 0 here. */
  readonly lacks?: ReadonlyArray<"input" | "output">
}

export interface Charge {
  readonly cost: Amount
  /** The saving of the cache: reads below the full price, minus the premium of writes; may be negative. */
  readonly cacheNetSaving: Amount
}

const million = 1_000_000n
/** The factor 1, as an amount. */
const one = 10n ** 10n

/** Plausibility limit for a price, in currency units per million. */
export const maxPricePerMillion = 1_000_000

/** The highest factor of a service tier. */
export const maxTierFactor = 100

/** A multiple of an amount; fractions of 10^-10 are rounded. @param factor as an amount */
export const timesFactor = (amount: Amount, factor: Amount): Amount => (amount * factor + one / 2n) / one

/** Whether a price can be charged: non-negative and within {@link maxPricePerMillion}. */
export const isSanePrice = (price: Price): boolean =>
  (price.above ?? []).every((step) => isSanePrice(step.price)) &&
  Object.values(price.tiers ?? {}).every((factor) => factor > 0n && factor <= BigInt(maxTierFactor) * one) &&
  [
    price.input,
    price.output,
    price.cacheRead,
    price.cacheWrite,
    price.cacheWrite1h,
    ...Object.values(price.dims),
  ].every((amount) => amount === undefined || (amount >= 0n && amount <= BigInt(maxPricePerMillion) * one))

/** The dimension of usage with the service tier at which a vendor answered. */
export const tierDimension = (tier: string): string => `tier_${tier}`

/** The prices of a service tier; a price without a factor stays the same. Fractions of 10^-10 are rounded. */
export const atTier = (price: Price, tier: string): Price => {
  const factor = entryOf(price.tiers ?? {}, tier)
  if (factor === undefined) return price
  const above = price.above?.map((step) => ({ ...step, price: atTier(step.price, tier) }))
  return {
    ...withFactor(price, factor, (dimension) => tokenDims.has(dimension)),
    ...(above !== undefined && { above }),
  }
}

/** The prices of tokens, and of the dimensions that have the factor, times it; thresholds stay the same. */
export const withFactor = (price: Price, factor: Amount, hasFactor: (dimension: string) => boolean): Price => {
  const of = (amount: Amount): Amount => timesFactor(amount, factor)
  const optional = (amount: Amount | undefined) => (amount === undefined ? undefined : of(amount))
  const dims = Object.entries(price.dims).map(([name, amount]) => [name, hasFactor(name) ? of(amount) : amount])
  return {
    ...price,
    input: of(price.input),
    output: of(price.output),
    cacheRead: optional(price.cacheRead),
    cacheWrite: optional(price.cacheWrite),
    cacheWrite1h: optional(price.cacheWrite1h),
    dims: Object.fromEntries(dims),
  }
}

/** The prices of these counts: those of the length of their input, times the factor of their service tier. */
const inForce = (list: Price, counts: Counts): Price => {
  const price = atLength(list, inputTokens(counts))
  if (price.tiers === undefined) return price
  const tier = Object.keys(price.tiers).find((name) => counts.dims[tierDimension(name)] !== undefined)
  return tier === undefined ? price : atTier(price, tier)
}

/**
 * Prices counts. A dimension that is part of a total (audio in the input, reasoning in the output) is taken out of that
 * total and billed at its own price, if it has one; {@link units} add; `obs_*` is never billed.
 */
export const priceUsage = (list: Price, counts: Counts): Charge => {
  const price = inForce(list, counts)
  let total = 0n
  let cachedCost = 0n
  let cached = 0n
  eachLine(price, counts, (dimension, count, amount) => {
    const cost = count * amount
    total += cost
    if (!cacheDimensions.has(dimension)) return
    cached += count
    cachedCost += cost
  })
  // The price of the cache's tokens as input, less their actual price.
  return { cost: perMillion(total), cacheNetSaving: perMillion(cached * price.input - cachedCost) }
}

export const sumOfCharges = (charges: ReadonlyArray<Charge>): Charge => ({
  cost: charges.reduce((sum, { cost }) => sum + cost, 0n),
  cacheNetSaving: charges.reduce((sum, { cacheNetSaving }) => sum + cacheNetSaving, 0n),
})

const cacheDimensions: ReadonlySet<string> = new Set([
  "cache_read",
  "cache_read_audio",
  "cache_write",
  "cache_write_1h",
])

/** A line of a bill. */
export interface ChargeLine {
  readonly dimension: string
  readonly count: number
  readonly perMillion: Amount
  readonly cost: Amount
}

/** The lines that {@link priceUsage} adds up; each line is rounded, the charge is rounded once. */
export const chargeLines = (price: Price, counts: Counts): ReadonlyArray<ChargeLine> => {
  const lines: Array<ChargeLine> = []
  eachLine(inForce(price, counts), counts, (dimension, count, amount) => {
    if (count > 0n)
      lines.push({ dimension, count: Number(count), perMillion: amount, cost: perMillion(count * amount) })
  })
  return lines
}

type TakeLine = (dimension: string, count: bigint, perMillion: Amount) => void

/** Gives every dimension of a bill with its count and its price; counts may be 0. */
function eachLine(price: Price, counts: Counts, take: TakeLine): void {
  const { dims } = counts
  const cacheWrite = price.cacheWrite ?? price.input
  const written1h = within(dims["cache_write_1h"], counts.cacheWriteTokens)
  refined(price, { dimension: "input", count: counts.inTokens, base: price.input, parts: inputParts }, dims, take)
  refined(price, { dimension: "output", count: counts.outTokens, base: price.output, parts: outputParts }, dims, take)
  const cacheRead = price.cacheRead ?? price.input
  refined(
    price,
    { dimension: "cache_read", count: counts.cacheReadTokens, base: cacheRead, parts: cachedParts },
    dims,
    take,
  )
  take("cache_write", BigInt(counts.cacheWriteTokens) - written1h, cacheWrite)
  take("cache_write_1h", written1h, price.cacheWrite1h ?? cacheWrite)
  for (const unit of units) {
    const count = dims[unit]
    if (count === undefined) continue
    const parts = Object.keys(dims).filter((name) => name.startsWith(`${unit}:`))
    refined(price, { dimension: unit, count, base: price.dims[unit] ?? 0n, parts }, dims, take)
  }
}

/**
 * Dimensions that are no part of a total: they are counted and added. Audio and video count seconds; tokens of transcripts
 * are those of the model that transcribes the speech of a session. Hours of cached content are its tokens times its hours.
 */
const units = [
  ...hostedUnits,
  "searches",
  "images",
  "characters",
  "audio_seconds",
  "video_seconds",
  "transcript_in",
  "transcript_out",
  "cache_hours",
] as const
export type Unit = (typeof units)[number]

/**
 * The counts of one unit, by the exact names of what was asked for: a price of an exact name, such as
 * `images:1024x1024:high`, wins over that of a less exact one.
 */
export const unitDims = (
  price: Price,
  unit: Unit,
  count: number,
  details: ReadonlyArray<string> = [],
): Readonly<Record<string, number>> => {
  const exact = exactUnit(price, unit, details)
  return { [unit]: count, ...(exact !== undefined && exact !== unit && { [exact]: count }) }
}

/** The most exact name of a unit that has a price; undefined if none has. */
export const exactUnit = (price: Price, unit: Unit, details: ReadonlyArray<string>): string | undefined => {
  for (let known = details.length; known >= 0; known--) {
    const name = [unit, ...details.slice(0, known)].join(":")
    if (price.dims[name] !== undefined) return name
  }
  return undefined
}

/** Whether a unit has a price, at least by one exact name. */
export const hasUnitPrice = ({ dims }: Price, unit: Unit): boolean =>
  Object.keys(dims).some((name) => name === unit || name.startsWith(`${unit}:`))

const inputParts = ["audio_in", "image_in"] as const
const outputParts = ["reasoning", "audio_out"] as const
const cachedParts = ["cache_read_audio"] as const
/** Dimensions that are tokens. */
const tokenDims: ReadonlySet<string> = new Set([...inputParts, ...outputParts, ...cachedParts])

/**
 * The maximum charge for these tokens: all input at the highest input price, all output at the highest output price, and all
 * uses of hosted tools at that of the dearest.
 * @param mostInTokens the most tokens of input that a vendor may report: it decides which prices may apply
 */
export const maxCharge = (
  list: Price,
  inTokens: number,
  outTokens: number,
  { units, most }: Pick<HostedUses, "units" | "most"> = noUses,
  mostInTokens = inTokens,
): Amount =>
  dearest(
    pricesUpTo(list, mostInTokens).map((price) =>
      perMillion(
        BigInt(inTokens) * dearestInput(price) +
          BigInt(outTokens) * dearest([price.output, price.dims["reasoning"], price.dims["audio_out"]]) +
          BigInt(most) * dearest(units.map((unit) => price.dims[unit])),
      ),
    ),
  )

const noUses: Pick<HostedUses, "units" | "most"> = { units: [], most: 0 }

const dearestInput = ({ input, cacheRead, cacheWrite, cacheWrite1h, dims }: Price): Amount =>
  dearest([input, cacheRead, cacheWrite, cacheWrite1h, ...[...inputParts, ...cachedParts].map((part) => dims[part])])

/** The cost of these units, by the names of {@link unitDims}. */
export const unitCharge = (price: Price, dims: Readonly<Record<string, number>>): Amount =>
  priceUsage(price, { ...noTokens, dims }).cost

/** The highest cost of these searches. */
export const searchCharge = (price: Price, searches: number): Amount =>
  perMillion(BigInt(searches) * (price.dims["searches"] ?? 0n))

const dearest = (amounts: ReadonlyArray<Amount | undefined>): Amount =>
  amounts.reduce<Amount>((most, amount) => (amount !== undefined && amount > most ? amount : most), 0n)

interface Total {
  readonly dimension: string
  readonly count: number
  readonly base: Amount
  /** Dimensions that are taken out of it where they have a price of their own. */
  readonly parts: ReadonlyArray<string>
}

function refined(
  price: Price,
  { dimension, count, base, parts }: Total,
  dims: Readonly<Record<string, number>>,
  take: TakeLine,
): void {
  let rest = count
  for (const part of parts) {
    const amount = price.dims[part]
    if (amount === undefined) continue
    const taken = within(dims[part], rest)
    take(part, taken, amount)
    rest -= Number(taken)
  }
  take(dimension, BigInt(rest), base)
}

/** A part never exceeds its total, even if a vendor reports so. */
const within = (part: number | undefined, whole: number): bigint => BigInt(Math.min(part ?? 0, whole))

/** Divides by a million, half away from zero. */
const perMillion = (amount: bigint): Amount => (amount >= 0n ? amount + million / 2n : amount - million / 2n) / million

/** The prices of tokens, as a catalogue states them. */
interface PriceTexts {
  readonly input?: string | undefined
  readonly output?: string | undefined
  readonly cacheRead?: string | undefined
  readonly cacheWrite?: string | undefined
  readonly cacheWrite1h?: string | undefined
  readonly dims?: Readonly<Record<string, string | undefined>> | undefined
  readonly tiers?: Readonly<Record<string, string | undefined>> | undefined
}

interface PriceText extends PriceTexts {
  readonly currency: string
  readonly cachedReply?: string | undefined
  readonly batch?: string | undefined
  readonly above?: ReadonlyArray<PriceTexts & { readonly tokens: number }> | undefined
}

/** Parses the prices of a catalogue entry; undefined if one is not a decimal. */
export const readPrice = (entry: PriceText): Price | undefined => {
  const optional = (text: string | undefined) => (text === undefined ? undefined : parseAmount(text))
  const input = parseAmount(entry.input ?? "0")
  const output = parseAmount(entry.output ?? "0")
  const lacks = (["input", "output"] as const).filter((side) => entry[side] === undefined)
  if (input === undefined || output === undefined) return undefined
  const dims = readAmounts(entry.dims ?? {})
  const tiers = entry.tiers === undefined ? undefined : readAmounts(entry.tiers)
  if (dims === undefined || (entry.tiers !== undefined && tiers === undefined)) return undefined
  const above = readSteps(entry)
  if (entry.above !== undefined && above === undefined) return undefined
  return {
    currency: entry.currency,
    input,
    output,
    cacheRead: optional(entry.cacheRead),
    cacheWrite: optional(entry.cacheWrite),
    cacheWrite1h: optional(entry.cacheWrite1h),
    dims,
    ...(tiers !== undefined && { tiers }),
    ...(above !== undefined && { above }),
    ...(entry.cachedReply !== undefined && { cachedReply: parseAmount(entry.cachedReply) }),
    ...(entry.batch !== undefined && { batch: parseAmount(entry.batch) }),
    ...(lacks.length > 0 && { lacks }),
  }
}

const readSteps = ({ above, ...below }: PriceText): Price["above"] => {
  if (above === undefined) return undefined
  const steps: Array<PriceStep<Price>> = []
  let texts: PriceText = below
  for (const { tokens, ...stated } of above) {
    texts = {
      ...texts,
      ...stated,
      dims: { ...texts.dims, ...stated.dims },
      ...((texts.tiers ?? stated.tiers) !== undefined && { tiers: { ...texts.tiers, ...stated.tiers } }),
    }
    const price = readPrice(texts)
    if (price === undefined) return undefined
    steps.push({ tokens, price })
  }
  return steps
}

const readAmounts = (
  texts: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, Amount>> | undefined => {
  const amounts: Record<string, Amount> = {}
  for (const [name, text] of Object.entries(texts)) {
    if (text === undefined) continue
    const amount = parseAmount(text)
    if (amount === undefined) return undefined
    amounts[name] = amount
  }
  return amounts
}
