/**
 * Closes a month of transfers: they are written to files, whose hash includes that of the month before. In the database, an
 * opening transfer for each account replaces them.
 */
import { hash } from "node:crypto"
import { Effect } from "effect"
import type { Target } from "../object-storage/target.ts"
import type { ExportFormat } from "../protocol/control/export.ts"
import { LongQueries } from "../store/connections.ts"
import type { Shard } from "../store/shards/shard.ts"
import type { Position } from "./export-store.ts"
import { writeMonth } from "./month-files.ts"
import { type PutFile, rowsOf } from "./put-files.ts"

/** Openings that are sent in one statement. */
const pageRows = 1000
/** The time by which exports must be ahead of a record, so that it is surely in their files. */
const marginMs = 10 * 60_000
/** Organisations whose transfers are summed in one statement. */
const pageOrgs = 1000

export interface NextMonth {
  readonly month: string
  readonly until_at: Date
  /** The hash of the month before; empty for the first. */
  readonly previous: string
  /** The reason why it is still open, if there is one. */
  readonly problem: string | null
}

interface Opening {
  readonly org_id: string
  readonly currency: string
  readonly account: string
  readonly amount: string
}

/** The oldest month that is not closed and ended so many days ago, if there is one. */
export const nextMonth = ({ run }: Shard, days: number) =>
  Effect.map(
    run(({ sql, books }) => sql<NextMonth>`select * from ${books}books_next_month(${days}::int)`),
    ([row]) => row,
  )

/** The reason why a month is not closed yet; undefined if it can be. @param shard its name */
export const waitsFor = (
  { until_at, problem }: NextMonth,
  shard: string,
  positions: ReadonlyArray<Position>,
): string | undefined => {
  if (problem !== null) return problem
  const behind = positions.find(
    ({ is_active, shard: name, at, records }) =>
      is_active && (name === shard || records === "audit") && at.getTime() < until_at.getTime() + marginMs,
  )
  return behind === undefined ? undefined : `the export ${behind.export} has not written its ${behind.records}`
}

export const closeMonth = Effect.fnUntraced(function* (
  next: NextMonth,
  shard: Shard,
  target: Target,
  format: ExportFormat,
) {
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

/** Copies the balances that are left of a month, by account. */
const stage = Effect.fnUntraced(function* (shard: Shard, { month, until_at }: NextMonth) {
  const { sql: coordinator } = yield* LongQueries
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
