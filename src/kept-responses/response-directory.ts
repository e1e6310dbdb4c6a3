/** The kept responses and conversations of an organisation for its operator: their list, without content, and their erasure. */
import { Context, Effect, Layer, Schema } from "effect"
import { type ErasedResponses, type KeptResponseEntry, KeptResponseState } from "../protocol/control/kept-response.ts"
import { type OwnerFilter, ownerOfRow } from "../protocol/control/owner.ts"
import type { ServiceError } from "../protocol/error.ts"
import { type Page, pageOf, placeInTime } from "../protocol/values/cursor.ts"
import { type Actor, AuditLog } from "../store/audit-log.ts"
import { LongQueries } from "../store/connections.ts"
import { withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { isConversationId } from "./conversation.ts"

export class ResponseDirectory extends Context.Service<
  ResponseDirectory,
  {
    /** Newest first. */
    readonly list: (
      orgId: string,
      filter: OwnerFilter,
      page: { readonly limit: number; readonly cursor: string | undefined },
    ) => Effect.Effect<Page<KeptResponseEntry>, ServiceError<"bad_request"> | StoreUnavailable>
    /**
     * Erases responses with their items, events and replays, and conversations. The audit log has it before it happens.
     * @returns how many
     */
    readonly erase: (
      orgId: string,
      filter: OwnerFilter & { readonly id?: string | undefined },
      actor: Actor,
    ) => Effect.Effect<ErasedResponses, StoreUnavailable>
  }
>()("weir/kept-responses/ResponseDirectory") {
  static readonly layer = Layer.effect(
    ResponseDirectory,
    Effect.gen(function* () {
      const { shards } = yield* LongQueries
      const audit = yield* AuditLog
      return ResponseDirectory.of({
        list: Effect.fnUntraced(function* (orgId, { app, endUser, before }, { limit, cursor }) {
          const [at, lastId] = yield* placeInTime(cursor)
          const rows = yield* shards
            .of(orgId)
            .run(({ sql, books }) => {
              const where = (time: string) => sql`
                  org_id = ${orgId} and erase_at > now()
                  and (created_at, id) < (timestamptz 'epoch' + least(${at}::text::bigint, 4102444800000000) * interval '1 microsecond', ${lastId})
                  and ${sql.and([
                    sql`true`,
                    ...(app === undefined ? [] : [sql`app_id = ${app}`]),
                    ...(endUser === undefined ? [] : [sql`end_user_id = ${endUser}`]),
                    ...(before === undefined ? [] : [sql`${sql.literal(time)} < ${before}::text::timestamptz`]),
                  ])}
                  order by created_at desc, id desc limit ${limit + 1}::int`
              return sql`
                  select k.*, (extract(epoch from k.created_at) * 1000000)::bigint::text as micros, coalesce(k.own_bytes, (
                    select coalesce(sum(octet_length(i.content) + coalesce(i.object_bytes, 0)), 0)::float8 from ${books}conversation_items i
                    where i.org_id = ${orgId} and i.conversation_id = k.id)) as bytes
                  from (
                    (select id, created_at, model, state, is_background, app_id, person_id, end_user_id, previous_id,
                      octet_length(content) + coalesce(object_bytes, 0)::float8 as own_bytes, erase_at
                    from ${books}responses where ${where("created_at")})
                    union all
                    (select id, created_at, null, null, false, app_id, person_id, end_user_id, null, null, erase_at
                    from ${books}conversations where ${where("changed_at")})) k
                  order by k.created_at desc, k.id desc limit ${limit + 1}::int`
            })
            .pipe(bounded)
          const { data, nextCursor } = pageOf(readRows(rows), limit, ({ micros, id }) => [micros, id])
          return { data: data.map(entryOf), nextCursor }
        }),
        erase: Effect.fn("ResponseDirectory.erase")(function* (orgId, { id, app, endUser, before }, actor) {
          const filter = {
            ...(id !== undefined && { [isConversationId(id) ? "conversation" : "response"]: id }),
            ...(app !== undefined && { app }),
            ...(endUser !== undefined && { endUser }),
            ...(before !== undefined && { before }),
          }
          yield* audit.write("responses.erased", actor, filter, orgId)
          const [row] = yield* shards
            .of(orgId)
            .run(({ sql, books }) =>
              id === undefined || isConversationId(id)
                ? sql<ErasedResponses>`
                      select conversations, case when ${id !== undefined}::boolean then 0 else ${books}responses_remove(
                        ${orgId}, null, ${app ?? null}::text, ${endUser ?? null}::text,
                        ${before ?? null}::text::timestamptz) end as erased
                      from (
                        select ${books}conversations_remove(${orgId}, ${id ?? null}::text, ${app ?? null}::text,
                          ${endUser ?? null}::text, ${before ?? null}::text::timestamptz) as conversations offset 0) c`
                : sql<ErasedResponses>`
                      select ${books}responses_remove(${orgId}, ${id}, null, null, null) as erased, 0 as conversations`,
            )
            .pipe(bounded)
          return row ?? { erased: 0, conversations: 0 }
        }),
      })
    }),
  )
}

const bounded = withDeadline("60 seconds")

const Row = Schema.Struct({
  id: Schema.String,
  created_at: Schema.Date,
  micros: Schema.String,
  model: Schema.NullOr(Schema.String),
  state: Schema.NullOr(KeptResponseState),
  is_background: Schema.Boolean,
  app_id: Schema.String,
  person_id: Schema.String,
  end_user_id: Schema.String,
  previous_id: Schema.NullOr(Schema.String),
  bytes: Schema.Int,
  erase_at: Schema.Date,
})
const readRows = Schema.decodeUnknownSync(Schema.Array(Row))

const entryOf = (row: typeof Row.Type): KeptResponseEntry => ({
  id: row.id,
  kind: isConversationId(row.id) ? "conversation" : "response",
  createdAt: row.created_at.toISOString(),
  ...(row.model !== null && { model: row.model }),
  ...(row.state !== null && { state: row.state }),
  background: row.is_background,
  ...ownerOfRow(row),
  ...(row.previous_id !== null && { previous: row.previous_id }),
  bytes: row.bytes,
  eraseAt: row.erase_at.toISOString(),
})
