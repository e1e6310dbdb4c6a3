/** Prices of routes: exact, rounded once. Pure. */
import { type Amount, parseAmount } from "../money/amount.ts"

/** Amounts of one unit of each. */
export interface RoutePrices {
  readonly currency: string
  readonly call: Amount
  readonly second: Amount
  readonly megabyte: Amount
  /** The prices of units that the vendor reports. */
  readonly reported: ReadonlyMap<string, Amount>
}

const ownUnits: ReadonlySet<string> = new Set(["call", "second", "megabyte"])

/** @param price of the form that the catalogue's schema checks; `free` costs nothing in any currency */
export const readRoutePrices = (price: "free" | Readonly<Record<string, string>>): RoutePrices | undefined => {
  if (price === "free") return undefined
  const { currency = "", ...texts } = price
  const amounts = new Map(Object.entries(texts).map(([unit, text]) => [unit, parseAmount(text) ?? 0n]))
  return {
    currency,
    call: amounts.get("call") ?? 0n,
    second: amounts.get("second") ?? 0n,
    megabyte: amounts.get("megabyte") ?? 0n,
    reported: new Map([...amounts].filter(([unit]) => !ownUnits.has(unit))),
  }
}

/** The counts of a call. */
export interface Passed {
  readonly milliseconds: number
  /** The size of the request and of the reply. */
  readonly bytes: number
  /** The counts by unit, as amounts, because a vendor may report parts of a unit. */
  readonly reported: ReadonlyMap<string, Amount>
}

/** The factor of an amount. */
const one = 10n ** 10n
/** The parts into which a unit is divided: thousandths of a second, bytes of a megabyte, parts of a reported count. */
const perSecond = 1000n
const perMegabyte = 1_000_000n

/** The cost of a call, before it is limited to its hold. */
export const costOf = (prices: RoutePrices, { milliseconds, bytes, reported }: Passed): Amount => {
  let total =
    prices.call * one +
    (prices.second * one * BigInt(Math.ceil(milliseconds))) / perSecond +
    (prices.megabyte * one * BigInt(bytes)) / perMegabyte
  for (const [unit, price] of prices.reported) total += price * (reported.get(unit) ?? 0n)
  return (total + one / 2n) / one
}
