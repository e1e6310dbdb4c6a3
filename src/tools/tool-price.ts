/** Prices of tools: exact, rounded once. Pure. */
import { type Amount, parseAmount } from "../money/amount.ts"
import { type ReplyPlace, readPlace } from "../pass-through/reply-path.ts"
import type { UsagePlace } from "../pass-through/routes.ts"
import type { ToolPrice } from "../protocol/catalogue/tool-server.ts"

/** Amounts for a million of each. */
export interface ToolPrices {
  readonly currency: string
  readonly calls: Amount
  readonly units: ReadonlyMap<string, { readonly place: ReplyPlace; readonly price: Amount }>
  /** The most that a call costs. */
  readonly hold: Amount
}

const million = 1_000_000n
const one = 10n ** 10n

/** @returns undefined if it is free, in any currency */
export const readToolPrice = (price: ToolPrice | undefined): ToolPrices | undefined => {
  if (price === undefined || price === "free") return undefined
  const calls = parseAmount(price.calls ?? "0") ?? 0n
  const units = Object.entries(price.units ?? {}).map(
    ([unit, { at, price }]) => [unit, { place: readPlace(at), price: parseAmount(price) ?? 0n }] as const,
  )
  const ofCall = rounded(calls * one, one)
  return {
    currency: price.currency,
    calls,
    units: new Map(units),
    hold: price.hold === undefined ? ofCall : (parseAmount(price.hold) ?? ofCall),
  }
}

/** The places of the counts that a result reports. */
export const placesOf = ({ units }: ToolPrices): ReadonlyMap<string, UsagePlace> =>
  new Map([...units].map(([unit, { place }]) => [unit, { place }]))

/** The cost of one call, before it is limited to its hold. @param reported the counts by unit, as amounts */
export const costOfTool = ({ calls, units }: ToolPrices, reported: ReadonlyMap<string, Amount>): Amount => {
  let total = calls * one
  for (const [unit, { price }] of units) total += price * (reported.get(unit) ?? 0n)
  return rounded(total, one)
}

/** A sum of prices of a million as an amount. */
const rounded = (total: bigint, scale: bigint): Amount => (total + (million * scale) / 2n) / (million * scale)
