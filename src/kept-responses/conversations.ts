/** The conversations of organisations in PostgreSQL. Responses add their items with the settlement that bills them. */
import { randomBytes } from "node:crypto"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { WeirConfig } from "../config.ts"
import { isItemId } from "../dialects/openai-responses/items.ts"
import { keptResponsesMs, type Org } from "../protocol/catalogue/tenant.ts"
import { queryDeadline } from "../store/database.ts"
import { Sealing } from "../store/seal.ts"
import { Shards } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import {
  type ConversationItem,
  isConversationId,
  type Metadata,
  openItem,
  openMetadata,
  sealItem,
  sealMetadata,
} from "./conversation.ts"
import type { KeptOwner } from "./kept-response.ts"
import { makeReportUnopened } from "./unopened.ts"

export interface Conversation {
  readonly id: string
  readonly metadata: Metadata
  readonly createdAt: Date
}

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

export class Conversations extends Context.Service<
  Conversations,
  {
    /** @param ms the time for which it is kept after its last change */
    readonly create: (
      org: Org,
      owner: KeptOwner,
      metadata: Metadata,
      items: ReadonlyArray<ConversationItem>,
      ms: number,
    ) => Kept<Conversation>
    /** Undefined if there is none, or if it has another owner. */
    readonly find: (org: Org, owner: KeptOwner, id: string) => Kept<Conversation | undefined>
    /** @returns false if it was removed meanwhile; this holds for all that change a conversation */
    readonly update: (org: Org, id: string, metadata: Metadata, ms: number) => Kept<boolean>
    /** Also where its organisation keeps none any more. */
    readonly remove: (org: Org, owner: KeptOwner, id: string) => Kept<boolean>
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
>()("weir/kept-responses/Conversations") {
  static readonly layer = Layer.effect(
    Conversations,
    Effect.gen(function* () {
      const shards = yield* Shards
      const { sealer } = yield* Sealing
      const bounded = yield* queryDeadline
      const clock = yield* Clock.Clock
      const { bodyMaxBytes } = yield* WeirConfig
      const reported = yield* makeReportUnopened

      const after = (ms: number): Date => new Date(clock.currentTimeMillisUnsafe() + ms)
      /** The oldest part that is kept now: a shorter time holds for those that exist, too. */
      const since = (org: Org): Date | undefined => {
        const ms = keptResponsesMs(org)
        return ms === undefined ? undefined : after(-ms)
      }

      const opened = (org: Org, id: string, rows: ReadonlyArray<unknown>): ReadonlyArray<ConversationItem> =>
        readItems(rows).flatMap((row) => openItem(sealer, org.id, id, row, mostItemBytes) ?? [])

      /** Adds sealed items to a conversation. */
      const append = Effect.fnUntraced(function* (
        org: Org,
        id: string,
        items: ReadonlyArray<ConversationItem>,
        ms: number,
      ) {
        const ids = items.map((item) => item.id)
        const contents = items.map((item) => sealItem(sealer, org.id, id, item))
        const [row] = yield* shards
          .of(org.id)
          .run(
            ({ sql, books }) => sql<{ readonly done: Addition }>`
              select ${books}conversation_add(${org.id}, ${id}, ${ids}::text[], ${contents}::bytea[],
                ${after(ms)}::timestamptz, ${mostConversationItems}::integer, ${bodyMaxBytes}::bigint) as done`,
          )
          .pipe(bounded)
        return row?.done ?? "missing"
      })

      return Conversations.of({
        create: Effect.fnUntraced(function* (org, { app, person, endUser }, metadata, items, ms) {
          const id = `conv_${randomBytes(16).toString("hex")}`
          const sealed = sealMetadata(sealer, org.id, id, metadata)
          const rows = yield* shards
            .of(org.id)
            .run(
              ({ sql, books }) => sql`
                insert into ${books}conversations (org_id, id, app_id, person_id, end_user_id, erase_at, metadata)
                select ${org.id}, ${id}, ${app}, ${person}, ${endUser}, ${after(ms)}::timestamptz, ${sealed}::bytea
                where not ${books}books_moved()
                returning created_at`,
            )
            .pipe(bounded)
          if (items.length > 0) yield* append(org, id, items, ms)
          const [row] = readCreated(rows)
          return { id, metadata, createdAt: row?.created_at ?? after(0) }
        }),
        find: Effect.fnUntraced(function* (org, { app, person, endUser }, id) {
          const oldest = since(org)
          if (!isConversationId(id) || oldest === undefined) return undefined
          const rows = yield* shards
            .of(org.id)
            .run(
              ({ sql, books }) => sql`
                select created_at, metadata from ${books}conversations
                where org_id = ${org.id} and id = ${id} and app_id = ${app} and person_id = ${person}
                  and end_user_id = ${endUser} and erase_at > now() and changed_at > ${oldest}::timestamptz`,
            )
            .pipe(bounded)
          const [row] = readConversations(rows)
          const metadata = row && reported(openMetadata(sealer, org.id, id, row.metadata), id)
          return metadata && { id, metadata, createdAt: row.created_at }
        }),
        update: Effect.fnUntraced(function* (org, id, metadata, ms) {
          const sealed = sealMetadata(sealer, org.id, id, metadata)
          const rows = yield* shards
            .of(org.id)
            .run(
              ({ sql, books }) => sql`
                update ${books}conversations set metadata = ${sealed}::bytea, changed_at = clock_timestamp(),
                  erase_at = greatest(erase_at, ${after(ms)}::timestamptz)
                where org_id = ${org.id} and id = ${id} and not ${books}books_moved() returning id`,
            )
            .pipe(bounded)
          return rows.length > 0
        }),
        remove: Effect.fnUntraced(function* (org, { app, person, endUser }, id) {
          if (!isConversationId(id)) return false
          const { run } = shards.of(org.id)
          const own = yield* run(
            ({ sql, books }) => sql`
              select from ${books}conversations
              where org_id = ${org.id} and id = ${id} and app_id = ${app} and person_id = ${person}
                and end_user_id = ${endUser} and erase_at > now()`,
          ).pipe(bounded)
          if (own.length === 0) return false
          const [row] = yield* run(
            ({ sql, books }) => sql<{ readonly removed: number }>`
              select ${books}conversations_remove(${org.id}, ${id}, null, null, null) as removed`,
          ).pipe(bounded)
          return (row?.removed ?? 0) > 0
        }),
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
                  select id, content from ${books}conversation_items
                  where org_id = ${org.id} and conversation_id = ${id} and place > ${place}::bigint
                    and erase_at > now() and created_at > ${oldest}::timestamptz
                  order by place limit ${most}`
              : sql`
                  select id, content from ${books}conversation_items
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
            const item = openItem(sealer, org.id, id, row, mostItemBytes)
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
                select id, content from ${books}conversation_items
                where org_id = ${org.id} and conversation_id = ${id} and id = ${itemId}
                  and erase_at > now() and created_at > ${oldest}::timestamptz
                order by place desc limit 1`,
            )
            .pipe(bounded)
          return opened(org, id, rows)[0]
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
                select distinct on (i.id) i.id, i.content, i.conversation_id
                from ${books}conversation_items i
                join ${books}conversations v on v.org_id = i.org_id and v.id = i.conversation_id
                where i.org_id = ${org.id} and i.id = any(${ids}::text[]) and v.app_id = ${app}
                  and v.person_id = ${person} and v.end_user_id = ${endUser} and i.erase_at > now()
                  and i.created_at > ${oldest}::timestamptz
                order by i.id, i.created_at desc`,
            )
            .pipe(bounded)
          const items: Array<ConversationItem> = []
          let left = mostBytes
          for (const row of readNamed(rows)) {
            const item = openItem(sealer, org.id, row.conversation_id, row, mostItemBytes)
            left -= item?.text.length ?? 0
            if (left < 0) return undefined
            if (item !== undefined) items.push(item)
          }
          return items
        }),
        all: Effect.fnUntraced(function* (org, id, mostBytes, before = maxPlace) {
          const oldest = since(org)
          if (oldest === undefined) return []
          // The database stops at the limit: contents are compressed, and smaller than their texts.
          const rows = yield* shards
            .of(org.id)
            .run(
              ({ sql, books }) => sql`
                select id, content from (
                  select place, id, content, sum(octet_length(content)) over (order by place) - octet_length(content) as before
                  from ${books}conversation_items
                  where org_id = ${org.id} and conversation_id = ${id} and place < ${before}::bigint
                    and erase_at > now() and created_at > ${oldest}::timestamptz) i
                where before <= ${mostBytes}::bigint order by place limit ${mostItems + 1}`,
            )
            .pipe(bounded)
          if (rows.length > mostItems) return undefined
          const items: Array<ConversationItem> = []
          let left = mostBytes
          for (const row of readItems(rows)) {
            const item = openItem(sealer, org.id, id, row, mostItemBytes)
            left -= item?.text.length ?? 0
            if (left < 0) return undefined
            if (item !== undefined) items.push(item)
          }
          return items
        }),
      })
    }),
  )
}

const maxPlace = "9223372036854775807"

const readNamed = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ id: Schema.String, content: Schema.Uint8Array, conversation_id: Schema.String })),
)
const readItems = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ id: Schema.String, content: Schema.Uint8Array })),
)
const readConversations = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ created_at: Schema.Date, metadata: Schema.Uint8Array })),
)
const readCreated = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ created_at: Schema.Date })))
const readPlaces = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ place: Schema.NullOr(Schema.String) })))
