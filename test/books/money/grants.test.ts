/** Grants of allotments, as SQL gives them: to nodes whose lease is in force, of money that no node has or owes. */
import { randomUUID } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { ShardClient } from "../../../src/store/shards/shard.ts"
import { Shards } from "../../../src/store/shards/shards.ts"
import { layerTestDatabase } from "../../support/books.ts"

const inShardOf = <A>(org: string, query: (client: ShardClient) => Effect.Effect<A, SqlError.SqlError>) =>
  Effect.flatMap(Shards, (shards) => shards.of(org).run(query))

const join = (org: string, node: string) =>
  inShardOf(org, ({ sql, books }) => sql`select ${books}node_join(${node}, 3600000)`)

interface Grant {
  readonly outcome: string
  readonly available: string | null
  readonly grants: Readonly<Record<string, string>>
}

const grant = (org: string, node: string, need: number) =>
  inShardOf(org, ({ sql, books }) => {
    const items = [{ item: 0, node, org, cur: "USD", counters: [{ counter: "USD", need, want: need }] }]
    return sql<Grant>`
      select outcome, trim_scale(available)::text as available, grants
      from ${books}ledger_allot(${JSON.stringify(items)}::text::jsonb)`
  })

const granted = (org: string) =>
  Effect.map(
    inShardOf(
      org,
      ({ sql, books }) => sql<{ granted: string }>`
        select trim_scale(granted)::text as granted from ${books}counters where org_id = ${org} and counter = 'USD'`,
    ),
    ([row]) => row?.granted,
  )

const fund = (org: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`select ledger_topup(${org}, ${org}, 'USD', 10)`)

layer(layerTestDatabase, { excludeTestServices: true })("a grant", (it) => {
  it.effect("is given to a node whose lease is in force, and to no other", () =>
    Effect.gen(function* () {
      const [org, node] = [`org_${randomUUID()}`, `node_${randomUUID()}`]
      yield* fund(org)
      expect(yield* grant(org, node, 1)).toMatchObject([{ outcome: "lapsed", grants: {} }])
      yield* join(org, node)
      expect(yield* grant(org, node, 1)).toMatchObject([{ outcome: "granted" }])
      yield* inShardOf(org, ({ sql, books }) => sql`select ${books}node_leave(${node})`)
      expect(yield* grant(org, node, 1)).toMatchObject([{ outcome: "lapsed", grants: {} }])
      expect(yield* granted(org)).toBe("1")
    }),
  )

  it.effect("and its return are transfers between the organisation and the node", () =>
    Effect.gen(function* () {
      const [org, node] = [`org_${randomUUID()}`, `node_${randomUUID()}`]
      yield* fund(org)
      yield* join(org, node)
      yield* grant(org, node, 4)
      const back = [{ node, org, counter: "USD", amount: 3, last: false }]
      yield* inShardOf(org, ({ sql, books }) => sql`select ${books}ledger_return(${JSON.stringify(back)}::text::jsonb)`)
      const moved = yield* inShardOf(
        org,
        ({ sql, books }) => sql`
          select kind, debit_account as debit, credit_account as credit, trim_scale(amount)::text as amount
          from ${books}transfers where org_id = ${org} and kind <> 'topup' order by id`,
      )
      expect(moved).toEqual([
        { kind: "allot", debit: "available", credit: `node:${node}`, amount: "4" },
        { kind: "return", debit: `node:${node}`, credit: "available", amount: "3" },
      ])
    }),
  )

  it.effect("leaves what another node has spent beyond its allotment", () =>
    Effect.gen(function* () {
      const [org, node, other] = [`org_${randomUUID()}`, `node_${randomUUID()}`, `node_${randomUUID()}`]
      yield* fund(org)
      yield* Effect.forEach([node, other], (id) => join(org, id))
      yield* grant(org, other, 1)
      yield* inShardOf(
        org,
        ({ sql, books }) => sql`update ${books}allotments set spent = 5 where org_id = ${org} and node = ${other}`,
      )
      // Nine are not granted, and the other node owes four of them.
      expect(yield* grant(org, node, 6)).toMatchObject([{ outcome: "short", available: "5" }])
      expect(yield* grant(org, node, 5)).toMatchObject([{ outcome: "granted" }])
      expect(yield* granted(org)).toBe("6")
    }),
  )
})
