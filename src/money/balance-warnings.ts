/**
 * Tells that an organisation's balance is below its `warnBelow`: once, over all nodes, until it was above again. A node
 * looks at the balances that it has just charged.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { forAll, runEvery } from "../background.ts"
import type { Org } from "../protocol/catalogue.ts"
import { queryDeadline } from "../store/database.ts"
import type { Shard } from "../store/shards/shard.ts"
import { Shards } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

type Charged = Pick<Org, "id" | "currency" | "warnBelow">

export class BalanceWarnings extends Context.Service<
  BalanceWarnings,
  {
    /** Something was charged to an organisation: its balance is looked at within a second. */
    readonly charged: (org: Charged) => void
    /** Looks now. */
    readonly look: Effect.Effect<void, StoreUnavailable>
  }
>()("weir/money/BalanceWarnings") {
  static readonly layer = Layer.effect(
    BalanceWarnings,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const shards = yield* Shards
      const bounded = yield* queryDeadline
      const charged = new Map<string, Charged>()

      const lookIn = Effect.fnUntraced(function* ({ run }: Shard, orgs: ReadonlyArray<Charged>) {
        const items = JSON.stringify(
          orgs.map(({ id, currency, warnBelow }) => ({ org: id, currency, below: warnBelow })),
        )
        const changed = yield* bounded(
          run(
            ({ sql, books }) => sql<ChangedRow>`
              select org, currency, trim_scale(below)::text as below, trim_scale(balance)::text as balance, is_low
              from ${books}balances_changed(${items}::text::jsonb)`,
          ),
        )
        for (const { org, currency, below, balance, is_low } of changed) {
          const state = JSON.stringify({ balance, below, currency })
          yield* bounded(sql`select balance_turned(${org}, ${currency}, ${is_low}, ${state}::text::jsonb)`)
        }
      })

      const look: Effect.Effect<void, StoreUnavailable> = Effect.gen(function* () {
        const part = [...charged.values()].slice(0, page)
        if (part.length === 0) return
        for (const { id } of part) charged.delete(id)
        const lookAgain = (orgs: ReadonlyArray<Charged>) =>
          Effect.sync(() => {
            for (const org of orgs) if (!charged.has(org.id)) charged.set(org.id, org)
          })
        yield* forAll(
          Map.groupBy(part, ({ id }) => shards.of(id)),
          ([shard, orgs]) => Effect.tapError(lookIn(shard, orgs), () => lookAgain(orgs)),
        )
        yield* look
      })

      yield* runEvery("1 second", "Looking at balances", look)
      return BalanceWarnings.of({
        look,
        charged: (org) => {
          if (org.warnBelow !== undefined) charged.set(org.id, org)
        },
      })
    }),
  )
}

interface ChangedRow {
  readonly org: string
  readonly currency: string
  readonly below: string
  readonly balance: string
  readonly is_low: boolean
}

/** Balances that one statement looks at. */
const page = 500
