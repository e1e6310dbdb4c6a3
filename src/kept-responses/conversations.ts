/** The conversations of organisations in PostgreSQL. */
import { randomBytes } from "node:crypto"
import { Clock, Context, Duration, Effect, Layer, Schema } from "effect"
import { atBackgroundSpeed } from "../background.ts"
import { WeirConfig } from "../config.ts"
import { keptSince, type Org } from "../protocol/catalogue/tenant.ts"
import { queryDeadline } from "../store/database.ts"
import { Sealing } from "../store/seal.ts"
import { Shards } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { type ConversationItem, isConversationId, type Metadata, openMetadata, sealMetadata } from "./conversation.ts"
import { ConversationItems } from "./conversation-items.ts"
import type { KeptOwner } from "./kept-response.ts"
import { makeReportUnopened } from "./unopened.ts"

export interface Conversation {
  readonly id: string
  readonly metadata: Metadata
  readonly createdAt: Date
}

/** The most organisations whose conversations a node has counted. */
const mostCounts = 10_000

type Kept<A> = Effect.Effect<A, StoreUnavailable>

export class Conversations extends Context.Service<
  Conversations,
  {
    /**
     * @param ms the time for which it is kept after its last change
     * @returns undefined if its owner or its organisation has as many as it may have
     */
    readonly create: (
      org: Org,
      owner: KeptOwner,
      metadata: Metadata,
      items: ReadonlyArray<ConversationItem>,
      ms: number,
    ) => Kept<Conversation | undefined>
    /** Undefined if there is none, or if it has another owner. */
    readonly find: (org: Org, owner: KeptOwner, id: string) => Kept<Conversation | undefined>
    /** @returns false if it was removed meanwhile; this holds for all that change a conversation */
    readonly update: (org: Org, id: string, metadata: Metadata, ms: number) => Kept<boolean>
    /** Also where its organisation keeps none any more. */
    readonly remove: (org: Org, owner: KeptOwner, id: string) => Kept<boolean>
  }
>()("weir/kept-responses/Conversations") {
  static readonly layer = Layer.effect(
    Conversations,
    Effect.gen(function* () {
      const shards = yield* Shards
      const { sealer } = yield* Sealing
      const bounded = yield* queryDeadline
      const clock = yield* Clock.Clock
      const { conversations, orgConversations } = yield* WeirConfig
      const countedMs = Duration.toMillis(yield* atBackgroundSpeed("1 minute"))
      const { append } = yield* ConversationItems
      const reported = yield* makeReportUnopened

      const after = (ms: number): Date => new Date(clock.currentTimeMillisUnsafe() + ms)
      const since = (org: Org): Date | undefined => keptSince(org, clock.currentTimeMillisUnsafe())

      /** The numbers of conversations that organisations had when they were counted, with those that this node has made since. */
      const counts = new Map<string, { conversations: number; readonly atMs: number }>()
      const orgHasRoom = Effect.fnUntraced(function* (orgId: string) {
        const known = counts.get(orgId)
        const nowMs = clock.currentTimeMillisUnsafe()
        if (known !== undefined && nowMs - known.atMs < countedMs) return known.conversations < orgConversations
        const [row] = yield* shards
          .of(orgId)
          .run(
            ({ sql, books }) => sql<{ readonly count: number }>`
              select count(*)::float8 as count from (
                select from ${books}conversations where org_id = ${orgId} limit ${orgConversations}::bigint) c`,
          )
          .pipe(bounded)
        if (counts.size >= mostCounts) counts.clear()
        const count = row?.count ?? 0
        counts.set(orgId, { conversations: count, atMs: nowMs })
        return count < orgConversations
      })

      return Conversations.of({
        create: Effect.fnUntraced(function* (org, { app, person, endUser }, metadata, items, ms) {
          const id = `conv_${randomBytes(16).toString("hex")}`
          const sealed = sealMetadata(sealer, org.id, id, metadata)
          if (!(yield* orgHasRoom(org.id))) return undefined
          const rows = yield* shards
            .of(org.id)
            .run(
              ({ sql, books }) => sql`
                select ${books}conversation_begin(${org.id}, ${id}, ${app}, ${person}, ${endUser}, ${after(ms)}::timestamptz,
                  ${sealed}::bytea, ${conversations}::bigint) as created_at`,
            )
            .pipe(bounded)
          const createdAt = readCreated(rows)[0]?.created_at ?? null
          if (createdAt === null) return undefined
          const count = counts.get(org.id)
          if (count !== undefined) count.conversations++
          if (items.length > 0) yield* append(org, id, items, ms)
          return { id, metadata, createdAt }
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
      })
    }),
  )
}

const readConversations = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ created_at: Schema.Date, metadata: Schema.Uint8Array })),
)
const readCreated = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ created_at: Schema.NullOr(Schema.Date) })))
