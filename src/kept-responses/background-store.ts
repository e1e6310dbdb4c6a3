/** Responses that run without their client, in PostgreSQL: their leases, their ends and their events. */
import { Context, Effect, Layer, Schema } from "effect"
import type { KeptFacts } from "../money/settlement.ts"
import type { Usage } from "../protocol/usage.ts"
import { queryDeadline } from "../store/database.ts"
import { inThoseThatAnswer, Shards } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { type RowContent, sealedColumns, sealedOf } from "./content-objects.ts"
import type { KeptOwner } from "./kept-response.ts"

/** A response whose content is sealed, and may be an object. */
export interface SealedResponse extends RowContent {
  readonly orgId: string
  readonly id: string
}

/** A response of a call: another call may have taken it, when the node of this one seemed dead. */
export interface CalledResponse {
  readonly orgId: string
  readonly id: string
  /** The gateway's request id of the call. */
  readonly ref: string
}

/** A response whose node has not renewed its lease. */
export interface LostResponse extends SealedResponse, CalledResponse {
  readonly owner: KeptOwner
  /** The counts for which it is billed, by the last checkpoint of its call; undefined if it has none. */
  readonly counts: BilledCounts | undefined
  /** Its request, sealed, and the caller's key; undefined if it cannot be repeated. */
  readonly again: { readonly keyId: string; readonly sealed: Uint8Array } | undefined
  /** Its work at a vendor, sealed; undefined if it runs at none. */
  readonly work: Uint8Array | undefined
  /** The request id that its settlement spends. */
  readonly requestId: string
  readonly createdAt: Date
}

/** The counts of a bill. */
export type BilledCounts = Pick<Usage, "inTokens" | "outTokens" | "cacheReadTokens" | "cacheWriteTokens" | "dims">

/** The outcome of taking a lost response for another call. */
export type Taken =
  /** The number of the next part of its events. */
  | { readonly _tag: "Taken"; readonly part: number }
  /** It may have been billed. */
  | { readonly _tag: "Spent" }
  /** It runs, has ended, or was taken by another node. */
  | { readonly _tag: "Gone" }

/** A part of the events of a response, sealed. */
export interface EventPart {
  readonly part: number
  readonly content: Uint8Array
}

export class BackgroundStore extends Context.Service<
  BackgroundStore,
  {
    readonly begin: (orgId: string, facts: KeptFacts, leaseMs: number) => Effect.Effect<void, StoreUnavailable>
    /**
     * Ends a response that runs.
     * @param ref the call that makes it; undefined for any
     * @returns false if it had ended, or another call makes it
     */
    readonly end: (
      response: SealedResponse,
      state: "failed" | "cancelled",
      ref: string | undefined,
    ) => Effect.Effect<boolean, StoreUnavailable>
    /** The sealed content of a response that was cancelled; undefined if there is none. */
    readonly cancelled: (orgId: string, id: string) => Effect.Effect<RowContent | undefined, StoreUnavailable>
    /**
     * Changes the content of a response that was cancelled.
     * @returns false if it is not there
     */
    readonly amend: (response: SealedResponse) => Effect.Effect<boolean, StoreUnavailable>
    /** @returns the ids of those that still run, or whose shard does not answer: others were cancelled, or taken for lost */
    readonly renew: (running: ReadonlyArray<CalledResponse>, leaseMs: number) => Effect.Effect<ReadonlySet<string>>
    /** Responses whose node has not renewed its lease. */
    readonly lost: (most: number) => Effect.Effect<ReadonlyArray<LostResponse>, StoreUnavailable>
    /** Takes a lost response for another call, if nothing was billed. @param ref the gateway's request id of that call */
    readonly repeat: (
      response: Pick<LostResponse, "orgId" | "id">,
      ref: string,
      leaseMs: number,
    ) => Effect.Effect<Taken, StoreUnavailable>
    /** Notes that a response runs at its vendor. @returns false if it has ended, was erased, or another call makes it */
    readonly works: (response: CalledResponse, work: Uint8Array) => Effect.Effect<boolean, StoreUnavailable>
    /** Adds nothing to a response that was erased, or that another call makes. */
    readonly addEvents: (
      response: CalledResponse,
      part: EventPart,
      keptMs: number,
    ) => Effect.Effect<void, StoreUnavailable>
    /** The parts of its events from a part on, in order. */
    readonly events: (
      orgId: string,
      id: string,
      from: number,
    ) => Effect.Effect<ReadonlyArray<EventPart>, StoreUnavailable>
  }
