/**
 * The worker thread of a test's database: a copy of a migrated one that can be reset to its first state. No import of
 * Effect: it starts in half the time.
 */
import { readFileSync } from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import { PGlite } from "@electric-sql/pglite"
import { aheadDays, aheadHours } from "../money/partitions-ahead.ts"
import { startParameters } from "../store/embedded-parameters.ts"
import { serveEmbedded } from "../store/embedded-server.ts"

const template: string = workerData
const db = await PGlite.create({
  loadDataDir: new Blob([readFileSync(template)]),
  startParams: startParameters,
})

const strings = async (query: string): Promise<ReadonlyArray<string>> => {
  const { rows } = await db.query<{ readonly text: string }>(query)
  return rows.map(({ text }) => text)
}

const tables = () =>
  strings(`select c.oid::regclass::text as text from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where nspname = 'public' and relkind in ('r', 'p') order by 1`)

/** Columns, constraints, triggers and functions. */
const schema = () =>
  strings(`select text from (
      select concat_ws(' ', attrelid::regclass, attname, atttypid, attnotnull) as text
        from pg_attribute a join pg_class c on c.oid = attrelid join pg_namespace n on n.oid = relnamespace
        where nspname = 'public' and attnum > 0
      union all select concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
      union all select concat_ws(' ', tgrelid::regclass, tgname, tgenabled) from pg_trigger where not tgisinternal
      union all select concat_ws(' ', proname, prosrc) from pg_proc p join pg_namespace n on n.oid = pronamespace
        where nspname = 'public') parts
    order by text`)

/** A value that changes with each change of the schema. Reading it takes a tenth of the time of reading the schema. */
const versionOfSchema = async () => {
  // Objects of the server itself have lower numbers.
  const last = Object.entries({
    pg_attribute: "attrelid",
    pg_constraint: "oid",
    pg_trigger: "oid",
    pg_proc: "oid",
  }).map(
    ([catalog, oid]) =>
      `(select concat(count(*), ':', sum(hashtext(xmin::text))) from ${catalog} where ${oid} >= 16384)`,
  )
  const [version] = await strings(`select concat_ws(' ', ${last.join(", ")}) as text`)
  return version
}

// The partitions that each gateway would make at its start, in a quarter of the time of all that it asks for then.
await db.query(
  `select from retain(3650, ${aheadDays}), retain_spent_days(3650, ${aheadDays}), retain_replies(86400, ${aheadHours}), retain_response_days(${aheadDays})`,
)

const firstTables = await tables()
const firstSchema = JSON.stringify(await schema())
let knownVersion = await versionOfSchema()
const tablesWithRows = await strings(`select oid::regclass::text as text from pg_class
  where relnamespace = 'public'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0 order by 1`)
/** Rows that the migrations insert. */
const firstRows: ReadonlyArray<readonly [table: string, rows: string]> = await Promise.all(
  tablesWithRows.map(async (table) => {
    const [rows = "[]"] = await strings(`select coalesce(json_agg(t), '[]')::text as text from ${table} t`)
    return [table, rows] as const
  }),
)

/** @returns whether the schema is as it was first: a test may have changed it */
const hasFirstSchema = async (): Promise<boolean> => {
  const version = await versionOfSchema()
  if (version === knownVersion) return true
  for (const table of await tables()) if (!firstTables.includes(table)) await db.exec(`drop table ${table} cascade`)
  knownVersion = await versionOfSchema()
  return JSON.stringify(await schema()) === firstSchema
}

/** A table of this size is truncated, because deleted rows still take their space. */
const muchBytes = 256 * 1024

/** @returns whether the database is as it was first */
const reset = async (): Promise<boolean> => {
  await db.exec("rollback")
  await db.exec("discard all")
  if (!(await hasFirstSchema())) return false
  // Without triggers: some tables are append-only.
  await db.exec("set session_replication_role = replica")
  // A test uses a few tables; emptying all takes 100 ms. Where there is little, deleting takes a tenth of truncating.
  const statements =
    await strings(`select case when pg_relation_size(oid) > ${muchBytes} then format('truncate %s cascade', oid::regclass)
      else format('delete from %s', oid::regclass) end as text from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0`)
  await db.exec(statements.join(";"))
  await db.exec(
    "select setval(seqrelid, seqstart, false) from pg_sequence where pg_sequence_last_value(seqrelid) is not null",
  )
  for (const [table, rows] of firstRows) {
    await db.query(
      `insert into ${table} overriding system value select * from json_populate_recordset(null::${table}, $1)`,
      [rows],
    )
  }
  await db.exec("discard all")
  return true
}

const server = await serveEmbedded(db)
parentPort?.on("message", () => {
  server
    .idle()
    .then(reset)
    .then(
      (isReset) => parentPort?.postMessage({ isReset }),
      () => parentPort?.postMessage({ isReset: false }),
    )
})
parentPort?.postMessage({ listening: server.address, password: server.password })
