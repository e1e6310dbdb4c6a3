/**
 * Prices of service tiers in a price file: fields that end in `_priority` or `_flex`. Weir's prices have one factor for all
 * tokens of a tier, and perhaps another one above a threshold.
 */
import type { JsonObject } from "../dialects/parse/json.ts"
import { type Amount, formatAmount } from "../money/amount.ts"
import { maxTierFactor } from "../money/pricing.ts"
import { type AmountAt, type LengthPrice, labelledThresholds, statedPrices, type TokenPrices } from "./length-prices.ts"

export const tiersInFile = ["priority", "flex"] as const

/** Factors by service tier. */
export type TierFactors = Readonly<Record<string, Amount>>

export interface TierPrices {
  readonly base: TierFactors
  /** Factors above a threshold that differ from those of the base, by the threshold's tokens. */
  readonly above: ReadonlyMap<number, TierFactors>
  /** Tiers whose tokens have more than one factor; the highest of input and output is taken. */
  readonly uneven: ReadonlyArray<string>
}

const one = 10n ** 10n

export const tierPricesOf = (
  entry: JsonObject,
  amountAt: AmountAt,
  prices: { readonly base: TokenPrices; readonly above: ReadonlyArray<LengthPrice> },
): TierPrices => {
  const base: Record<string, Amount> = {}
  const above = new Map<number, Record<string, Amount>>()
  const uneven: Array<string> = []
  const thresholds = labelledThresholds(entry)
  for (const tier of tiersInFile) {
    const factorOf = (usual: TokenPrices, ending: string): Amount | undefined => {
      const stated = statedPrices((field) => amountAt(`${field}${ending}_${tier}`, entry))
      const factor = highest([timesOf(stated.input, usual.input), timesOf(stated.output, usual.output)])
      if (factor !== undefined && timesAll(stated, usual).some((each) => each !== factor)) uneven.push(tier)
      return factor
    }
    const factor = factorOf(prices.base, "")
    if (factor === undefined) continue
    base[tier] = factor
    for (const { tokens, label } of thresholds) {
      const step = prices.above.find((each) => each.tokens === tokens)
      const own = step && factorOf(step, `_above_${label}_tokens`)
      if (own !== undefined && own !== factor) above.set(tokens, { ...above.get(tokens), [tier]: own })
    }
  }
  return { base, above, uneven: [...new Set(uneven)] }
}

/**
 * The ratio of a tier's price to the usual one, rounded up; undefined if there is none, or none that a catalogue can
 * have.
 */
const timesOf = (tiered: Amount | undefined, usual: Amount | undefined): Amount | undefined => {
  if (tiered === undefined || tiered <= 0n || usual === undefined || usual <= 0n) return undefined
  const factor = (tiered * one + usual - 1n) / usual
  return factor <= BigInt(maxTierFactor) * one ? factor : undefined
}

/** The ratios of all prices of a tier to the usual ones. */
const timesAll = (tiered: TokenPrices, usual: TokenPrices): ReadonlyArray<Amount> => {
  const usuals = new Map(amountsOf(usual))
  return amountsOf(tiered).flatMap(([name, amount]) => timesOf(amount, usuals.get(name)) ?? [])
}

const amountsOf = ({ input, output, cacheRead, cacheWrite, cacheWrite1h, dims }: TokenPrices) =>
  Object.entries({ ...dims, input, output, cacheRead, cacheWrite, cacheWrite1h })

const highest = (factors: ReadonlyArray<Amount | undefined>): Amount | undefined =>
  factors.reduce((most, each) => (most === undefined || (each ?? 0n) > most ? each : most), undefined)

/** Factors in the form of a catalogue: a markup of the prices is also one of the tiers'. */
export const tierEntry = (tiers: TierFactors = {}): { readonly tiers?: Readonly<Record<string, string>> } =>
  Object.keys(tiers).length === 0
    ? {}
    : { tiers: Object.fromEntries(Object.entries(tiers).map(([tier, factor]) => [tier, formatAmount(factor)])) }
