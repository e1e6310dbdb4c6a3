/** The kept responses of organisations in PostgreSQL. They are written with the settlement that bills them. */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import type { AskedWith } from "../money/settlement.ts"
import { keptSince, type Org } from "../protocol/catalogue/tenant.ts"
import { dateOf, dayMs } from "../protocol/values/instant.ts"
import { queryDeadline } from "../store/database.ts"
import { Sealing } from "../store/seal.ts"
import { Shards } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { bytesOf, ContentObjects, sealedColumns, sealedOf } from "./content-objects.ts"
import { type KeptContent, type KeptOwner, openHash, openResponse } from "./kept-response.ts"
import { dayOfResponse, keptResponseId } from "./response-id.ts"
import { makeReportUnopened } from "./unopened.ts"

export const ResponseState = Schema.Literals([
  "queued",
  "in_progress",
  "completed",
  "incomplete",
  "failed",
  "cancelled",
])
export type ResponseState = typeof ResponseState.Type

export interface KeptResponse extends KeptContent {
  readonly id: string
  readonly previousId: string | undefined
  readonly state: ResponseState
  readonly isBackground: boolean
  readonly createdAt: Date
  /** The place in its conversation at which its items were appended; undefined if none were. */
  readonly conversationPlace: string | undefined
}

/** A thread that cannot be continued: a response of it is unknown, or it is too long. */
export type Thread =
  | { readonly _tag: "Found"; readonly responses: ReadonlyArray<KeptResponse> }
  | { readonly _tag: "Missing"; readonly id: string }
  | { readonly _tag: "TooLong" }

/** The largest content that is opened: a reply and a request have limits of their own, far below. */
const mostContentBytes = 512 * 1024 * 1024
/** The longest time for which an organisation can keep responses. */
const mostDays = 400
/** The most responses of one thread. */
const mostTurns = 10_000

