/** The bill of a call of a tool: at most its hold. Pure. */
import type { Bill } from "../../calls/settle/bill.ts"
import type { BrokenReason } from "../../calls/settle/outcome.ts"
import type { Amount } from "../../money/amount.ts"
import { noTokens } from "../../money/pricing.ts"
import { costOfTool, type ToolPrices } from "../../tools/tool-price.ts"
import { reportedDims } from "../passed/passed-bill.ts"
import type { ReportedUnits } from "../passed/reported-units.ts"

/**
 * - `result`: the tool has run.
 * - `failed`: it has run, and says that it has failed. Units that it does not report are none.
 * - `error`: its server says that it has not run it.
 * - `asks`: its server asks for input first; the result comes with the next call.
 * - `unknown`: the request was sent, and nothing came back: it may have run, and is not sent again.
 */
export type ToolOutcome = "result" | "failed" | "error" | "asks" | "unknown"

export const toolBill = (
  prices: ToolPrices | undefined,
  outcome: ToolOutcome,
  units: Pick<ReportedUnits, "isMalformed" | "counts">,
  broken: BrokenReason | undefined,
): { readonly bill: Bill; readonly cost: Amount } => {
  const counted = {
    ...noTokens,
    dims: { calls: 1, ...((outcome === "result" || outcome === "failed") && reportedDims(units.counts)) },
  }
  if (prices === undefined || outcome === "error" || outcome === "asks") return { bill: { counts: counted }, cost: 0n }
  const cost = costOfTool(prices, units.counts)
  const isMissing = outcome !== "failed" && [...prices.units.keys()].some((unit) => !units.counts.has(unit))
  const isImplausible = units.isMalformed || cost > prices.hold
  const reason =
    outcome === "unknown"
      ? (broken ?? "upstream_disconnected")
      : isImplausible
        ? "upstream_usage_implausible"
        : isMissing
          ? "upstream_usage_missing"
          : undefined
  return {
    bill: { counts: counted, ...(reason !== undefined && { estimatedReason: reason }) },
    cost: isMissing || isImplausible ? prices.hold : cost,
  }
}