>()("weir/kept-responses/BackgroundStore") {
  static readonly layer = Layer.effect(
    BackgroundStore,
    Effect.gen(function* () {
      const shards = yield* Shards
      const bounded = yield* queryDeadline
      const at = (orgId: string) => shards.of(orgId)
      return BackgroundStore.of({
        begin: (orgId, { sealed, ...facts }, leaseMs) =>
          at(orgId)
            .run(
              ({ sql, books }) => sql`select ${books}response_begin(${orgId}, ${JSON.stringify(facts)}::text::jsonb,
                ${leaseMs}::double precision, ${Buffer.from(sealed, "base64")}::bytea)`,
            )
            .pipe(Effect.asVoid, bounded),
        end: ({ orgId, id, content, object }, state, ref) =>
          at(orgId)
            .run(
              ({ sql, books }) => sql<{ readonly ended: boolean }>`
                select ${books}response_end(${orgId}, ${id}, ${state}, ${content}::bytea, ${object?.id ?? null}::text,
                  ${object?.bytes ?? null}::bigint, ${ref ?? null}::text) as ended`,
            )
            .pipe(
              Effect.map(([row]) => row?.ended === true),
              bounded,
            ),
        cancelled: (orgId, id) =>
          at(orgId)
            .run(
              ({ sql, books }) => sql`
                select org_id, id, content, object_id, object_bytes::float8 as object_bytes from ${books}responses
                where org_id = ${orgId} and day = ${books}response_day(${id}) and id = ${id} and state = 'cancelled'`,
            )
            .pipe(
              Effect.map((rows) => readRows(rows).map(sealedOf)[0]),
              bounded,
            ),
        amend: ({ orgId, id, content, object }) =>
          at(orgId)
            .run(
              ({ sql, books }) => sql<{ readonly amended: boolean }>`
                select ${books}response_amend(${orgId}, ${id}, ${content}::bytea, ${object?.id ?? null}::text,
                  ${object?.bytes ?? null}::bigint) as amended`,
            )
            .pipe(
              Effect.map(([row]) => row?.amended === true),
              bounded,
            ),
        renew: Effect.fnUntraced(function* (running, leaseMs) {
          const byShard = Map.groupBy(running, ({ orgId }) => shards.indexOf(orgId))
          const renewed = yield* Effect.forEach(
            byShard.values(),
            (group) => {
              const [first] = group
              if (first === undefined) return Effect.succeed([])
              const [orgs, ids] = [group.map(({ orgId }) => orgId), group.map(({ id }) => id)]
              const refs = group.map(({ ref }) => ref)
              return at(first.orgId)
                .run(
                  ({ sql, books }) => sql<{ readonly id: string }>`
                    select id
                    from ${books}responses_renew(${orgs}::text[], ${ids}::text[], ${refs}::text[],
                      ${leaseMs}::double precision) id`,
                )
                .pipe(
                  bounded,
                  Effect.map((rows) => rows.map(({ id }) => id)),
                  Effect.catch(() => Effect.succeed(ids)),
                )
            },
            { concurrency: "unbounded" },
          )
          return new Set(renewed.flat())
        }),
        lost: (most) =>
          inThoseThatAnswer(
            shards,
            ({ sql, books }) => sql`
              select r.org_id, r.id, r.content, r.object_id, r.object_bytes::float8 as object_bytes, r.app_id, r.person_id,
                r.end_user_id, r.key_id, r.request, r.work, r.created_at, coalesce(r.ref, ${books}response_request(r.id)) as ref,
                coalesce(r.request_id, ${books}response_request(r.id)) as request_id, h.usage
              from (
                select * from ${books}responses q
                where q.state = 'in_progress' and q.lease_until < now() order by q.lease_until limit ${most}) r
              left join ${books}holds h on h.org_id = r.org_id and h.ref = coalesce(r.ref, ${books}response_request(r.id))`,
          ).pipe(
            Effect.map((rows) => readLost(rows).map(lostOf)),
            bounded,
          ),
        repeat: ({ orgId, id }, ref, leaseMs) =>
          at(orgId)
            .run(
              ({ sql, books }) => sql<{ readonly outcome: string; readonly part: number }>`
                select outcome, part from ${books}response_repeat(${orgId}, ${id}, ${ref}, ${leaseMs}::double precision)`,
            )
            .pipe(
              Effect.map(([row]): Taken => {
                if (row?.outcome === "taken") return { _tag: "Taken", part: row.part }
                return { _tag: row?.outcome === "spent" ? "Spent" : "Gone" }
              }),
              bounded,
            ),
        works: ({ orgId, id, ref }, work) =>
          at(orgId)
            .run(
              ({ sql, books }) => sql<{ readonly works: boolean }>`
                select ${books}response_works(${orgId}, ${id}, ${ref}, ${work}::bytea) as works`,
            )
            .pipe(
              Effect.map(([row]) => row?.works === true),
              bounded,
            ),
        addEvents: ({ orgId, id, ref }, { part, content }, keptMs) =>
          at(orgId)
            .run(
              ({ sql, books }) => sql`
                insert into ${books}response_events (org_id, response_id, part, erase_at, content)
                select ${orgId}, ${id}, ${part}, now() + ${keptMs}::double precision * interval '1 millisecond', ${content}::bytea
                where exists (
                  select from ${books}responses r
                  where r.org_id = ${orgId} and r.day = ${books}response_day(${id}) and r.id = ${id}
                    and coalesce(r.ref, ${books}response_request(${id})) = ${ref})
                  and not ${books}books_moved()
                on conflict do nothing`,
            )
            .pipe(Effect.asVoid, bounded),
        events: (orgId, id, from) =>
          at(orgId)
            .run(
              ({ sql, books }) => sql`
                select part, content from ${books}response_events
                where org_id = ${orgId} and response_id = ${id} and part >= ${from} order by part limit ${mostParts}`,
            )
            .pipe(Effect.map(readParts), bounded),
      })
    }),
  )
}

