/**
 * The budgets that a call is held against: those of the platform, of the organisation itself, and the daily tokens of its
 * plan.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { CatalogueSnapshot, OrgEntry } from "../catalogue/snapshot.ts"
import {
  type BudgetIndex,
  budgetsOf,
  budgetsWithin,
  type CoveringBudget,
  planBudget,
  type Subjects,
  stateOf,
} from "../money/budget.ts"
import { Ledger } from "../money/ledger.ts"
import { OrgBudgets } from "../money/org-budgets.ts"
import type { BudgetState } from "../protocol/budget.ts"
import { BudgetPeriod } from "../protocol/catalogue.ts"
import { periodOf } from "../protocol/utc8.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

/** An organisation and its plan. */
type Holder = Pick<OrgEntry, "org" | "plan">

export class CallBudgets extends Context.Service<
  CallBudgets,
  {
    /** Those that cover a call. An end user may know of its own only. */
    readonly covering: (holder: Holder, subjects: Subjects, nowMs: number) => ReadonlyArray<CoveringBudget>
    /** Those of an organisation: that name it or a subject of it, and those of which something was used. */
    readonly within: (holder: Holder) => Effect.Effect<ReadonlyArray<CoveringBudget>, StoreUnavailable>
    /** What is left of budgets of an organisation, by the books. */
    readonly states: (
      orgId: string,
      covering: ReadonlyArray<CoveringBudget>,
    ) => Effect.Effect<ReadonlyArray<BudgetState>, StoreUnavailable>
  }
>()("weir/admission/CallBudgets") {
  static readonly layer = Layer.effect(
    CallBudgets,
    Effect.gen(function* () {
      const catalogue = yield* Catalogue
      const own = yield* OrgBudgets
      const ledger = yield* Ledger

      /** The platform's budgets, and the organisation's own. */
      const eachOf = (
        orgId: string,
        read: (index: BudgetIndex) => ReadonlyArray<CoveringBudget>,
      ): ReadonlyArray<CoveringBudget> => {
        const ofOrg = own.of(orgId)
        const ofPlatform = read(catalogue.current().budgets)
        return ofOrg === undefined ? ofPlatform : [...ofPlatform, ...read(ofOrg)]
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
          const covering = eachOf(holder.org.id, (index) => budgetsOf(index, subjects, nowMs))
          return withPlan(holder, covering, nowMs, subjects.endUser.length === 0)
        },
        within: Effect.fnUntraced(function* (holder) {
          const nowMs = yield* Clock.currentTimeMillis
          const orgId = holder.org.id
          const starts = BudgetPeriod.literals.map((period) => periodOf(period, nowMs).start)
          const used = yield* ledger.budgetCounters(orgId, starts)
          const subjects = subjectsWithin(catalogue.current(), orgId)
          return withPlan(
            holder,
            eachOf(orgId, (index) => budgetsWithin(index, subjects, used, nowMs)),
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

/** What an organisation has of each scope; people and end users come without the catalogue too. */
const subjectsWithin = ({ document }: CatalogueSnapshot, orgId: string): Subjects => {
  const within = (items: ReadonlyArray<{ readonly id: string; readonly org: string }> = []) =>
    items.filter(({ org }) => org === orgId).map(({ id }) => id)
  const apps = within(document.apps)
  const ofApps = new Set(apps)
  return {
    org: [orgId],
    team: within(document.teams),
    person: within(document.users),
    app: apps,
    key: (document.keys ?? []).filter(({ app }) => ofApps.has(app)).map(({ id }) => id),
    endUser: [],
  }
}
