/** The correction of token rates when a call has ended: an estimate was counted when it was admitted. Pure. */
import type { Counted, RateWindow, TokensUsed } from "../gate.ts"

export const noTokens: TokensUsed = { all: 0, uncached: 0 }

/**
 * The amounts that windows are corrected by: below zero goes back to the part in which it was counted; what was used beyond the
 * estimate counts now.
 */
export const tokensToCorrect = (
  rates: ReadonlyArray<RateWindow>,
  counted: Counted,
  used: TokensUsed,
): ReadonlyArray<{ readonly at: number; readonly amount: number; readonly part: number }> =>
  rates.flatMap(({ unit, amount: estimate = 1, cached }, at) => {
    if (unit !== "tokens") return []
    const amount = (cached === "free" ? used.uncached : used.all) - estimate
    return amount === 0 ? [] : [{ at, amount, part: counted.rates[at]?.part ?? 0 }]
  })
