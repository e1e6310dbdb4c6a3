/** Closes months of transfers as soon as possible: one node at a time, when exports have their records. */
import { randomUUID } from "node:crypto"
import { Effect, Layer } from "effect"
import { forAll, runEvery } from "../background.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import { WeirConfig } from "../config.ts"
import { targetOf } from "../object-storage/target.ts"
import { LongQueries } from "../store/connections.ts"
import type { Shard } from "../store/shards/shard.ts"
import { recordBooksOverdue } from "../telemetry/metrics.ts"
import { VendorClient } from "../upstream/client.ts"
import { closeMonth, nextMonth, waitsFor } from "./close-month.ts"
import { ExportStore } from "./export-store.ts"
import { leased } from "./leased.ts"

const lookEvery = "10 seconds"

export const layerClosedMonths = Layer.effectDiscard(
  Effect.gen(function* () {
    const { booksKeptDays: days } = yield* WeirConfig
    if (days === undefined) return
    const catalogue = yield* Catalogue
    const store = yield* ExportStore
    const client = yield* VendorClient
    const { sql: coordinator, shards } = yield* LongQueries
    const context = yield* Effect.context<LongQueries>()
    const node = randomUUID()

    /** Closes the months that can be closed, the oldest first. */
    const closeAll = Effect.fnUntraced(function* (shard: Shard) {
      for (let next = yield* nextMonth(shard, days); next !== undefined; next = yield* nextMonth(shard, days)) {
        recordBooksOverdue(
          context,
          shard.name,
          Math.max(0, Date.now() - next.until_at.getTime()) / 1000 - days * 86_400,
        )
        const place = catalogue.current().exports.find(({ entry }) => entry.records?.includes("transfers"))
        const problem =
          place === undefined ? "no export has transfers" : waitsFor(next, shard.name, yield* store.positions)
        if (place === undefined || problem !== undefined) {
          return yield* Effect.logInfo("A month of the books stays open", {
            month: next.month,
            shard: shard.name,
            problem,
          })
        }
        yield* closeMonth(next, shard, targetOf(place, client), place.entry.format)
      }
      recordBooksOverdue(context, shard.name, 0)
    })

    const closeShard = Effect.fnUntraced(function* (shard: Shard) {
      if ((yield* nextMonth(shard, days)) === undefined) return recordBooksOverdue(context, shard.name, 0)
      const lease = yield* store.takeMonths(shard.name, node)
      if (lease === undefined) return
      yield* leased(store, node, lease, {
        work: closeAll(shard),
        everyMs: 10_000,
        what: "A month of the books was not closed, and will be tried again",
        onFailure: () => {},
      })
    })

    const dropClosed = Effect.gen(function* () {
      const closed = yield* forAll(shards.all, ({ run }) =>
        Effect.map(
          run(({ sql, books }) => sql<{ until: Date | null }>`select max(until_at) as until from ${books}books_months`),
          ([row]) => row?.until?.getTime() ?? 0,
        ),
      )
      yield* coordinator`select retain_months(${new Date(Math.min(...closed))}::timestamptz)`
    })

    yield* runEvery(
      lookEvery,
      "Closing months",
      Effect.andThen(forAll(shards.all, closeShard), dropClosed).pipe(Effect.provide(context)),
    )
  }),
)
