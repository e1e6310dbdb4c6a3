/**
 * Closes months of transfers: what a month has goes to files, whose hash follows from the month before; an opening transfer for
 * each account is what is left of it in the database.
 */
import { hash, randomUUID } from "node:crypto"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { forAll, runEvery } from "../background.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import { WeirConfig } from "../config.ts"
import type { ExportFormat } from "../protocol/export.ts"
import type { Shard } from "../store/shards/shard.ts"
import { Shards } from "../store/shards/shards.ts"
import { recordBooksOverdue } from "../telemetry/metrics.ts"
import { VendorClient } from "../upstream/client.ts"
import { ExportStore } from "./export-store.ts"
import { leased } from "./leased.ts"
import { writeMonth } from "./month-files.ts"
import { type PutFile, rowsOf } from "./put-files.ts"
import { type Target, targetOf } from "./target.ts"

const lookEvery = "10 seconds"
/** Openings that are sent in one statement. */
const pageRows = 1000
/** Records of a time are in files of exports when these have come so far beyond it. */
const marginMs = 10 * 60_000

interface NextMonth {
  readonly month: string
  readonly until_at: Date
  readonly previous: string
  readonly problem: string | null
}

interface Opening {
  readonly org_id: string
  readonly currency: string
  readonly account: string
  readonly amount: string
}

export const layerClosedMonths = Layer.effectDiscard(
  Effect.gen(function* () {
    const { booksKeptDays: days } = yield* WeirConfig
    if (days === undefined) return
    const catalogue = yield* Catalogue
    const store = yield* ExportStore
    const shards = yield* Shards
    const client = yield* VendorClient
    const coordinator = yield* SqlClient.SqlClient
    const context = yield* Effect.context<SqlClient.SqlClient>()
    const node = randomUUID()

    const nextMonth = ({ run }: Shard) =>
      Effect.map(
        run(({ sql, books }) => sql<NextMonth>`select * from ${books}books_next_month(${days}::int)`),
        ([row]) => row,
      )

    /** Why a month is not closed yet; undefined if it can be. */
    const waitsFor = Effect.fnUntraced(function* ({ until_at, problem }: NextMonth, shard: Shard) {
      if (problem !== null) return problem
      const behind = (yield* store.positions).find(
        ({ is_active, shard: name, at, records }) =>
          is_active && (name === shard.name || records === "audit") && at.getTime() < until_at.getTime() + marginMs,
      )
      return behind === undefined ? undefined : `the export ${behind.export} has not written its ${behind.records}`
    })

    /** What is left of a month, by account. */
    const stage = (shard: Shard, { month, until_at }: NextMonth) =>
      Effect.gen(function* () {
        let after = ""
        while (true) {
          const rows: ReadonlyArray<Opening> = yield* shard.run(
            ({ sql, books }) => sql<Opening>`
              select l.org_id, l.currency, l.account, sum(l.amount)::text as amount
              from (
                select t.org_id, t.currency, t.debit_account as account, -t.amount as amount from ${books}transfers t where t.at < ${until_at}
                union all
                select t.org_id, t.currency, t.credit_account, t.amount from ${books}transfers t where t.at < ${until_at}) l
              where l.org_id > ${after} and l.org_id <= coalesce((
                select max(k.org_id) from (
                  select distinct t.org_id from ${books}transfers t where t.at < ${until_at} and t.org_id > ${after}
                  order by 1 limit ${pageOrgs}::int) k), '')
              group by 1, 2, 3 order by 1`,
          )
          const last = rows.at(-1)
          if (last === undefined) return
          const items = rows
            .filter(({ account }) => account !== "opening")
            .map(({ org_id, ...opening }) => ({ org: org_id, ...opening }))
          for (let at = 0; at < items.length; at += pageRows) {
            const page = JSON.stringify(items.slice(at, at + pageRows))
            yield* shard.run(({ sql, books }) => sql`select ${books}books_stage(${month}, ${page}::text::jsonb)`)
          }
          const orgs = [...new Set(rows.map(({ org_id }) => org_id))]
          yield* coordinator`
            update tenants set has_books = true where kind = 'org' and id = any(${orgs}::text[]) and not has_books`
          after = last.org_id
        }
      })

    const manifestOf = (
      { month, until_at, previous }: NextMonth,
      shard: Shard,
      files: ReadonlyArray<PutFile>,
      transfers: number,
    ): string =>
      `${JSON.stringify({ month, until: until_at.toISOString(), shard: shard.name, previous, transfers, files }, undefined, 2)}\n`

    const close = Effect.fnUntraced(function* (next: NextMonth, shard: Shard, target: Target, format: ExportFormat) {
      const { month, until_at, previous } = next
      const folder = `books/v1/month=${month}`
      const files = yield* writeMonth(shard, until_at, { folder, format }, target)
      const transfers = rowsOf(files)
      const manifest = manifestOf(next, shard, files, transfers)
      const path = `${folder}/${shard.name}.json`
      yield* target.put(path, Buffer.from(manifest))
      yield* stage(shard, next)
      const sha256 = hash("sha256", manifest)
      yield* shard.run(
        ({ sql, books }) => sql`
          select ${books}books_close(${month}, ${until_at}, ${String(transfers)}::bigint, ${previous}, ${sha256}, ${path})`,
      )
      yield* Effect.logInfo("A month of the books is closed", { month, shard: shard.name, transfers, path })
    })

    /** Closes what can be closed, the oldest first. */
    const closeAll = Effect.fnUntraced(function* (shard: Shard) {
      for (let next = yield* nextMonth(shard); next !== undefined; next = yield* nextMonth(shard)) {
        recordBooksOverdue(
          context,
          shard.name,
          Math.max(0, Date.now() - next.until_at.getTime()) / 1000 - days * 86_400,
        )
        const place = catalogue.current().exports.find(({ entry }) => entry.records?.includes("transfers"))
        const problem = place === undefined ? "no export has transfers" : yield* waitsFor(next, shard)
        if (place === undefined || problem !== undefined) {
          return yield* Effect.logInfo("A month of the books stays open", {
            month: next.month,
            shard: shard.name,
            problem,
          })
        }
        yield* close(next, shard, targetOf(place, client), place.entry.format)
      }
      recordBooksOverdue(context, shard.name, 0)
    })

    const closeShard = Effect.fnUntraced(function* (shard: Shard) {
      if ((yield* nextMonth(shard)) === undefined) return recordBooksOverdue(context, shard.name, 0)
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

/** Organisations whose transfers are summed in one statement. */
const pageOrgs = 1000
