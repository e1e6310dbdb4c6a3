/**
 * The budgets that a call is held against: those of the platform, of the organisation itself, and the daily tokens of its
 * plan.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Plan } from "../../protocol/catalogue/plan.ts"
import type { BudgetState } from "../../protocol/control/budget.ts"
import { utc8 } from "../../protocol/values/utc8.ts"
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
  termsOf,
  unusedOf,
  useOf,
} from "./budget.ts"
import { BudgetDirectory } from "./budget-directory.ts"

/** An organisation, its plan and its own budgets. */
interface Holder {
  readonly org: { readonly id: string; readonly timeZone?: string | undefined }
  readonly plan?: Plan | undefined
  readonly budgets?: BudgetIndex | undefined
}

const zoneOf = ({ org: { timeZone = utc8 } }: Holder): string => timeZone

export class CallBudgets extends Context.Service<
  CallBudgets,
  {
    /** The budgets that cover a call. An end user may see its own only. */
    readonly covering: (holder: Holder, subjects: Subjects, nowMs: number) => ReadonlyArray<CoveringBudget>
    /** All budgets of an organisation with their terms. One that holds for many has a row for each subject that has used it. */
    readonly all: (holder: Holder) => Effect.Effect<ReadonlyArray<BudgetState>, StoreUnavailable>
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
      const eachOf = <Read>(
        { budgets: own }: Holder,
        read: (index: BudgetIndex) => ReadonlyArray<Read>,
      ): ReadonlyArray<Read> => {
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

      const states = (
        orgId: string,
        covering: ReadonlyArray<CoveringBudget>,
        more: (budget: CoveringBudget["budget"]) => Partial<BudgetState> = () => ({}),
      ): Effect.Effect<ReadonlyArray<BudgetState>, StoreUnavailable> => {
        if (covering.length === 0) return Effect.succeed([])
        const counters = covering.flatMap(({ counter, beside = [] }) => [counter, ...beside])
        return Effect.map(ledger.used(orgId, counters), (used) =>
          covering.map((each) => ({ ...stateOf(each, useOf(each, used)), ...more(each.budget) })),
        )
      }

      return CallBudgets.of({
        covering: (holder, subjects, nowMs) => {
          const covering = eachOf(holder, (index) => budgetsOf(index, subjects, nowMs, zoneOf(holder)))
          return withPlan(holder, covering, nowMs, subjects.endUser.length === 0)
        },
        all: Effect.fnUntraced(function* (holder) {
          const nowMs = yield* Clock.currentTimeMillis
          const orgId = holder.org.id
          const used = yield* ledger.budgetCounters(orgId, nowMs)
          const subjects = yield* directory.subjects(orgId)
          const found = eachOf(holder, (index) => budgetsWithin(index, subjects, used, nowMs, zoneOf(holder)))
          const unused = eachOf(holder, (index) => unusedOf(index, found, nowMs, zoneOf(holder)))
          return [...(yield* states(orgId, withPlan(holder, found, nowMs, true), termsOf)), ...unused]
        }),
        states: (orgId, covering) => states(orgId, covering),
      })
    }),
  )
}
