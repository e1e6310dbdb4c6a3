/** The bill of a call of a route: at most what is held for it. Pure. */
import type { Bill } from "../../calls/settle/bill.ts"
import type { BrokenReason } from "../../calls/settle/outcome.ts"
import type { Amount } from "../../money/amount.ts"
import { noTokens } from "../../money/pricing.ts"
import { costOf, type Passed } from "../../pass-through/route-price.ts"
import type { Route } from "../../pass-through/routes.ts"
import type { ReportedUnits } from "./reported-units.ts"

const one = 10n ** 10n
const million = 1_000_000n

/**
 * A call costs its hold if the vendor should have reported a unit that has a price and did not, or reported what cannot be:
 * the vendor has charged it.
 */
export const passedBill = (
  { prices, hold, usage }: Pick<Route<unknown>, "prices" | "hold" | "usage">,
  passed: Passed,
  units: Pick<ReportedUnits, "isMalformed" | "counts">,
  broken: BrokenReason | undefined,
): { readonly bill: Bill; readonly cost: Amount } => {
  if (prices === undefined) return { bill: { counts: { ...noTokens, dims: { calls: 1 } } }, cost: 0n }
  const isMissing = [...usage.keys()].some((unit) => prices.reported.has(unit) && !units.counts.has(unit))
  const cost = costOf(prices, passed)
  const isImplausible = units.isMalformed || cost > hold
  const reason =
    isMissing || isImplausible
      ? (broken ?? (isMissing && !units.isMalformed ? "upstream_usage_missing" : "upstream_usage_implausible"))
      : broken
  const dims = {
    calls: 1,
    ...(prices.second > 0n && { milliseconds: Math.ceil(passed.milliseconds) }),
    ...(prices.megabyte > 0n && { bytes: passed.bytes }),
    ...reportedDims(passed.reported),
  }
  return {
    bill: { counts: { ...noTokens, dims }, ...(reason !== undefined && { estimatedReason: reason }) },
    cost: isMissing || isImplausible ? hold : cost,
  }
}

/** Whole counts by their units; parts of a unit in millionths, rounded up. */
export const reportedDims = (reported: ReadonlyMap<string, Amount>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...reported].flatMap(([unit, count]) => {
      const isCounted = count % one === 0n
      const number = isCounted ? Number(count / one) : Number((count * million + one - 1n) / one)
      if (!Number.isSafeInteger(number) || number === 0) return []
      return [[isCounted ? unit : `${unit}_millionths`, number]]
    }),
  )
