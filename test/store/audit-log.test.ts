/** The audit log: append-only, in one order under concurrency, and tamper-evident. */
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AuditLog } from "../../src/store/audit-log.ts"
import { layerTestDatabase } from "../money/books.ts"

const services = AuditLog.layer.pipe(Layer.provideMerge(layerTestDatabase))

const append = (detail: object) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`select audit_append('test', null, 'service', 'test', ${JSON.stringify(detail)}::text::jsonb)`,
  )

/** The result of a verification after a change that is then reverted. */
const verifiedAfter = (tampering: (sql: SqlClient.SqlClient, last: bigint) => Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const auditLog = yield* AuditLog
    const told: Array<{ readonly last: bigint; readonly broken: bigint | undefined }> = []
    const spoil = Effect.gen(function* () {
      yield* sql`alter table audit_log disable trigger user`
      const [row] = yield* sql<{ last: bigint }>`select max(seq) as last from audit_log`
      const last = BigInt(row?.last ?? 0)
      yield* tampering(sql, last)
      told.push({ last, broken: (yield* auditLog.verify).broken })
      return yield* Effect.fail("undo")
    })
    yield* Effect.exit(sql.withTransaction(spoil))
    return told[0]
  })

layer(services, { excludeTestServices: true, timeout: "60 seconds" })("the audit log", (it) => {
  describe("a chain", () => {
    it.effect("is valid and has no gap under concurrency", () =>
      Effect.gen(function* () {
        const { entries } = yield* (yield* AuditLog).verify
        yield* Effect.all(
          Array.from({ length: 50 }, (_, at) => append({ at })),
          { concurrency: "unbounded" },
        )
        const after = yield* (yield* AuditLog).verify
        expect(after.entries).toBeGreaterThanOrEqual(entries + 50)
        expect(after.broken).toBeUndefined()
        expect(after.head).toMatch(/^[0-9a-f]{64}$/)
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
        expect((yield* (yield* AuditLog).verify).broken).toBeUndefined()
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
