/** Budgets that are reset or raised by hand, in their present period. Both are in the audit log before they hold. */
import { Clock, Context, Effect, Layer } from "effect"
import type { BudgetAdjustment, BudgetState } from "../../protocol/control/budget.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { type Actor, AuditLog } from "../../store/audit-log.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { parseAmount } from "../amount.ts"
import { Ledger } from "../ledger.ts"
import { type Budget, type BudgetIndex, coveringBudget, isAmountOf, stateOf, termsOf } from "./budget.ts"
import { BudgetDirectory } from "./budget-directory.ts"

export interface AdjustRequest {
  readonly org: { readonly id: string; readonly timeZone?: string | undefined }
  /** The budgets that the organisation has of its own, and those that were set for it. */
  readonly budgets?: BudgetIndex | undefined
  readonly id: string
  readonly change: BudgetAdjustment
  /** Operators adjust all budgets, others those of the organisation's own. */
  readonly actor: Actor
}

export class BudgetAdjustments extends Context.Service<
  BudgetAdjustments,
  {
    readonly adjust: (
      request: AdjustRequest,
    ) => Effect.Effect<BudgetState, ServiceError<"not_found" | "bad_request"> | StoreUnavailable>
  }
>()("weir/money/BudgetAdjustments") {
  static readonly layer = Layer.effect(
    BudgetAdjustments,
    Effect.gen(function* () {
      const directory = yield* BudgetDirectory
      const ledger = yield* Ledger
      const audit = yield* AuditLog

      const find = ({ budgets: own, id, actor }: AdjustRequest): Budget | undefined => {
        const owned = own?.byName.get(`~${id}`)
        if (actor.type !== "service") return owned
        return own?.byName.get(`^${id}`) ?? directory.platform().byName.get(id) ?? owned
      }

      return BudgetAdjustments.of({
        adjust: Effect.fnUntraced(function* (request) {
          const { org, id, change, actor } = request
          const budget = find(request)
          if (budget === undefined) return yield* serviceError("not_found", "The budget does not exist")
          const subject = budget.subject ?? change.subject ?? (budget.scope === "org" ? org.id : undefined)
          if (subject === undefined || (change.subject ?? subject) !== subject) {
            const message =
              budget.subject === undefined ? `the id of the ${budget.scope} is required` : "is not the budget's"
            return yield* invalidInput([{ path: "subject", message }])
          }
          if (change.raise !== undefined && !isAmountOf(budget.unit, String(change.raise))) {
            return yield* invalidInput([{ path: "raise", message: `is no amount of ${budget.unit}` }])
          }
          const covering = coveringBudget(budget, subject, yield* Clock.currentTimeMillis, org.timeZone)
          if (covering === undefined) return yield* serviceError("not_found", "The budget has no period now")
          const isReset = change.reset === true
          const raised = change.raise === undefined ? undefined : parseAmount(String(change.raise))
          yield* audit.write(
            isReset ? "budget.reset" : "budget.raised",
            actor,
            { budget: id, ...change, subject },
            org.id,
          )
          let use = yield* ledger.adjust(org.id, covering, { isReset, raised })
          // The days before count as well.
          for (const counter of isReset ? (covering.beside ?? []) : []) {
            yield* ledger.adjust(org.id, { counter }, { isReset })
          }
          if (covering.beside !== undefined && !isReset) {
            const before = yield* ledger.used(org.id, covering.beside)
            use = { ...use, used: [...before.values()].reduce((sum, { used }) => sum + used, use.used) }
          }
          return { ...stateOf(covering, use), ...termsOf(budget) }
        }),
      })
    }),
  )
}
