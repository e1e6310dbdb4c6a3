/** The last use of keys, as it is written. */
import { randomUUID } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { KeyUses } from "../../../src/identity/key-uses.ts"
import { makeTestDatabase } from "../../support/books.ts"

layer(makeTestDatabase(), { excludeTestServices: true, timeout: "60 seconds" })("the last use of a key", (it) => {
  it.effect("is its minute, also where more keys are used than are remembered; a removed key has none", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [key, removed] = [`key_${randomUUID()}`, `key_${randomUUID()}`]
      yield* sql`select app_key_mint(${key}, 'app_of_uses', 'org_of_uses', ${Buffer.alloc(32)}, ${["runtime"]}::text[], null,
        null, null, null, 'service', 'test')`
      yield* Effect.gen(function* () {
        const uses = yield* KeyUses
        uses.note(key)
        uses.note(removed)
        for (let other = 0; other < 100_000; other++) uses.note(`other_${other}`)
      }).pipe(Effect.provide(KeyUses.layer))
      const rows = yield* sql<{ key_id: string; is_now: boolean }>`
        select key_id, used_at > now() - interval '5 minutes' as is_now from key_uses
        where key_id in (${key}, ${removed}, 'other_0')`
      expect(rows).toEqual([{ key_id: key, is_now: true }])
    }),
  )
})
