/**
 * Warnings at thresholds of budgets: each once a period, over all nodes and restarts. A node checks the budgets that it has
 * just settled against, and the first node that finds a threshold reached records it.
 */

import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { queryDeadline } from "../../store/database.ts"
import type { Shard } from "../../store/shards/shard.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { recordBudget } from "../../telemetry/metrics.ts"
import { formatAmount } from "../amount.ts"
import { noUse } from "../ledger-store.ts"
import { type Budget, type CoveringBudget, labelOf, type NearBudget, stateOf } from "./budget.ts"
import { type ByKey, makeCharged, type OfOrg } from "./charged.ts"

interface Looked extends OfOrg {
  readonly currency: string
  readonly covering: CoveringBudget
}

export class BudgetWarnings extends Context.Service<
  BudgetWarnings,
  {
    /** These budgets were charged: they are checked within a second. */
    readonly charged: (orgId: string, currency: string, covering: ReadonlyArray<CoveringBudget>) => void
    /**
     * The warnings that this node has found for these budgets and that no caller has got, as far as the caller may see them.
     * Each is returned once.
     */
    readonly take: (orgId: string, covering: ReadonlyArray<CoveringBudget>) => ReadonlyArray<NearBudget>
    /** Checks now. */
    readonly look: Effect.Effect<void, StoreUnavailable>
  }
>()("weir/money/BudgetWarnings") {
  static readonly layer = Layer.effect(
    BudgetWarnings,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline
      const context = yield* Effect.context<never>()
      const untold = new Map<string, NearBudget>()

      /** Sends warnings for the budgets of a shard that have reached a threshold, then events for those that are used up. */
      const lookIn = Effect.fnUntraced(function* (shard: Shard, own: ByKey<Looked>) {
        for (const [row, looked] of yield* near(shard, own, ({ thresholds }) => thresholds)) {
          yield* warn(row, looked)
        }
        for (const [{ org, counter, used }, looked] of yield* near(shard, own, unwarnedLimit)) {
          const state = JSON.stringify({ ...warningOf(looked), percent: 100, used })
          yield* bounded(sql`select budget_reached(${org}, ${counter}, ${state}::text::jsonb)`)
        }
      })

      const near = Effect.fnUntraced(function* (
        { run }: Shard,
        own: ByKey<Looked>,
        thresholdsOf: (budget: Budget) => Budget["thresholds"],
      ) {
        const items = own.flatMap(([, looked]) => itemOf(looked, thresholdsOf))
        if (items.length === 0) return []
        const rows = yield* bounded(
          run(
            ({ sql, books }) => sql<NearRow>`
              select org, counter, percent, trim_scale(used)::text as used
              from ${books}budgets_near(${JSON.stringify(items)}::text::jsonb)`,
          ),
        )
        const byKey = new Map(own)
        return rows.flatMap((row) => {
          const looked = byKey.get(keyOf(row.org, row.counter))
          return looked === undefined ? [] : [[row, looked] as const]
        })
      })

      const warn = Effect.fnUntraced(function* ({ org, counter, percent, used }: NearRow, looked: Looked) {
        const { covering } = looked
        const warning = JSON.stringify({ ...warningOf(looked), percent, used })
        const [warned] = yield* bounded(
          sql<{ first: boolean }>`
            select budget_warn(${org}, ${counter}, ${percent}::int, ${warning}::text::jsonb) as first`,
        )
        if (warned?.first !== true) return
        recordBudget(context, labelOf(covering.budget), "near")
        yield* Effect.logInfo("A budget has reached a threshold", { org, budget: covering.budget.id, percent })
        if (untold.size >= mostUntold) untold.clear()
        untold.set(keyOf(org, counter), { covering, percent })
      })

      const { add, look } = yield* makeCharged("Looking at budgets", lookIn)
      return BudgetWarnings.of({
        look,
        charged: (orgId, currency, covering) => {
          for (const each of covering) add(keyOf(orgId, each.counter), { orgId, currency, covering: each })
        },
        take: (orgId, covering) => {
          if (untold.size === 0) return none
          const near: Array<NearBudget> = []
          for (const { counter, isTold } of covering) {
            const found = isTold ? untold.get(keyOf(orgId, counter)) : undefined
            if (found === undefined) continue
            untold.delete(keyOf(orgId, counter))
            near.push(found)
          }
          return near
        },
      })
    }),
  )
}

interface NearRow {
  readonly org: string
  readonly counter: string
  readonly percent: number
  readonly used: string
}

const none: ReadonlyArray<never> = []
/** Warnings that wait for an exchange; mail and the audit log get them too. */
const mostUntold = 10_000

const keyOf = (orgId: string, counter: string): string => `${orgId} ${counter}`

const itemOf = (
  { orgId, covering: { budget, counter, beside } }: Looked,
  thresholdsOf: (budget: Budget) => Budget["thresholds"],
) => {
  const thresholds = thresholdsOf(budget).map(({ percent, amount }) => ({ percent, amount: formatAmount(amount) }))
  return thresholds.length === 0 ? [] : [{ org: orgId, counter, thresholds, ...(beside !== undefined && { beside }) }]
}

/** Webhooks get the event that a budget is used up even if no warning is configured. */
const unwarnedLimit = ({ thresholds, limit }: Budget): Budget["thresholds"] =>
  thresholds.some(({ percent }) => percent === 100) ? [] : [{ percent: 100, amount: limit }]

const warningOf = ({ currency, covering }: Looked) => {
  const { used, left, ...warning } = stateOf(covering, noUse)
  return { ...warning, ...(covering.budget.unit === "money" && { currency }) }
}
