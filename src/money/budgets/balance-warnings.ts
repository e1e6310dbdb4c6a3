/**
 * Reports that an organisation's balance is below its `warnBelow`: once, over all nodes, until it was above again. A node
 * checks the balances that it has just charged.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Org } from "../../protocol/catalogue/tenant.ts"
import { queryDeadline } from "../../store/database.ts"
import type { Shard } from "../../store/shards/shard.ts"
import { type ByKey, makeCharged, type OfOrg } from "./charged.ts"

export class BalanceWarnings extends Context.Service<
  BalanceWarnings,
  {
    /** An organisation was charged: its balance is checked within a second. */
    readonly charged: (org: Pick<Org, "id" | "currency" | "warnBelow">) => void
  }
>()("weir/money/BalanceWarnings") {
  static readonly layer = Layer.effect(
    BalanceWarnings,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline

      const lookIn = Effect.fnUntraced(function* ({ run }: Shard, own: ByKey<Balance>) {
        const items = JSON.stringify(own.map(([, { orgId, ...balance }]) => ({ org: orgId, ...balance })))
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

      const { add } = yield* makeCharged("Looking at balances", lookIn)
      return BalanceWarnings.of({
        charged: ({ id, currency, warnBelow: below }) => {
          if (below !== undefined) add(id, { orgId: id, currency, below })
        },
      })
    }),
  )
}

interface Balance extends OfOrg {
  readonly currency: string
  readonly below: string
}

interface ChangedRow {
  readonly org: string
  readonly currency: string
  readonly below: string
  readonly balance: string
  readonly is_low: boolean
}
