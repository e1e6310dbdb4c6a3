/** The items of conversations in PostgreSQL; large ones are objects. Responses add theirs with the settlement that bills them. */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { WeirConfig } from "../config.ts"
import { isItemId } from "../dialects/openai-responses/items.ts"
import { keptSince, type Org } from "../protocol/catalogue/tenant.ts"
import { queryDeadline } from "../store/database.ts"
import { Sealing } from "../store/seal.ts"
import { Shards } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { bytesOf, ContentObjects, sealedColumns, sealedOf } from "./content-objects.ts"
import { type ConversationItem, openItem, sealItem } from "./conversation.ts"
import type { KeptOwner } from "./kept-response.ts"
import { makeReportUnopened } from "./unopened.ts"

/** A part of a list of items. */
export interface ItemsQuery {
  readonly limit: number
  readonly order: "asc" | "desc"
  /** The id of the item after which it begins. */
  readonly after?: string | undefined
}

export interface ItemsPage {
  readonly items: ReadonlyArray<ConversationItem>
  readonly hasMore: boolean
}

/** The largest item that is opened: requests and replies have limits of their own, far below. */
const mostItemBytes = 256 * 1024 * 1024
/** The size from which a page of a list has no further item. */
const pageBytes = 8 * 1024 * 1024
/** The most items of a conversation: a client adds no more, and no response continues more. */
export const mostConversationItems = 10_000
/** The most items that are read: the last response may have gone beyond the limit. */
const mostItems = 100_000

export type Addition = "added" | "full" | "missing"

type Kept<A> = Effect.Effect<A, StoreUnavailable>

export class ConversationItems extends Context.Service<
  ConversationItems,
  {
    /** @returns `full` if it would have too many items, or more bytes than a request may have; then none is added */
    readonly append: (org: Org, id: string, items: ReadonlyArray<ConversationItem>, ms: number) => Kept<Addition>
    /** Undefined if no item has the id after which it begins. */
    readonly list: (org: Org, id: string, query: ItemsQuery) => Kept<ItemsPage | undefined>
    readonly item: (org: Org, id: string, itemId: string) => Kept<ConversationItem | undefined>
    readonly removeItem: (org: Org, id: string, itemId: string) => Kept<boolean>
    /** Items of any conversations of an owner, by their ids; undefined if they are together larger than so many bytes. */
    readonly named: (
      org: Org,
      owner: KeptOwner,
      ids: ReadonlyArray<string>,
      mostBytes: number,
    ) => Kept<ReadonlyArray<ConversationItem> | undefined>
    /**
     * Its items, the oldest first; undefined if they are together larger than so many bytes.
     * @param before the place before which they are; all if absent
     */
    readonly all: (
      org: Org,
      id: string,
      mostBytes: number,
      before?: string,
    ) => Kept<ReadonlyArray<ConversationItem> | undefined>
  }
