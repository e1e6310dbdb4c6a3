/** The audit log: append-only, in one order under concurrency, and tamper-evident. */
import { readFileSync } from "node:fs"
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AuditLog, type AuditPlace, auditStart } from "../../../src/store/audit-log.ts"
import { LongQueries } from "../../../src/store/connections.ts"
import { Shards } from "../../../src/store/shards/shards.ts"
import { layerTestDatabase } from "../../support/books.ts"

/** One client for all queries: only its own transaction sees rows that a test changes and rolls back. */
const sameClient = Layer.effect(
  LongQueries,
  Effect.gen(function* () {
    return { sql: yield* SqlClient.SqlClient, shards: yield* Shards }
  }),
)
const services = AuditLog.layer.pipe(Layer.provide(sameClient), Layer.provideMerge(layerTestDatabase))

const append = (detail: object) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`select audit_append('test', null, 'service', 'test', ${JSON.stringify(detail)}::text::jsonb)`,
  )

/** Verifies all of it, in parts. */
const verified = (part = 100_000) =>
  Effect.gen(function* () {
    const { verify } = yield* AuditLog
    let from: AuditPlace = auditStart
    while (true) {
      const verdict = yield* verify(from, part)
      if (verdict.broken !== undefined || verdict.place.seq === verdict.head.seq) return verdict
      from = verdict.place
    }
  })

/** The result of a verification after a change that is then reverted. */
const verifiedAfter = (tampering: (sql: SqlClient.SqlClient, last: bigint) => Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const told: Array<{ readonly last: bigint; readonly broken: bigint | undefined }> = []
    const spoil = Effect.gen(function* () {
      yield* sql`alter table audit_log disable trigger user`
      const [row] = yield* sql<{ last: bigint }>`select max(seq) as last from audit_log`
      const last = BigInt(row?.last ?? 0)
      yield* tampering(sql, last)
      told.push({ last, broken: (yield* verified(2)).broken })
      return yield* Effect.fail("undo")
    })
    yield* Effect.exit(sql.withTransaction(spoil))
    return told[0]
  })

layer(services, { excludeTestServices: true, timeout: "60 seconds" })("the audit log", (it) => {
  describe("a receiver's address", () => {
    it.effect("is in no entry with its secrets, also in those of before; the chain is whole again", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const urls = ["https://u:p@hooks.example/a?token=s3cret#f", "https://hooks.example/b"]
        for (const url of urls) {
          const detail = JSON.stringify({ webhook: "w", url, events: [] })
          yield* sql`select audit_append('webhook.made', 'org', 'service', 'test', ${detail}::text::jsonb)`
          yield* append({ after: url.length })
        }
        const text = readFileSync(new URL("../../../migrations/0048_receivers_secrets.sql", import.meta.url), "utf8")
        yield* sql.unsafe(`do $migration$ begin ${text} end $migration$`)
        const rows = yield* sql<{ url: string }>`
          select detail ->> 'url' as url from audit_log where action = 'webhook.made' order by seq`
        expect(rows.map(({ url }) => url)).toEqual(["https://hooks.example/a", "https://hooks.example/b"])
        expect((yield* verified()).broken).toBeUndefined()
        const [last] = yield* sql<{ action: string }>`select action from audit_log order by seq desc limit 1`
        expect(last?.action).toBe("audit.masked")
        expect(Exit.isFailure(yield* Effect.exit(sql`delete from audit_log`))).toBe(true)
      }),
    )
  })

  describe("a chain", () => {
    it.effect("is valid and has no gap under concurrency", () =>
      Effect.gen(function* () {
        const before = (yield* verified()).head.seq
        yield* Effect.all(
          Array.from({ length: 50 }, (_, at) => append({ at })),
          { concurrency: "unbounded" },
        )
        const after = yield* verified()
        expect(after.place.seq).toBeGreaterThanOrEqual(before + 50n)
        expect(after.broken).toBeUndefined()
        expect(after.head.hash).toMatch(/^[0-9a-f]{64}$/)
        expect(yield* verified(7)).toEqual(after)
      }),
    )

    it.effect.each<[string, (sql: SqlClient.SqlClient, last: bigint) => Effect.Effect<unknown, unknown>, bigint]>([
      [
        "what an entry says",
        (sql, last) => sql`update audit_log set detail = '{"at":-1}' where seq = ${String(last - 3n)}::text::bigint`,
        3n,
      ],
      [
        "when it was",
        (sql, last) =>
          sql`update audit_log set at = at - interval '1 microsecond' where seq = ${String(last)}::text::bigint`,
        0n,
      ],
      ["that it was", (sql, last) => sql`delete from audit_log where seq = ${String(last - 3n)}::text::bigint`, 3n],
      ["how it ended", (sql, last) => sql`delete from audit_log where seq = ${String(last)}::text::bigint`, 0n],
    ])("tells a change of %s", ([_what, tampering, before]) =>
      Effect.gen(function* () {
        for (let count = 0; count < 5; count++) yield* append({ count })
        const told = yield* verifiedAfter(tampering)
        expect(told?.broken).toBe((told?.last ?? 0n) - before)
        expect((yield* verified()).broken).toBeUndefined()
      }),
    )

    it.effect("is broken for who kept a place that it does not have", () =>
      Effect.gen(function* () {
        const { verify } = yield* AuditLog
        yield* append({})
        const { head } = yield* verified()
        const hash = "0".repeat(64)
        expect((yield* verify({ seq: head.seq - 1n, hash }, 10)).broken).toBe(head.seq)
        expect((yield* verify({ seq: head.seq, hash }, 10)).broken).toBe(head.seq + 1n)
        expect((yield* verify({ seq: head.seq + 5n, hash }, 10)).broken).toBe(head.seq + 1n)
      }),
    )

    it.effect("cannot be changed by mistake: no update, no delete, no truncate", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* append({})
        for (const statement of ["update audit_log set action = 'x'", "delete from audit_log", "truncate audit_log"]) {
          expect(Exit.isFailure(yield* Effect.exit(sql.unsafe(statement)))).toBe(true)
        }
      }),
    )
  })
})
