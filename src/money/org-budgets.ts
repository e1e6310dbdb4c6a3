/**
 * Budgets that organisations set for themselves. They hold beside those of the platform, so they can only be tighter.
 * Held in memory on every node; a node reads what has changed.
 */
import { Context, Effect, Layer, Option, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { BudgetTerms } from "../protocol/catalogue.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { queryDeadline, refreshEvery } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { type BudgetIndex, indexBudgets, readBudget } from "./budget.ts"

export interface OrgBudgetChange {
  readonly orgId: string
  readonly id: string
  readonly actor: { readonly type: "user" | "org"; readonly id: string }
}

export class OrgBudgets extends Context.Service<
  OrgBudgets,
  {
    /** The budgets of an organisation; cheap, for the hot path. */
    readonly of: (orgId: string) => BudgetIndex | undefined
    /** Sets a budget: in force here at once, on other nodes within seconds. */
    readonly set: (
      change: OrgBudgetChange,
      terms: BudgetTerms,
    ) => Effect.Effect<void, ServiceError<"limit_exceeded"> | StoreUnavailable>
    /** False if there was none. */
    readonly remove: (change: OrgBudgetChange) => Effect.Effect<boolean, StoreUnavailable>
  }
>()("weir/money/OrgBudgets") {
  static readonly layer = Layer.effect(
    OrgBudgets,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline
      const known = new Map<string, BudgetIndex>()
      let newest = 0n

      const readChanged: Effect.Effect<void, StoreUnavailable> = Effect.gen(function* () {
        const rows = yield* bounded(sql<BudgetsRow>`
          select org_id, budgets, revision::text from org_budgets where revision > ${String(newest)}::text::bigint
          order by revision limit ${page}`)
        for (const { org_id, budgets, revision } of rows) {
          const terms = Option.getOrUndefined(decodeBudgets(budgets))
          if (terms === undefined) yield* Effect.logError("The budgets of an organisation cannot be read", { org_id })
          else {
            const own = Object.entries(terms).map(([id, each]) => readBudget(id, each, "organisation"))
            if (own.length === 0) known.delete(org_id)
            else known.set(org_id, indexBudgets(own))
          }
          newest = BigInt(revision)
        }
        if (rows.length === page) yield* readChanged
      })

      const write = ({ orgId, id, actor }: OrgBudgetChange, terms: BudgetTerms | undefined) => {
        const text = terms === undefined ? null : JSON.stringify(encodeTerms(terms))
        return bounded(sql<{ outcome: string }>`
          select org_budget_set(${orgId}, ${id}, ${text}::text::jsonb, ${mostBudgets}::int, ${actor.type}, ${actor.id})
            as outcome`).pipe(
          Effect.map(([row]) => row?.outcome),
          Effect.tap(readChanged),
        )
      }

      yield* readChanged
      yield* Effect.forkScoped(
        Effect.repeat(
          Effect.catch(readChanged, (error) => Effect.logWarning("Budgets could not be refreshed", error)),
          Schedule.spaced(refreshEvery),
        ),
      )
      return OrgBudgets.of({
        of: (orgId) => known.get(orgId),
        set: (change, terms) =>
          Effect.flatMap(write(change, terms), (outcome) => (outcome === "full" ? Effect.fail(full) : Effect.void)),
        remove: (change) => Effect.map(write(change, undefined), (outcome) => outcome === "removed"),
      })
    }),
  )
}

interface BudgetsRow {
  readonly org_id: string
  readonly budgets: unknown
  readonly revision: string
}

const page = 1000
/** Every exchange is held against those that cover it. */
const mostBudgets = 100
const full = serviceError("limit_exceeded", "An organisation may have 100 budgets of its own", {
  detail: { limit: mostBudgets },
})

const decodeBudgets = Schema.decodeUnknownOption(Schema.Record(Schema.String, BudgetTerms))
const encodeTerms = Schema.encodeSync(BudgetTerms)
