/** Several nodes ask for the same jobs: no gateway runs beside them that would take some. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { JobStore } from "../../../src/jobs/job-store.ts"
import type { ShardClient } from "../../../src/store/shards/shard.ts"
import { Shards } from "../../../src/store/shards/shards.ts"
import { layerTestDatabase } from "../../support/books.ts"

const services = JobStore.layer.pipe(Layer.provideMerge(layerTestDatabase))
const org = "org_film"

const inShard = <A>(query: (client: ShardClient) => Effect.Effect<A, SqlError.SqlError>) =>
  Effect.flatMap(Shards, (shards) => shards.of(org).run(query))

const add = (ids: ReadonlyArray<string>) =>
  inShard(
    ({ sql, books }) => sql`
      insert into ${books}jobs (org_id, id, ref, node, currency, held, budgets, key_id, request_id, purpose, kind, model, vendor,
        target_model, vendor_job, is_own, dims, view, created_at, ends_at)
      select ${org}, id, 'ref_' || id, 'n', 'USD', 1, '{}', 'key', 'request_' || id, 'video', 'video', 'film', 'openai',
        'sora-2', 'video_' || id, false, '{}', '{}', now(), now() + interval '1 hour'
      from unnest(${ids}::text[]) as x(id)`,
  )

const take = (node: string) =>
  Effect.flatMap(JobStore, (store) => Effect.map(store.take(node, 8, 60_000), (jobs) => jobs.map(({ id }) => id)))

layer(services, { excludeTestServices: true })("jobs that are due", (it) => {
  it.effect("are each taken by one node at a time, and by another when the lease is over", () =>
    Effect.gen(function* () {
      const all = Array.from({ length: 20 }, (_, n) => `job_${n}`)
      yield* add(all)
      const rounds = yield* Effect.forEach(["a", "b", "c", "a", "b", "c"], take, { concurrency: "unbounded" })
      expect(rounds.every(({ length }) => length <= 8)).toBe(true)
      expect(rounds.flat().toSorted()).toEqual(all.toSorted())
      expect(yield* take("d")).toEqual([])
      yield* inShard(
        ({ sql, books }) =>
          sql`update ${books}jobs set lease_until = now() - interval '1 second' where org_id = ${org} and id = 'job_7'`,
      )
      expect(yield* take("d")).toEqual(["job_7"])
    }),
  )

  it.effect("are over by the clock of the database, whatever the clock of their node says", () =>
    Effect.gen(function* () {
      const { take } = yield* JobStore
      yield* add(["job_late", "job_early"])
      yield* inShard(
        ({ sql, books }) =>
          sql`update ${books}jobs set ends_at = now() - interval '1 second' where org_id = ${org} and id = 'job_late'`,
      )
      const taken = yield* take("e", 8, 60_000)
      expect(taken.map(({ id, isOver }) => [id, isOver]).toSorted()).toEqual([
        ["job_early", false],
        ["job_late", true],
      ])
    }),
  )
})
