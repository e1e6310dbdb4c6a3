/**
 * The audit log: append-only, each entry chained to the previous one by its hash. An entry is written by the statement
 * that makes the change (`audit_append`), so that neither exists without the other.
 */
import { Context, Effect, Layer, type Schema } from "effect"
import { SqlClient } from "effect/sql"
import { LongQueries } from "./connections.ts"
import { withDeadline } from "./database.ts"
import type { StoreUnavailable } from "./unavailable.ts"

/** The author of a change: a person, an organisation by its own token, or an operator. */
export interface Actor {
  readonly type: "user" | "org" | "service"
  readonly id: string
}

/** An entry up to which the log is valid, and its hash. */
export interface AuditPlace {
  readonly seq: bigint
  /** In hex; empty before the first entry. */
  readonly hash: string
}

export interface AuditFilter {
  readonly org?: string | undefined
  /** The beginning of an action's name. */
  readonly action?: string | undefined
  readonly actor?: string | undefined
}

export interface AuditEntry {
  /** Its number. */
  readonly id: string
  readonly at: string
  readonly action: string
  readonly org: string | null
  readonly actorType: Actor["type"]
  readonly actor: string
  readonly detail: Schema.Json
}

export interface AuditVerdict {
  /** The last valid entry, or the one before the first that is not. */
  readonly place: AuditPlace
  /** The newest entry. Keep its hash elsewhere to detect that the whole log was rewritten. */
  readonly head: AuditPlace
  /** The first entry that is missing or was changed; undefined if all that were read are valid. */
  readonly broken: bigint | undefined
}

export class AuditLog extends Context.Service<
  AuditLog,
  {
    /** Entries, newest first. @param before only entries before this number */
    readonly list: (
      filter: AuditFilter,
      limit: number,
      before: bigint,
    ) => Effect.Effect<ReadonlyArray<AuditEntry>, StoreUnavailable>
    /** Writes an entry without a change in the database, such as a call with a credential that no catalogue in force has. */
    readonly write: (
      action: string,
      by: Actor,
      detail: Schema.Json,
      org?: string,
    ) => Effect.Effect<void, StoreUnavailable>
    /** Continues from a place that was found valid. @param most entries to read */
    readonly verify: (from: AuditPlace, most: number) => Effect.Effect<AuditVerdict, StoreUnavailable>
  }
>()("weir/store/AuditLog") {
  static readonly layer = Layer.effect(
    AuditLog,
    Effect.gen(function* () {
      const writing = yield* SqlClient.SqlClient
      const { sql } = yield* LongQueries
      return AuditLog.of({
        verify: (from, most) => verify(sql, from, most),
        write: (action, by, detail, org) =>
          bounded(writing`
            select audit_append(${action}, ${org ?? null}, ${by.type}, ${by.id}, ${JSON.stringify(detail)}::text::jsonb)
          `).pipe(Effect.asVoid),
        list: ({ org, action, actor }, limit, before) =>
          bounded(sql<AuditEntry>`
            select seq::text as id, to_json(at) #>> '{}' as at, action, org_id as org, actor_type as "actorType",
              actor_id as actor, detail
            from audit_log
            where seq < ${String(before)}::text::bigint
              and ${sql.and([
                sql`true`,
                ...(org === undefined ? [] : [sql`org_id = ${org}`]),
                ...(action === undefined ? [] : [sql`starts_with(action, ${action})`]),
                ...(actor === undefined ? [] : [sql`actor_id = ${actor}`]),
              ])}
            order by seq desc limit ${limit}::int`),
      })
    }),
  )
}

/** Before the first entry. */
export const auditStart: AuditPlace = { seq: 0n, hash: "" }

interface Checked {
  readonly last_seq: bigint
  readonly last_hash: Uint8Array
  readonly broken: bigint | null
}

/** Entries per statement. */
const batch = 5000
const bounded = withDeadline("60 seconds")

const verify = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  from: AuditPlace,
  most: number,
): Effect.fn.Return<AuditVerdict, StoreUnavailable> {
  // Read first: entries appended later are not part of this verification.
  const [newest] = yield* bounded(sql<{ seq: bigint; hash: Uint8Array; start: Uint8Array }>`
    select seq, hash, sha256('weir audit log') as start from audit_head`)
  const head = { seq: BigInt(newest?.seq ?? 0), hash: hex(newest?.hash) }
  let { seq } = from
  let hash = from.hash === "" ? hex(newest?.start) : from.hash
  for (let left = min(head.seq - seq, BigInt(most)); left > 0n; ) {
    const [row] = yield* bounded(sql<Checked>`
      select last_seq, last_hash, broken
      from audit_verify(${String(seq)}::text::bigint, decode(${hash}, 'hex'), ${Number(min(left, BigInt(batch)))}::int)`)
    const lastSeq = BigInt(row?.last_seq ?? seq)
    const broken = row?.broken ?? (lastSeq === seq ? seq + 1n : null)
    hash = hex(row?.last_hash)
    if (broken !== null) return { place: { seq: lastSeq, hash }, head, broken: BigInt(broken) }
    left -= lastSeq - seq
    seq = lastSeq
  }
  const isBroken = seq > head.seq || (seq === head.seq && hash !== head.hash)
  return { place: { seq, hash }, head, broken: isBroken ? min(seq, head.seq) + 1n : undefined }
})

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("hex")
