/** Responses of a day that has no statistics yet: each is found by its key, and not among all of its owner. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { ContentObjects } from "../../../src/kept-responses/content-objects.ts"
import { KeptResponses } from "../../../src/kept-responses/kept-responses.ts"
import { keptResponseId } from "../../../src/kept-responses/response-id.ts"
import { dateOf } from "../../../src/protocol/values/instant.ts"
import { Sealing } from "../../../src/store/seal.ts"
import { Shards } from "../../../src/store/shards/shards.ts"
import { citusWorkers } from "../../../src/testing/citus.ts"
import { makeTestDatabase } from "../../support/books.ts"

/** Statements go to the connection of the test, whose transaction counts the rows that they read. */
const onConnectionOfTest = Layer.effect(
  Shards,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const shards = yield* Shards
    return { ...shards, of: (id) => ({ ...shards.of(id), run: (query) => query({ sql, books: sql.literal("") }) }) }
  }),
)

const services = KeptResponses.layer.pipe(
  Layer.provide(Layer.mergeAll(ContentObjects.layerInRows, Sealing.layer)),
  Layer.provide(onConnectionOfTest),
  Layer.provideMerge(makeTestDatabase({ databaseDeadlineMs: 60_000 })),
)

const org = { id: "org_1", name: "O", currency: "USD", models: [], keeps: { responses: "30d" } } as const
const owner = { app: "app_1", person: "", endUser: "" }
const turns = 60
const others = 5000

layer(services, { excludeTestServices: true, timeout: "60 seconds" })("on a new day", (it) => {
  it.effect.skipIf(citusWorkers().length > 0)("a response and a thread are read by their keys", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const kept = yield* KeptResponses
      const now = Date.now()
      const idOf = (n: number) => keptResponseId(`req_${n.toString().padStart(16, "0")}`, now)
      const ids = Array.from({ length: turns + others }, (_, n) => idOf(n))
      yield* sql`select retain_response_days(3)`
      yield* sql`
        insert into responses (org_id, day, id, previous_id, app_id, person_id, end_user_id, model, state, erase_at, content)
        select 'org_1', ${dateOf(now)}::text::date, id, lag(id) over (order by id), 'app_1', '', '', 'main', 'completed',
          now() + interval '1 day', ''
        from unnest(${ids}::text[]) id`
      const read = sql<{ rows: number }>`
        select coalesce(sum(coalesce(idx_tup_fetch, 0) + seq_tup_read), 0)::float8 as rows
        from pg_stat_xact_user_tables where relname ~ '^responses'`
      const expectAtMost = <A, E, R>(most: number, job: Effect.Effect<A, E, R>) =>
        Effect.gen(function* () {
          const [before] = yield* read
          yield* job
          const [after] = yield* read
          expect((after?.rows ?? 0) - (before?.rows ?? 0)).toBeLessThanOrEqual(most)
        })
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* expectAtMost(2, kept.stateOf(org, owner, idOf(turns - 1)))
          yield* expectAtMost(2, kept.find(org, owner, idOf(turns - 1)))
          yield* expectAtMost(2 * turns, kept.thread(org, owner, idOf(turns - 1), 1_000_000))
          // Others do not have it.
          expect(yield* kept.stateOf(org, { ...owner, app: "app_2" }, idOf(0))).toBeUndefined()
        }),
      )
    }),
  )
})
