/** Requests of older nodes to the books: they settle while others are newer. */
import { randomUUID } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { newUlid } from "../../../src/protocol/values/ulid.ts"
import type { ShardClient } from "../../../src/store/shards/shard.ts"
import { Shards } from "../../../src/store/shards/shards.ts"
import { layerTestDatabase } from "../../support/books.ts"

const org = `org_${randomUUID().slice(0, 8)}`
const inShard = <A>(query: (client: ShardClient) => Effect.Effect<A, SqlError.SqlError>) =>
  Effect.flatMap(Shards, (shards) => shards.of(org).run(query))
const atMs = Date.now()

/** A settlement in the form of nodes before 0042: the reply in base64, no day of the id. */
const item = (item: number, ref: string, req: string | null, reply?: Buffer) => ({
  ...{ item, node: "old", org, ref, cur: "USD", key: "key", req, opened: false, day: "2026-11-25", at: atMs },
  ...{ cost: "0.0000000001", app_id: "app", purpose: "exchange", model: "main", vendor: "vendor", dims: {} },
  ...{ in_tokens: 1, out_tokens: 1, cache_read_tokens: 0, cache_write_tokens: 0, stop: "end", cache_net_saving: "0" },
  ...(reply !== undefined && { reply: reply.toString("base64") }),
})

const settle = (items: ReadonlyArray<object>) =>
  inShard(
    ({ sql, books }) => sql<{ item: number; outcome: string; balance: string }>`
      select item, outcome, balance::text from ${books}ledger_settle(${JSON.stringify(items)}::text::json, false) order by item`,
  )

layer(layerTestDatabase, { excludeTestServices: true })("a settlement of an old node", (it) => {
  it.effect("is booked with its reply, once, and its id is spent on its day", () =>
    Effect.gen(function* () {
      const coordinator = yield* SqlClient.SqlClient
      yield* coordinator`select ledger_topup(${org}, ${org}, 'USD', 1)`
      const [first, second, plain] = [newUlid(atMs + 86_400_000 * 3), newUlid(atMs), randomUUID()]
      const replies = [Buffer.from([0, 1, 255]), Buffer.alloc(0), Buffer.from("x".repeat(3000))]
      const items = [
        item(0, `a_${org}`, first, replies[0]),
        item(1, `b_${org}`, null),
        item(2, `c_${org}`, second, replies[1]),
        item(3, `d_${org}`, plain, replies[2]),
      ]
      expect((yield* settle(items)).map(({ outcome }) => outcome)).toEqual(Array(4).fill("settled"))
      expect(
        (yield* settle([item(0, `e_${org}`, first), item(1, `f_${org}`, plain)])).map((row) => row.outcome),
      ).toEqual(["duplicate", "duplicate"])
      const kept = yield* inShard(
        ({ sql, books }) => sql<{ ref: string; reply: Uint8Array; balance: string }>`
          select ref, reply, balance::text from ${books}replies where org_id = ${org} order by ref`,
      )
      expect(kept.map(({ ref, reply }) => [ref.slice(0, 1), Buffer.from(reply)])).toEqual([
        ["a", replies[0]],
        ["c", replies[1]],
        ["d", replies[2]],
      ])
      expect(new Set(kept.map(({ balance }) => balance))).toEqual(new Set(["0.9999999996"]))
      const spent = yield* inShard(
        ({ sql, books }) => sql<{ req: string; day: string | null }>`
          select request_id as req, day::text from ${books}spent_days where org_id = ${org}
          union all select request_id, null from ${books}spent_requests where org_id = ${org}`,
      )
      const dayOf = (id: string) => spent.find(({ req }) => req === id)?.day
      expect(spent).toHaveLength(3)
      expect(dayOf(first)).toBe(new Date(atMs + 86_400_000 * 3).toISOString().slice(0, 10))
      expect(dayOf(plain)).toBeNull()
    }),
  )
})
