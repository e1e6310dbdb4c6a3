/** The hold of the most that something can cost, under all budgets that cover its caller: a call, or a response of a session. */
import { Effect } from "effect"
import { budgetSubjects, type Caller } from "../../identity/caller.ts"
import { wholeAmount } from "../../money/amount.ts"
import { type CoveringBudget, needsOf } from "../../money/budgets/budget.ts"
import { batchAccount } from "../../money/counters.ts"
import type { Hold, HoldError, HoldRequest } from "../../money/ledger.ts"
import { dayOf } from "../../protocol/values/utc8.ts"
import type { CallServices } from "../services.ts"

export interface Reservation extends Pick<HoldRequest, "ref" | "requestId" | "currency" | "amount"> {
  readonly caller: Caller
  /** The most tokens, for budgets of tokens. */
  readonly tokens: number
  readonly nowMs: number
}

export interface Reserved {
  readonly hold: Hold
  /** The budgets that cover it. */
  readonly covering: ReadonlyArray<CoveringBudget>
}

export const reserve = (
  { ledger, budgets }: Pick<CallServices, "ledger" | "budgets">,
  { ref, caller, requestId, currency, amount, tokens, nowMs }: Reservation,
): Effect.Effect<Reserved, HoldError> => {
  const covering = budgets.covering(caller, budgetSubjects(caller), nowMs)
  if (caller.batch !== undefined) {
    const { id, day, budgets } = caller.batch
    const facts = { ref, orgId: caller.org.id, currency, keyId: caller.keyId, requestId, amount, day, budgets }
    return Effect.succeed({ hold: { ...facts, node: batchAccount(id), balance: 0n }, covering })
  }
  const held = ledger.hold({
    ref,
    orgId: caller.org.id,
    currency,
    keyId: caller.keyId,
    requestId,
    amount,
    day: dayOf(nowMs),
    budgets: needsOf(covering, { money: amount, tokens: wholeAmount(tokens) }),
  })
  return Effect.map(held, (hold) => ({ hold, covering }))
}