export class KeptResponses extends Context.Service<
  KeptResponses,
  {
    /** Undefined if there is none, or if it has another owner. */
    readonly find: (org: Org, owner: KeptOwner, id: string) => Effect.Effect<KeptResponse | undefined, StoreUnavailable>
    /** The state of a response, without its content. */
    readonly stateOf: (
      org: Org,
      owner: KeptOwner,
      id: string,
    ) => Effect.Effect<Omit<KeptResponse, keyof KeptContent> | undefined, StoreUnavailable>
    /**
     * A response in the background, by the caller's own request id; undefined if there is none.
     * @param sinceMs the time from which requests are remembered
     */
    readonly ofRequest: (
      org: Org,
      owner: KeptOwner,
      asked: Pick<AskedWith, "key" | "request">,
      sinceMs: number,
    ) => Effect.Effect<{ readonly id: string; readonly payloadHash: string } | undefined, StoreUnavailable>
    /** The id of a response by the request id of its call, also where none is kept any more; undefined if there is none. */
    readonly idOf: (org: Org, requestId: string) => Effect.Effect<string | undefined, StoreUnavailable>
    /**
     * A response with all that it continues, the oldest first.
     * @param mostBytes the largest sum of their contents
     */
    readonly thread: (
      org: Org,
      owner: KeptOwner,
      id: string,
      mostBytes: number,
    ) => Effect.Effect<Thread, StoreUnavailable>
    /** The ids of the owner's responses that have the items, by the ids of these; the newest of several. */
    readonly ofItems: (
      org: Org,
      owner: KeptOwner,
      ids: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyMap<string, string>, StoreUnavailable>
    /** A response that runs, also where its organisation keeps none any more. */
    readonly running: (
      org: Org,
      owner: KeptOwner,
      id: string,
    ) => Effect.Effect<KeptResponse | undefined, StoreUnavailable>
    /** Also where its organisation keeps none any more. @returns false if there was none */
    readonly remove: (org: Org, owner: KeptOwner, id: string) => Effect.Effect<boolean, StoreUnavailable>
  }
>()("weir/kept-responses/KeptResponses") {
  static readonly layer = Layer.effect(
    KeptResponses,
    Effect.gen(function* () {
      const shards = yield* Shards
      const { sealer } = yield* Sealing
      const bounded = yield* queryDeadline
      const clock = yield* Clock.Clock
      const objects = yield* ContentObjects
      const reported = yield* makeReportUnopened

      const since = (org: Org): Date | undefined => keptSince(org, clock.currentTimeMillisUnsafe())

      const opened = (org: Org, row: typeof Row.Type, sealed: Uint8Array | undefined): KeptResponse | undefined => {
        const found = sealed && openResponse(sealer, org.id, { id: row.id, content: sealed }, mostContentBytes)
        const content = reported(found, row.id)
        return content && { ...content, ...factsOf(row) }
      }
      const read = (org: Org, row: typeof Row.Type) =>
        Effect.map(objects.read(org.id, sealedOf(row)), (sealed) => opened(org, row, sealed))

      /**
       * @param column the content, or an empty one: that of a long response takes time
       * @param oldest the time after which it was made; undefined if none is kept
       */
      const rowOf = Effect.fnUntraced(function* (
        org: Org,
        { app, person, endUser }: KeptOwner,
        id: string,
        column: "content" | "''::bytea",
        oldest = since(org),
      ) {
        const day = dayOfResponse(id)
        if (day === undefined || oldest === undefined) return undefined
        const rows = yield* shards
          .of(org.id)
          .run(
            ({ sql, books }) => sql`
              select id, previous_id, state, is_background, created_at, conversation_place::text,
                ${sql.literal(column)} as content, object_id, object_bytes::float8 as object_bytes
              from (
                -- It is found by its key: a partition of today has no statistics yet, and an index by owner.
                select * from ${books}responses
                where org_id = ${org.id} and day = ${day}::text::date and id = ${id} offset 0) found
              where app_id = ${app} and person_id = ${person} and end_user_id = ${endUser} and erase_at > now() and created_at > ${oldest}`,
          )
          .pipe(bounded)
        return readRows(rows)[0]
      })

      const stateOf = (org: Org, owner: KeptOwner, id: string) =>
        Effect.map(rowOf(org, owner, id, "''::bytea"), (row) => row && factsOf(row))

      return KeptResponses.of({
        find: Effect.fnUntraced(function* (org, owner, id) {
          const row = yield* rowOf(org, owner, id, "content")
          return row && (yield* read(org, row))
        }),
        stateOf,
        ofRequest: Effect.fnUntraced(function* (org, { app, person, endUser }, { key, request }, sinceMs) {
          const oldest = since(org)
          if (oldest === undefined) return undefined
          const rows = yield* shards
            .of(org.id)
            .run(
              ({ sql, books }) => sql`
                select id, request_hash from (
                  select id, request_hash, created_at from ${books}responses
                  where org_id = ${org.id} and day >= ${dateOf(sinceMs)}::text::date and key_id = ${key}
                    and request_id = ${request} and app_id = ${app} and person_id = ${person} and end_user_id = ${endUser}
                    and erase_at > now() and created_at > ${new Date(Math.max(sinceMs, oldest.getTime()))}
                  -- They are few: they are found by the request, and not by their time.
                  offset 0) found
                order by created_at desc limit 1`,
            )
            .pipe(bounded)
          const [row] = readAsked(rows)
          const payloadHash = row && openHash(sealer, org.id, row.id, row.request_hash)
          return payloadHash === undefined ? undefined : { id: row?.id ?? "", payloadHash }
        }),
        idOf: Effect.fnUntraced(function* (org, requestId) {
          const oldest = since(org) ?? new Date(clock.currentTimeMillisUnsafe() - mostDays * dayMs)
          const days = daysBetween(oldest.getTime(), clock.currentTimeMillisUnsafe() + dayMs)
          const ids = days.map((atMs) => keptResponseId(requestId, atMs))
          const rows = yield* shards
            .of(org.id)
            .run(
              ({ sql, books }) => sql<{ id: string }>`
                select r.id from unnest(${days.map(dateOf)}::text[], ${ids}::text[]) as x(day, id)
                cross join lateral (
                  select q.id from ${books}responses q
                  where q.org_id = ${org.id} and q.day = x.day::date and q.id = x.id limit 1) r`,
            )
            .pipe(bounded)
          return rows[0]?.id
        }),
        thread: Effect.fnUntraced(function* (org, { app, person, endUser }, id, mostBytes) {
          const day = dayOfResponse(id)
          const oldest = since(org)
          if (day === undefined || oldest === undefined) return missing(id)
          const rows = yield* shards
            .of(org.id)
            .run(
              ({ sql, books }) => sql`
                select id, previous_id, state, is_background, created_at, conversation_place::text, content, object_id,
                  object_bytes::float8 as object_bytes
                from ${books}response_thread(${org.id}, ${day}::text::date, ${id}, ${app}, ${person}, ${endUser},
                  ${oldest}::timestamptz, ${mostTurns}::integer, ${mostBytes}::bigint)`,
            )
            .pipe(bounded)
          const found = readRows(rows)
          const last = found.at(-1)
          if (last === undefined) return missing(id)
          const isTooLong = found.length >= mostTurns || sumOf(found, bytesOf) > mostBytes
          if (last.previous_id !== null) return isTooLong ? tooLong : missing(last.previous_id)
          const responses: Array<KeptResponse> = []
          let left = mostBytes
          const oldestFirst = found.toReversed()
          const contents = yield* objects.readAll(org.id, oldestFirst.map(sealedOf))
          for (const [at, row] of oldestFirst.entries()) {
            const response = opened(org, row, contents[at])
            if (response === undefined) return missing(row.id)
            left -= response.response.length + sumOf(response.input, ({ length }) => length)
            if (left < 0) return tooLong
            responses.push(response)
          }
          return { _tag: "Found", responses }
        }),
        ofItems: (org, { app, person, endUser }, ids) =>
          ids.length === 0
            ? Effect.succeed(new Map())
            : shards
                .of(org.id)
                .run(
                  ({ sql, books }) => sql<{ id: string; response_id: string }>`
                    select i.id, i.response_id from ${books}response_items i
                    cross join lateral (
                      select * from ${books}responses q
                      where q.org_id = i.org_id and q.day = ${books}response_day(i.response_id) and q.id = i.response_id
                      offset 0) r
                    where i.org_id = ${org.id} and i.id = any(${ids}::text[]) and i.erase_at > now() and r.app_id = ${app}
                      and r.person_id = ${person} and r.end_user_id = ${endUser}
                    order by r.created_at`,
                )
                .pipe(
                  Effect.map((rows) => new Map(rows.map(({ id, response_id }) => [id, response_id]))),
                  bounded,
                ),
        running: Effect.fnUntraced(function* (org, owner, id) {
          const row = yield* rowOf(org, owner, id, "content", anyTime)
          return row?.state === "in_progress" ? yield* read(org, row) : undefined
        }),
        remove: Effect.fnUntraced(function* (org, owner, id) {
          if ((yield* rowOf(org, owner, id, "''::bytea", anyTime)) === undefined) return false
          const [row] = yield* shards
            .of(org.id)
            .run(
              ({ sql, books }) => sql<{ removed: number }>`
                select ${books}responses_remove(${org.id}, ${id}, null, null, null) as removed`,
            )
            .pipe(bounded)
          return (row?.removed ?? 0) > 0
        }),
      })
    }),
  )
}

const anyTime = new Date(0)

/** A time in each day (UTC) from one time to another. */
const daysBetween = (fromMs: number, toMs: number): ReadonlyArray<number> =>
  Array.from({ length: Math.floor(toMs / dayMs) - Math.floor(fromMs / dayMs) + 1 }, (_, day) => fromMs + day * dayMs)

const sumOf = <A>(values: ReadonlyArray<A>, sizeOf: (value: A) => number): number =>
  values.reduce((sum, value) => sum + sizeOf(value), 0)

const tooLong: Thread = { _tag: "TooLong" }
const missing = (id: string): Thread => ({ _tag: "Missing", id })

const Row = Schema.Struct({
  id: Schema.String,
  previous_id: Schema.NullOr(Schema.String),
  state: ResponseState,
  is_background: Schema.Boolean,
  created_at: Schema.Date,
  conversation_place: Schema.NullOr(Schema.String),
  ...sealedColumns,
})
const factsOf = (row: typeof Row.Type) => ({
  id: row.id,
  previousId: row.previous_id ?? undefined,
  state: row.state,
  isBackground: row.is_background,
  createdAt: row.created_at,
  conversationPlace: row.conversation_place ?? undefined,
})

const readAsked = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ id: Schema.String, request_hash: Schema.Uint8Array })),
)
const readRows = Schema.decodeUnknownSync(Schema.Array(Row))
