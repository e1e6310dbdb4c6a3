/**
 * The budgets that a call is held against: those of the platform, of the organisation itself, and the daily tokens of its
 * plan.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Plan } from "../../protocol/catalogue/plan.ts"
import type { BudgetState } from "../../protocol/control/budget.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { Ledger } from "../ledger.ts"
import {
  type BudgetIndex,
  budgetsOf,
  budgetsWithin,
  type CoveringBudget,
  planBudget,
  type Subjects,
  stateOf,
} from "./budget.ts"
import { BudgetDirectory } from "./budget-directory.ts"

/** An organisation, its plan and its own budgets. */
interface Holder {
  readonly org: { readonly id: string }
  readonly plan?: Plan | undefined
  readonly budgets?: BudgetIndex | undefined
}

export class CallBudgets extends Context.Service<
  CallBudgets,
  {
    /** The budgets that cover a call. An end user may see its own only. */
    readonly covering: (holder: Holder, subjects: Subjects, nowMs: number) => ReadonlyArray<CoveringBudget>
    /** The budgets of an organisation: those that name it or a subject of it, and those of which something was used. */
    readonly within: (holder: Holder) => Effect.Effect<ReadonlyArray<CoveringBudget>, StoreUnavailable>
    /** The remaining amounts of an organisation's budgets, by the books. */
    readonly states: (
      orgId: string,
      covering: ReadonlyArray<CoveringBudget>,
    ) => Effect.Effect<ReadonlyArray<BudgetState>, StoreUnavailable>
  }
>()("weir/money/CallBudgets") {
  static readonly layer = Layer.effect(
    CallBudgets,
    Effect.gen(function* () {
      const directory = yield* BudgetDirectory
      const ledger = yield* Ledger

      /** The platform's budgets, and the organisation's own. */
      const eachOf = (
        { budgets: own }: Holder,
        read: (index: BudgetIndex) => ReadonlyArray<CoveringBudget>,
      ): ReadonlyArray<CoveringBudget> => {
        const ofPlatform = read(directory.platform())
        return own === undefined ? ofPlatform : [...ofPlatform, ...read(own)]
      }

      const withPlan = (
        { org, plan }: Holder,
        covering: ReadonlyArray<CoveringBudget>,
        nowMs: number,
        isTold: boolean,
      ): ReadonlyArray<CoveringBudget> => {
        const daily = plan && planBudget(plan, org.id, nowMs, isTold)
        return daily === undefined ? covering : [daily, ...covering]
      }

      return CallBudgets.of({
        covering: (holder, subjects, nowMs) => {
          const covering = eachOf(holder, (index) => budgetsOf(index, subjects, nowMs))
          return withPlan(holder, covering, nowMs, subjects.endUser.length === 0)
        },
        within: Effect.fnUntraced(function* (holder) {
          const nowMs = yield* Clock.currentTimeMillis
          const orgId = holder.org.id
          const used = yield* ledger.budgetCounters(orgId, nowMs)
          const subjects = yield* directory.subjects(orgId)
          return withPlan(
            holder,
            eachOf(holder, (index) => budgetsWithin(index, subjects, used, nowMs)),
            nowMs,
            true,
          )
        }),
        states: (orgId, covering) => {
          if (covering.length === 0) return Effect.succeed([])
          const counters = covering.map(({ counter }) => counter)
          return Effect.map(ledger.used(orgId, counters), (used) =>
            covering.map((budget) => stateOf(budget, used.get(budget.counter) ?? 0n)),
          )
        },
      })
    }),
  )
}