/** The most parts of events that are read at once. */
const mostParts = 16

const readRows = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ org_id: Schema.String, id: Schema.String, ...sealedColumns })),
)
const Counts = Schema.Struct({
  in_tokens: Schema.Int,
  out_tokens: Schema.Int,
  cache_read_tokens: Schema.Int,
  cache_write_tokens: Schema.Int,
  dims: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Int))),
})
const LostRow = Schema.Struct({
  org_id: Schema.String,
  id: Schema.String,
  ...sealedColumns,
  app_id: Schema.String,
  person_id: Schema.String,
  end_user_id: Schema.String,
  key_id: Schema.NullOr(Schema.String),
  request: Schema.NullOr(Schema.Uint8Array),
  work: Schema.NullOr(Schema.Uint8Array),
  created_at: Schema.Date,
  ref: Schema.String,
  request_id: Schema.String,
  usage: Schema.NullOr(Counts),
})
const readLost = Schema.decodeUnknownSync(Schema.Array(LostRow))
const lostOf = (row: typeof LostRow.Type): LostResponse => ({
  orgId: row.org_id,
  id: row.id,
  ...sealedOf(row),
  ref: row.ref,
  owner: { app: row.app_id, person: row.person_id, endUser: row.end_user_id },
  counts: row.usage === null ? undefined : countsOf(row.usage),
  again: row.key_id === null || row.request === null ? undefined : { keyId: row.key_id, sealed: row.request },
  work: row.work ?? undefined,
  requestId: row.request_id,
  createdAt: row.created_at,
})
const countsOf = (usage: typeof Counts.Type): BilledCounts => ({
  inTokens: usage.in_tokens,
  outTokens: usage.out_tokens,
  cacheReadTokens: usage.cache_read_tokens,
  cacheWriteTokens: usage.cache_write_tokens,
  dims: usage.dims ?? {},
})
const readParts = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ part: Schema.Int, content: Schema.Uint8Array })),
)
