/** Responses that run without their client, in PostgreSQL: their leases, their ends and their events. */
import { Context, Effect, Layer, Schema } from "effect"
import type { KeptFacts } from "../money/settlement.ts"
import { queryDeadline } from "../store/database.ts"
import { inThoseThatAnswer, Shards } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { type RowContent, sealedColumns, sealedOf } from "./content-objects.ts"

/** A response whose content is sealed, and may be an object. */
export interface SealedResponse extends RowContent {
  readonly orgId: string
  readonly id: string
}

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
     * @returns false if it had ended
     */
    readonly end: (response: SealedResponse, state: "failed" | "cancelled") => Effect.Effect<boolean, StoreUnavailable>
    /** The sealed content of a response that was cancelled; undefined if there is none. */
    readonly cancelled: (orgId: string, id: string) => Effect.Effect<RowContent | undefined, StoreUnavailable>
    /**
     * Changes the content of a response that was cancelled.
     * @returns false if it is not there
     */
    readonly amend: (response: SealedResponse) => Effect.Effect<boolean, StoreUnavailable>
    /** @returns the ids of those that still run, or whose shard does not answer: others were cancelled, or taken for lost */
    readonly renew: (
      running: ReadonlyArray<Pick<SealedResponse, "orgId" | "id">>,
      leaseMs: number,
    ) => Effect.Effect<ReadonlySet<string>>
    /** Responses whose node has not renewed its lease. */
    readonly lost: (most: number) => Effect.Effect<ReadonlyArray<SealedResponse>, StoreUnavailable>
    /** Adds nothing to a response that was erased. */
    readonly addEvents: (
      orgId: string,
      id: string,
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
        end: ({ orgId, id, content, object }, state) =>
          at(orgId)
            .run(
              ({ sql, books }) => sql<{ readonly ended: boolean }>`
                select ${books}response_end(${orgId}, ${id}, ${state}, ${content}::bytea, ${object?.id ?? null}::text,
                  ${object?.bytes ?? null}::bigint) as ended`,
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
              return at(first.orgId)
                .run(
                  ({ sql, books }) => sql<{ readonly id: string }>`
                    select id
                    from ${books}responses_renew(${orgs}::text[], ${ids}::text[], ${leaseMs}::double precision) id`,
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
              select org_id, id, content, object_id, object_bytes::float8 as object_bytes from ${books}responses
              where state = 'in_progress' and lease_until < now() order by lease_until limit ${most}`,
          ).pipe(
            Effect.map((rows) => readRows(rows).map((row) => ({ orgId: row.org_id, id: row.id, ...sealedOf(row) }))),
            bounded,
          ),
        addEvents: (orgId, id, { part, content }, keptMs) =>
          at(orgId)
            .run(
              ({ sql, books }) => sql`
                insert into ${books}response_events (org_id, response_id, part, erase_at, content)
                select ${orgId}, ${id}, ${part}, now() + ${keptMs}::double precision * interval '1 millisecond', ${content}::bytea
                where exists (
                  select from ${books}responses r
                  where r.org_id = ${orgId} and r.day = ${books}response_day(${id}) and r.id = ${id})
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
const readParts = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ part: Schema.Int, content: Schema.Uint8Array })),
)
