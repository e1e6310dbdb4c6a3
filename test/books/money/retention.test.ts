/** Partitions for future days, and removal after the retention; the ledger stays consistent. */
import { randomUUID } from "node:crypto"
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import { Ledger } from "../../../src/money/ledger.ts"
import { Retention } from "../../../src/money/retention.ts"
import { dateOf, dayMs } from "../../../src/protocol/values/instant.ts"
import { inEach, Shards } from "../../../src/store/shards/shards.ts"
import { citusWorkers } from "../../../src/testing/citus.ts"
import { expectSound, fund, holdOf, makeTestDatabase, settlementOf, unit } from "../../support/books.ts"
import { periodOf } from "../../support/periods.ts"

const services = Layer.mergeAll(Retention.layer, Ledger.layer).pipe(
  Layer.provideMerge(makeTestDatabase({ retentionDays: 30 })),
)

layer(services, { excludeTestServices: true, timeout: "60 seconds" })("retention", (it) => {
  describe("the job", () => {
    it.effect("makes today and three days more, once; records go to their day", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { hold, settle } = yield* Ledger
        yield* (yield* Retention).run
        expect((yield* (yield* Retention).run).made).toBe(0)
        const orgId = yield* fund(unit)
        const request = yield* hold(holdOf(orgId, unit))
        yield* settle(settlementOf(request, unit))
        const days = yield* sql<{ name: string }>`
          select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
          where i.inhparent = 'usage_records'::regclass
            -- The database may be from before midnight, and have yesterday.
            and c.relname >= 'usage_records_' || to_char(now() at time zone 'UTC', 'YYYYMMDD')
          order by 1`
        expect(days.length).toBe(5)
        const [home] = yield* sql<{
          name: string
        }>`select tableoid::regclass::text as name from usage_records where ref = ${request.ref}`
        expect(home?.name).toMatch(/^usage_records_\d{8}(_\d+)?$/)
      }),
    )

    // The embedded database has one session.
    it.effect.skipIf(process.env["SVC_TEST_DATABASE_URL"] === undefined)(
      "makes an hour while replies of it wait for the default partition: they go to their hour",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const { hold, settle } = yield* Ledger
          const orgId = yield* fund(unit)
          const held = yield* hold(holdOf(orgId, unit, "late"))
          const atMs = Date.now() + 20 * dayMs
          const [from, to] = [dateOf(atMs), dateOf(atMs + dayMs)]
          const late = yield* sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`create table replies_late (like replies including storage)`
              yield* sql.unsafe(
                `alter table replies attach partition replies_late for values from ('${from}') to ('${to}')`,
              )
              const reply = { sealed: Buffer.from("reply").toString("base64") }
              const late = yield* Effect.forkDetach(settle({ ...settlementOf(held, unit), atMs, reply }))
              yield* Effect.sleep("300 millis")
              return late
            }),
          )
          yield* Fiber.join(late)
          const [home] = yield* sql<{ name: string }>`
            select tableoid::regclass::text as name from replies where ref = ${held.ref}`
          expect(home?.name).toMatch(/^replies_late(_\d+)?$/)
        }),
    )

    it.effect.skipIf(process.env["SVC_TEST_DATABASE_URL"] === undefined || citusWorkers().length > 0)(
      "drops a part before it makes one: a call that reads both meets no deadlock",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`
            create table replies_2024010100 partition of replies
            for values from ('2024-01-01 00:00+00') to ('2024-01-01 01:00+00')`
          const retain = sql`select retain_replies(3600, 200) as dropped`
          const job = yield* Effect.forkDetach(Effect.delay(retain, "300 millis"))
          yield* sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`lock table only replies in access share mode`
              // Meanwhile the job waits for this transaction.
              yield* Effect.sleep("700 millis")
              yield* sql`select count(*) from replies_default`
            }),
          )
          expect(yield* Fiber.join(job)).toEqual([{ dropped: 1 }])
        }),
    )

    it.effect("writes again what the default partition refused because its own was made meanwhile", () =>
      Effect.gen(function* () {
        const shards = yield* Shards
        const sql = yield* SqlClient.SqlClient
        yield* sql`create table own_day (at timestamptz) partition by range (at)`
        yield* sql`create table own_day_default partition of own_day default`
        yield* sql`create table own_day_1 partition of own_day for values from ('2020-01-01') to ('2020-01-02')`
        const tables = ["own_day_default", "own_day"]
        const write = Effect.suspend(() => sql.unsafe(`insert into ${tables.shift()} values ('2020-01-01 12:00:00')`))
        yield* shards.of("any").run(() => write)
        expect(tables).toEqual([])
        const refused = Effect.suspend(() => sql.unsafe("insert into own_day_default values ('2020-01-01')"))
        expect(Result.isFailure(yield* Effect.result(shards.of("any").run(() => refused)))).toBe(true)
        yield* sql`drop table own_day`
      }),
    )

    it.effect("ends what is past keeping, whole days at once, and keeps the rest", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { hold, settle } = yield* Ledger
        const orgId = yield* fund(10n * unit)
        const old = yield* hold(holdOf(orgId, unit, "old"))
        const recent = yield* hold(holdOf(orgId, unit, "recent"))
        for (const request of [old, recent]) yield* settle(settlementOf(request, unit))
        const thisMonth = `budget:a:money/month:b:${periodOf("month", Date.now()).name}`
        const long = "budget:a:money/decade:b:2020-01-01"
        yield* sql`
          insert into counters (org_id, counter, starts_at, ends_at) values
            (${orgId}, 'tokens:2020-01-01', '2020-01-01 00:00+08', '2020-01-02 00:00+08'), (${orgId}, ${thisMonth}, null, null),
            (${orgId}, ${long}, '2020-01-01 00:00+08', now() + interval '1 minute'),
            (${orgId}, 'budget:a:money/month:b:2020-01-01', null, null)`
        yield* sql`
          create table usage_records_20200101 partition of usage_records
          for values from ('2020-01-01 00:00:00+00') to ('2020-01-02 00:00:00+00')`
        yield* sql`update usage_records set at = '2020-01-01 12:00:00+00' where ref = ${old.ref}`
        yield* sql`update transfers set at = '2020-01-01 12:00:00+00' where ref = ${old.ref}`
        const { dropped, removed } = yield* (yield* Retention).run
        expect([dropped, removed]).toEqual([1, 2n])
        const kept = yield* sql<{
          counter: string
        }>`select counter from counters where org_id = ${orgId} and counter like 'budget:%'`
        expect(kept.map(({ counter }) => counter).sort()).toEqual([long, thisMonth].sort())
        const left = yield* sql<{ ref: string }>`select ref from usage_records where org_id = ${orgId}`
        expect(left.map(({ ref }) => ref)).toEqual([recent.ref])
        yield* expectSound(orgId)
        const findings = yield* inEach(
          yield* Shards,
          ({ sql, books }) => sql`select * from ${books}ledger_audit('', null) where id in (${old.ref}, ${recent.ref})`,
        )
        expect(findings).toEqual([])
      }),
    )

    // The statistics of a server are of its own tables.
    it.effect.skipIf(citusWorkers().length > 0)("and the reaper read what there is to do, not what there is", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const tag = randomUUID().slice(0, 8)
        yield* (yield* Retention).run
        const rows = 2000
        yield* sql`
          insert into counters (org_id, counter)
          select ${tag} || n, 'tokens:' || current_date from generate_series(1, ${rows}::int) n`
        yield* sql`
          insert into tenants (kind, id, org_id, is_declared, document, status, changed_at)
          select 'org', ${tag} || n, ${tag} || n, false, '{}', 'closed', now() - interval '90 days'
          from generate_series(1, ${rows}::int) n`
        yield* sql`
          insert into transfers (org_id, currency, debit_account, credit_account, amount, kind, ref)
          select ${tag} || n, 'USD', 'funding', 'available', 1, 'topup', ${tag} from generate_series(1, ${rows}::int) n`
        yield* sql`insert into nodes (id, lease_until) values (${tag}, now() + interval '1 hour')`
        yield* sql`
          insert into allotments (org_id, counter, node, granted)
          select ${tag} || n, 'USD', ${tag}, 1 from generate_series(1, ${rows}::int) n`
        yield* sql`
          insert into holds (org_id, ref, node, currency, key_id, request_id, amount, day, spends)
          select ${tag} || n, ${tag} || n, ${tag}, 'USD', 'k', '', 1, current_date, false
          from generate_series(1, ${rows}::int) n`
        // Its first run finds that these organisations are kept for ever; the next ones do not look at them.
        yield* (yield* Retention).run
        // The view also has rows that earlier transactions read and that the server has not counted yet (it counts once a
        // second), so the difference is compared.
        const rowsRead = sql<{ table: string; rows: number }>`
          select relname as table, (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows
          from pg_stat_xact_user_tables
          where relname in ('counters', 'tenants', 'allotments', 'holds') order by 1`
        const [before, after] = yield* sql.withTransaction(
          Effect.gen(function* () {
            const atStart = yield* rowsRead
            yield* sql`select retain_books(30)`
            yield* sql`select * from retain(30, 3)`
            yield* sql`select retain_tenants(30, 10000)`
            yield* sql`select count(*) from ledger_reap(1000)`
            return [atStart, yield* rowsRead] as const
          }),
        )
        expect(after.length).toBe(4)
        for (const { table, rows: count } of after) {
          const atStart = before.find((row) => row.table === table)?.rows ?? 0
          expect(count - atStart, table).toBeLessThan(rows / 10)
        }
        yield* sql`delete from transfers where ref = ${tag}`
        yield* sql`delete from tenants where id like ${`${tag}%`}`
        yield* sql`delete from holds where node = ${tag}`
        yield* sql`delete from allotments where node = ${tag}`
      }),
    )

    it.effect("keeps replies by the hour for as long as request ids are remembered", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { hold, settle, requestState } = yield* Ledger
        const { run } = yield* Retention
        const orgId = yield* fund(10n * unit)
        const reply = { sealed: Buffer.from("reply").toString("base64") }
        const held = yield* hold(holdOf(orgId, unit, "new"))
        yield* settle({ ...settlementOf(held, unit), reply })
        const [home] = yield* sql<{ name: string }>`
          select tableoid::regclass::text as name from replies where ref = ${held.ref}`
        expect(home?.name).toMatch(/^replies_\d{10}(_\d+)?$/)
        // From a journal: its hour has no partition.
        const old = yield* hold(holdOf(orgId, unit, "old"))
        yield* settle({ ...settlementOf(old, unit), atMs: Date.now() - 49 * 3_600_000, reply })
        expect(yield* requestState(orgId, "key", "old")).toMatchObject({ _tag: "Billed", reply: undefined })
        yield* sql`
          create table replies_2020010100 partition of replies
          for values from ('2020-01-01 00:00:00+00') to ('2020-01-01 01:00:00+00')`
        expect((yield* run).dropped).toBe(1)
        const left = yield* sql<{ ref: string }>`select ref from replies where org_id = ${orgId}`
        expect(left.map(({ ref }) => ref)).toEqual([held.ref])
        expect(yield* requestState(orgId, "key", "new")).toMatchObject({ reply: { balance: 9n * unit } })
      }),
    )

    it.effect("ends sessions and client reports that are past keeping", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`
          insert into sessions (id, org_id, caller, last_seen_at) values
            ('old', 'org', 'key', '2020-01-01'), ('recent', 'org', 'key', now())`
        yield* sql`
          insert into client_usage_records (org_id, client_event_id, key_id, app_id, model_handle, model_id, in_tokens,
            out_tokens, cache_read_tokens, cache_write_tokens, estimated, occurred_at, recorded_at)
          select 'org', x.id, 'key', '', 'm', 'm', 1, 1, 0, 0, false, now(), x.at::timestamptz
          from (values ('old', '2020-01-01'), ('recent', now()::text)) as x(id, at)`
        yield* sql`insert into plan_end_users (org_id, month, end_user_id) values ('org', '2020-01', 'ada')`
        const { removed } = yield* (yield* Retention).run
        expect(removed).toBe(3n)
        expect(yield* sql`select id from sessions`).toEqual([{ id: "recent" }])
        expect(yield* sql`select client_event_id from client_usage_records`).toEqual([{ client_event_id: "recent" }])
      }),
    )

    it.effect("removes tenants that were closed before that; organisations stay while books name them", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const paid = yield* fund(unit)
        yield* sql`
          insert into tenants (kind, id, org_id, document, is_declared, status, changed_at)
          select kind, id, org, '{"name": "x"}', false, status, at::timestamptz
          from (values
            ('org', ${paid}, ${paid}, 'closed', '2020-01-01'), ('app', 'a_paid', ${paid}, 'closed', '2020-01-01'),
            ('org', 'never', 'never', 'closed', '2020-01-01'), ('org', 'lately', 'lately', 'closed', now()::text),
            ('org', 'open', 'open', 'active', '2020-01-01'), ('app', 'a_old', 'open', 'closed', '2020-01-01'),
            ('user', 'u_old', 'open', 'closed', '2020-01-01'), ('app', 'a_open', 'open', 'disabled', '2020-01-01'))
            as x(kind, id, org, status, at)`
        yield* sql`
          insert into app_keys (id, app_id, secret_sha256, scopes, origin)
          select 'k_' || app, app, sha256('k'), '{}', 'admin' from (values ('a_old'), ('a_open')) as x(app)`
        const { run } = yield* Retention
        expect((yield* run).removed).toBe(4n)
        const left = yield* sql<{ id: string }>`select id from tenants order by id`
        expect(left.map(({ id }) => id)).toEqual(["a_open", "lately", "open", paid].sort())
        expect(yield* sql`select id from app_keys`).toEqual([{ id: "k_a_open" }])
        expect((yield* run).removed).toBe(0n)
      }),
    )

    it.effect("erases the kept responses of organisations, applications and people that are closed", () =>
      Effect.gen(function* () {
        const { of } = yield* Shards
        const sql = yield* SqlClient.SqlClient
        const tag = randomUUID()
        const closed = `closed_${tag}`
        const open = `open_${tag}`
        yield* sql`
          insert into tenants (kind, id, org_id, document, is_declared, status)
          select kind, id, org, '{"name": "x"}', false, status
          from (values ('org', ${closed}, ${closed}, 'closed'), ('org', ${open}, ${open}, 'active'),
            ('app', ${`gone_${tag}`}, ${open}, 'closed'), ('user', ${`left_${tag}`}, ${open}, 'closed'))
            as x(kind, id, org, status)`
        const keep = (org: string, id: string, app: string, person: string) =>
          of(org).run(({ sql, books }) =>
            Effect.all([
              sql`
                insert into ${books}responses (org_id, day, id, app_id, person_id, end_user_id, model, state, erase_at, content,
                  object_id, object_bytes)
                values (${org}, ${books}response_day(${id}), ${id}, ${app}, ${person}, 'e', 'main', 'completed',
                  now() + interval '9 days', '', ${id}, 1)`,
              sql`
                insert into ${books}response_items (org_id, id, response_id, erase_at)
                values (${org}, ${`of ${id}`}, ${id}, now() + interval '9 days')`,
              sql`
                insert into ${books}conversations (org_id, id, app_id, person_id, end_user_id, erase_at, metadata)
                values (${org}, ${id}, ${app}, ${person}, 'e', now() + interval '9 days', '')`,
              sql`insert into ${books}content_objects (org_id, id, state) values (${org}, ${id}, 'named')`,
            ]),
          )
        const left = (org: string) =>
          of(org).run(
            ({ sql, books }) => sql<{ readonly table: string; readonly id: string }>`
              select 'responses' as table, id from ${books}responses where org_id = ${org}
              union all select 'items', id from ${books}response_items where org_id = ${org}
              union all select 'conversations', id from ${books}conversations where org_id = ${org}
              union all select 'objects', id from ${books}content_objects where org_id = ${org} and state = 'named'
              order by 1`,
          )
        const idOf = (letter: string) => `resp_${letter.repeat(16)}0g6c`
        yield* keep(closed, idOf("a"), "a", "")
        yield* keep(open, idOf("b"), "a", "")
        yield* keep(open, idOf("c"), `gone_${tag}`, "")
        yield* keep(open, idOf("d"), "", `left_${tag}`)
        yield* (yield* Retention).run
        expect(yield* left(closed)).toEqual([])
        const id = idOf("b")
        expect(yield* left(open)).toEqual([
          { table: "conversations", id },
          { table: "items", id: `of ${id}` },
          { table: "objects", id },
          { table: "responses", id },
        ])
      }),
    )

    it.effect("is safe when many nodes run it at once", () =>
      Effect.gen(function* () {
        const { run } = yield* Retention
        const runs = yield* Effect.all(
          Array.from({ length: 8 }, () => run),
          { concurrency: "unbounded" },
        )
        expect(runs.every(({ made, dropped }) => made === 0 && dropped === 0)).toBe(true)
      }),
    )
  })
})
