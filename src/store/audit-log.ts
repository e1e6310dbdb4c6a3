/**
 * The audit log: append-only, each entry chained to the previous one by its hash. An entry is written by the statement
 * that makes the change (`audit_append`), so that neither exists without the other. Source: interface.md "Events".
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { withDeadline } from "./database.ts"
import type { StoreUnavailable } from "./unavailable.ts"

export interface AuditVerdict {
  readonly entries: number
  /** The hash of the newest entry, in hex. Keep it elsewhere to detect that the whole log was rewritten. */
  readonly head: string
  /** The first entry that is missing or was changed; undefined if all are valid. */
  readonly broken: bigint | undefined
}

export class AuditLog extends Context.Service<
  AuditLog,
  { readonly verify: Effect.Effect<AuditVerdict, StoreUnavailable> }
>()("weir/store/AuditLog") {
  static readonly layer = Layer.effect(
    AuditLog,
    Effect.map(SqlClient.SqlClient, (sql) => AuditLog.of({ verify: verify(sql) })),
  )
}

interface Checked {
  readonly checked: number
  readonly last_seq: bigint
  readonly last_hash: Uint8Array
  readonly broken: bigint | null
}

/** Entries per statement. */
const batch = 5000
const bounded = withDeadline("60 seconds")

const verify = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
): Effect.fn.Return<AuditVerdict, StoreUnavailable> {
  // Read first: entries appended later are not part of this verification.
  const [head] = yield* bounded(sql<{ seq: bigint; hash: Uint8Array }>`select seq, hash from audit_head`)
  const [start] = yield* bounded(sql<{ hash: Uint8Array }>`select sha256('weir audit log') as hash`)
  const end = BigInt(head?.seq ?? 0)
  let seq = 0n
  let hash = Buffer.from(start?.hash ?? [])
  while (seq < end) {
    const left = end - seq
    const limit = left < BigInt(batch) ? Number(left) : batch
    const [row] = yield* bounded(
      sql<Checked>`select * from audit_verify(${String(seq)}::text::bigint, ${hash}, ${limit}::int)`,
    )
    const lastSeq = BigInt(row?.last_seq ?? seq)
    const broken = row?.broken ?? (lastSeq === seq ? seq + 1n : null)
    if (broken !== null) return { entries: Number(lastSeq), head: hex(head?.hash), broken: BigInt(broken) }
    seq = lastSeq
    hash = Buffer.from(row?.last_hash ?? [])
  }
  const isHead = Buffer.from(head?.hash ?? []).equals(hash)
  return { entries: Number(seq), head: hex(head?.hash), broken: isHead ? undefined : seq + 1n }
})

const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("hex")
