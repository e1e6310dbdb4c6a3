/**
 * Budgets of single organisations: those that they set for themselves, and those that the platform sets for them. They hold
 * beside those of the catalogue, so they can only be tighter.
 */
import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { BudgetTerms } from "../../protocol/catalogue/budget.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { Actor } from "../../store/audit-log.ts"
import { ChangeFeed } from "../../store/change-feed.ts"
import { queryDeadline } from "../../store/database.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { type BudgetIndex, indexBudgets, readBudget } from "./budget.ts"

export interface OrgBudgetChange {
  readonly orgId: string
  readonly id: string
  /** Operators set the platform's; the organisation cannot change those. */
  readonly actor: Actor
}

export class OrgBudgets extends Context.Service<
  OrgBudgets,
  {
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
      const feed = yield* ChangeFeed

      const write = ({ orgId, id, actor }: OrgBudgetChange, terms: BudgetTerms | undefined) => {
        const isPlatforms = actor.type === "service"
        const text = terms === undefined ? null : JSON.stringify(encodeTerms(terms))
        return bounded(sql<{ outcome: string }>`
          select org_budget_set(${orgId}, ${isPlatforms ? `^${id}` : id}, ${text}::text::jsonb,
            ${isPlatforms ? 2 * mostBudgets : mostBudgets}::int, ${actor.type}, ${actor.id}) as outcome`).pipe(
          Effect.map(([row]) => row?.outcome),
          Effect.tap(feed.catchUp),
        )
      }

      return OrgBudgets.of({
        set: (change, terms) =>
          Effect.flatMap(write(change, terms), (outcome) => (outcome === "full" ? Effect.fail(full) : Effect.void)),
        remove: (change) => Effect.map(write(change, undefined), (outcome) => outcome === "removed"),
      })
    }),
  )
}

/** The budgets of an organisation that this version can read. */
export interface ReadBudgets {
  /** Undefined if there are none. */
  readonly index: BudgetIndex | undefined
  /** Budgets that it cannot read, such as ones with a period of a newer version: no call is held against them. */
  readonly unread: ReadonlyArray<string>
}

/** The budgets of an organisation as they are stored. One that cannot be read does not remove the others. */
export const readOrgBudgets = (stored: unknown): ReadBudgets => {
  const entries = Object.entries(Option.getOrElse(decodeEntries(stored), () => ({})))
  const unread: Array<string> = []
  const own = entries.flatMap(([key, entry]) => {
    const terms = Option.getOrUndefined(decodeTerms(entry))
    if (terms === undefined) {
      unread.push(key)
      return []
    }
    // No id begins with this character.
    return key.startsWith("^")
      ? readBudget(key.slice(1), terms, "platform", key)
      : readBudget(key, terms, "organisation", `~${key}`)
  })
  return { index: own.length === 0 ? undefined : indexBudgets(own), unread }
}

/** Every exchange is held against the budgets that cover it. */
const mostBudgets = 100
const full = serviceError("limit_exceeded", "An organisation may have 100 budgets of its own", {
  detail: { limit: mostBudgets },
})

const decodeEntries = Schema.decodeUnknownOption(Schema.Record(Schema.String, Schema.Unknown))
const decodeTerms = Schema.decodeUnknownOption(BudgetTerms)
const encodeTerms = Schema.encodeSync(BudgetTerms)