>()("weir/kept-responses/ConversationItems") {
  static readonly layer = Layer.effect(
    ConversationItems,
    Effect.gen(function* () {
      const shards = yield* Shards
      const { sealer } = yield* Sealing
      const bounded = yield* queryDeadline
      const clock = yield* Clock.Clock
      const { bodyMaxBytes } = yield* WeirConfig
      const objects = yield* ContentObjects
      const reported = yield* makeReportUnopened

      const after = (ms: number): Date => new Date(clock.currentTimeMillisUnsafe() + ms)
      const since = (org: Org): Date | undefined => keptSince(org, clock.currentTimeMillisUnsafe())

      /** Items of rows as far as they can be opened; undefined if they are together larger than so many bytes. */
      const opened = Effect.fnUntraced(function* (
        org: Org,
        rows: ReadonlyArray<typeof ItemRow.Type>,
        mostBytes = Number.POSITIVE_INFINITY,
      ) {
        const contents = yield* objects.readAll(org.id, rows.map(sealedOf))
        const items: Array<ConversationItem> = []
        let left = mostBytes
        for (const [at, { id, conversation_id: conversationId }] of rows.entries()) {
          const content = contents[at]
          const item = content && openItem(sealer, org.id, conversationId, { id, content }, mostItemBytes)
          left -= item?.text.length ?? 0
          if (left < 0) return undefined
          reported(item, conversationId)
          if (item !== undefined) items.push(item)
        }
        return items
      })

      /** Adds sealed items to a conversation. */
      const append = Effect.fnUntraced(function* (
        org: Org,
        id: string,
        items: ReadonlyArray<ConversationItem>,
        ms: number,
      ) {
        const ids = items.map((item) => item.id)
        const rows = yield* objects.storeAll(
          org.id,
          items.map((item) => sealItem(sealer, org.id, id, item)),
        )
        const contents = rows.map(({ content }) => content)
        const names = rows.map(({ object }) => object?.id ?? "")
        const lengths = rows.map(({ object }) => object?.bytes ?? 0)
        const [row] = yield* shards
          .of(org.id)
          .run(
            ({ sql, books }) => sql<{ readonly done: Addition }>`
              select ${books}conversation_add(${org.id}, ${id}, ${ids}::text[], ${contents}::bytea[], ${names}::text[],
                ${lengths}::bigint[], ${after(ms)}::timestamptz, ${mostConversationItems}::integer,
                ${bodyMaxBytes}::bigint) as done`,
          )
          .pipe(bounded)
        const done = row?.done ?? "missing"
        if (done !== "added") yield* objects.discard(org.id, rows)
        return done
      })

      return ConversationItems.of({
        append,
        list: Effect.fnUntraced(function* (org, id, query) {
          const oldest = since(org)
          if (oldest === undefined) return undefined
          const isUp = query.order === "asc"
          const begin = query.after
          if (begin !== undefined && !isItemId(begin)) return undefined
          const { run } = shards.of(org.id)
          // An item that was sent twice is passed by, whichever way the list goes.
          const from =
            begin === undefined
              ? { place: isUp ? "-1" : maxPlace }
              : readPlaces(
                  yield* run(
                    ({ sql, books }) => sql`
                      select (case when ${isUp}::boolean then max(place) else min(place) end)::text as place
                      from ${books}conversation_items
                      where org_id = ${org.id} and conversation_id = ${id} and id = ${begin}`,
                  ).pipe(bounded),
                )[0]
          if (from === undefined || from.place === null) return undefined
          const { place } = from
          const most = query.limit + 1
          const rows = yield* run(({ sql, books }) =>
            isUp
              ? sql`
                  select ${columns(sql)} from ${books}conversation_items i
                  where org_id = ${org.id} and conversation_id = ${id} and place > ${place}::bigint
                    and erase_at > now() and created_at > ${oldest}::timestamptz
                  order by place limit ${most}`
              : sql`
                  select ${columns(sql)} from ${books}conversation_items i
                  where org_id = ${org.id} and conversation_id = ${id} and place < ${place}::bigint
                    and erase_at > now() and created_at > ${oldest}::timestamptz
                  order by place desc limit ${most}`,
          ).pipe(bounded)
          // Large items make a short page.
          const items: Array<ConversationItem> = []
          let bytes = 0
          let read = 0
          for (const row of readItems(rows.slice(0, query.limit))) {
            if (bytes > pageBytes) break
            read++
            const [item] = (yield* opened(org, [row])) ?? []
            bytes += item?.text.length ?? 0
            if (item !== undefined) items.push(item)
          }
          return { items, hasMore: rows.length > read }
        }),
        item: Effect.fnUntraced(function* (org, id, itemId) {
          const oldest = since(org)
          if (!isItemId(itemId) || oldest === undefined) return undefined
          const rows = yield* shards
            .of(org.id)
            .run(
              ({ sql, books }) => sql`
                select ${columns(sql)} from ${books}conversation_items i
                where org_id = ${org.id} and conversation_id = ${id} and id = ${itemId}
                  and erase_at > now() and created_at > ${oldest}::timestamptz
                order by place desc limit 1`,
            )
            .pipe(bounded)
          return (yield* opened(org, readItems(rows)))?.[0]
        }),
        removeItem: (org, id, itemId) =>
          !isItemId(itemId)
            ? Effect.succeed(false)
            : shards
                .of(org.id)
                .run(
                  ({ sql, books }) => sql<{ readonly done: boolean }>`
                    select ${books}conversation_cut(${org.id}, ${id}, ${itemId}) as done`,
                )
                .pipe(
                  Effect.map(([row]) => row?.done === true),
                  bounded,
                ),
        named: Effect.fnUntraced(function* (org, { app, person, endUser }, ids, mostBytes) {
          const oldest = since(org)
          if (oldest === undefined || ids.length === 0) return []
          const rows = yield* shards
            .of(org.id)
            .run(
              ({ sql, books }) => sql`
                select distinct on (i.id) ${columns(sql)}
                from ${books}conversation_items i
                join ${books}conversations v on v.org_id = i.org_id and v.id = i.conversation_id
                where i.org_id = ${org.id} and i.id = any(${ids}::text[]) and v.app_id = ${app}
                  and v.person_id = ${person} and v.end_user_id = ${endUser} and i.erase_at > now()
                  and i.created_at > ${oldest}::timestamptz
                order by i.id, i.created_at desc`,
            )
            .pipe(bounded)
          const found = readItems(rows)
          if (found.reduce((sum, row) => sum + bytesOf(row), 0) > mostBytes) return undefined
          return yield* opened(org, found, mostBytes)
        }),
        all: Effect.fnUntraced(function* (org, id, mostBytes, before = maxPlace) {
          const oldest = since(org)
          if (oldest === undefined) return []
          // The database stops at the limit: contents are compressed, and smaller than their texts.
          const rows = yield* shards
            .of(org.id)
            .run(
              ({ sql, books }) => sql`
                select ${columns(sql)} from (
                  select *, sum(octet_length(content) + coalesce(object_bytes, 0)) over (order by place)
                    - octet_length(content) - coalesce(object_bytes, 0) as before
                  from ${books}conversation_items
                  where org_id = ${org.id} and conversation_id = ${id} and place < ${before}::bigint
                    and erase_at > now() and created_at > ${oldest}::timestamptz) i
                where before <= ${mostBytes}::bigint order by place limit ${mostItems + 1}`,
            )
            .pipe(bounded)
          return rows.length > mostItems ? undefined : yield* opened(org, readItems(rows), mostBytes)
        }),
      })
    }),
  )
}

const maxPlace = "9223372036854775807"

const ItemRow = Schema.Struct({ id: Schema.String, conversation_id: Schema.String, ...sealedColumns })
const columns = (sql: SqlClient.SqlClient) =>
  sql.literal("i.id, i.conversation_id, i.content, i.object_id, i.object_bytes::float8 as object_bytes")

const readItems = Schema.decodeUnknownSync(Schema.Array(ItemRow))
const readPlaces = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ place: Schema.NullOr(Schema.String) })))
