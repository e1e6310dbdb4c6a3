/** Events, and their deliveries to webhooks, in the database: from the shard of an event to the list of deliveries. */
import { Context, Effect, Layer, type Schema } from "effect"
import { SqlClient } from "effect/sql"
import { forAll } from "../background.ts"
import type { Delivery, DeliveryState } from "../protocol/control/webhook.ts"
import { queryDeadline } from "../store/database.ts"
import type { Shard } from "../store/shards/shard.ts"
import { Shards } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

/** The owner of a webhook, and its id. */
export interface WebhookName {
  /** An organisation; empty for the platform. */
  readonly owner: string
  readonly webhook: string
}

export interface DeliveryRow extends WebhookName {
  readonly event_id: string
  readonly type: string
  /** The event's organisation; empty if it is no organisation's. */
  readonly org_id: string
  readonly subject: string
  readonly data: Schema.JsonObject
  readonly at: Date
  readonly state: DeliveryState
  readonly attempts: number
  readonly status: number | null
  readonly problem: string | null
  readonly next_at: Date
  readonly gives_up_at: Date
  readonly ended_at: Date | null
}

/** A webhook of the catalogue, with the fields that events need. */
export interface PlatformWebhook {
  readonly id: string
  readonly events: ReadonlyArray<string>
}

export type Outcome = "delivered" | "again" | "failed"

export interface Attempted {
  readonly outcome: Outcome
  readonly status?: number
  readonly problem?: string
  readonly againMs: number
}

export interface DeliveryFilter {
  readonly owner?: string | undefined
  readonly webhook?: string | undefined
  readonly state?: DeliveryState | undefined
}

export interface Counted extends WebhookName {
  readonly pending: number
  readonly failed: number
  /** The age of the oldest pending delivery, in seconds. */
  readonly age_s: number
}

export class DeliveryStore extends Context.Service<
  DeliveryStore,
  {
    /**
     * Moves events to the deliveries.
     * @param platform webhooks that the catalogue in force has
     */
    readonly fanOut: (
      platform: Effect.Effect<ReadonlyArray<PlatformWebhook>, StoreUnavailable>,
    ) => Effect.Effect<void, StoreUnavailable>
    /** Webhooks with deliveries to send; of the platform's, only those that this node knows. */
    readonly due: (platform: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<WebhookName>, StoreUnavailable>
    /** Takes some deliveries to send; another node may take them after the lease. */
    readonly take: (
      name: WebhookName,
      most: number,
      leaseMs: number,
    ) => Effect.Effect<ReadonlyArray<DeliveryRow>, StoreUnavailable>
    /** Stores the outcome of an attempt. @returns the state; undefined if another node has taken it meanwhile */
    readonly attempted: (
      row: DeliveryRow,
      attempted: Attempted,
    ) => Effect.Effect<DeliveryState | undefined, StoreUnavailable>
    /** The newest first. */
    readonly list: (filter: DeliveryFilter, most: number) => Effect.Effect<ReadonlyArray<Delivery>, StoreUnavailable>
    readonly counts: Effect.Effect<ReadonlyArray<Counted>, StoreUnavailable>
    /** Sends a test event. */
    readonly test: (name: WebhookName) => Effect.Effect<Delivery, StoreUnavailable>
    /** Sends an ended delivery again; undefined if there is no such delivery, or it has not ended. */
    readonly resend: (name: WebhookName, event: string) => Effect.Effect<Delivery | undefined, StoreUnavailable>
  }
>()("weir/webhooks/DeliveryStore") {
  static readonly layer = Layer.effect(
    DeliveryStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const shards = yield* Shards
      const bounded = yield* queryDeadline

      /** Adds before it removes: an event that a crash leaves behind is added again, under the same id. */
      const moveEvents = Effect.fnUntraced(function* (
        { run }: Shard,
        platform: Effect.Effect<ReadonlyArray<PlatformWebhook>, StoreUnavailable>,
      ): Effect.fn.Return<void, StoreUnavailable> {
        for (let left = page; left === page; ) {
          const events = yield* bounded(
            run(({ sql, books }) => sql<EventRow>`select * from ${books}events_oldest(${page}::int)`),
          )
          if (events.length === 0) return
          const known = JSON.stringify((yield* platform).map(({ id, events }) => ({ id, events })))
          const items = events.map((event, item) => ({
            ...event,
            item,
            org_id: event.org_id.startsWith("@") ? "" : event.org_id,
          }))
          yield* bounded(sql`
            select webhooks_fan_out(${JSON.stringify(items)}::text::jsonb, ${known}::text::jsonb)`)
          const moved = JSON.stringify(events.map(({ org_id, id }) => ({ org_id, id })))
          yield* bounded(run(({ sql, books }) => sql`select ${books}events_remove(${moved}::text::jsonb)`))
          left = events.length
        }
      })

      return DeliveryStore.of({
        fanOut: (platform) => Effect.asVoid(forAll(shards.all, (shard) => moveEvents(shard, platform))),
        due: (platform) => bounded(sql<WebhookName>`select * from webhooks_due(${[...platform]}::text[])`),
        take: ({ owner, webhook }, most, leaseMs) =>
          bounded(sql<DeliveryRow>`
            select * from webhook_take(${owner}, ${webhook}, ${most}::int, ${leaseMs}::double precision) order by seq`),
        attempted: ({ owner, webhook, event_id, attempts }, { outcome, status, problem, againMs }) =>
          Effect.map(
            bounded(sql<{ state: DeliveryState | null }>`
              select webhook_attempted(${owner}, ${webhook}, ${event_id}, ${attempts}::int, ${outcome},
                ${status ?? null}::int, ${problem ?? null}::text, ${againMs}::double precision) as state`),
            ([row]) => row?.state ?? undefined,
          ),
        list: ({ owner, webhook, state }, most) =>
          Effect.map(
            bounded(sql<DeliveryRow>`
              select * from webhook_deliveries where ${sql.and([
                sql`true`,
                ...(owner === undefined ? [] : [sql`owner = ${owner}`]),
                ...(webhook === undefined ? [] : [sql`webhook = ${webhook}`]),
                ...(state === undefined ? [] : [sql`state = ${state}`]),
              ])}
              order by seq desc limit ${most}::int`),
            (rows) => rows.map(deliveryOf),
          ),
        counts: bounded(sql<Counted>`
          select owner, webhook, count(*) filter (where state = 'pending')::int as pending,
            count(*) filter (where state = 'failed')::int as failed,
            coalesce(extract(epoch from now() - min(at) filter (where state = 'pending')), 0)::float8 as age_s
          from webhook_deliveries where state <> 'delivered' group by owner, webhook`),
        test: ({ owner, webhook }) =>
          Effect.flatMap(
            bounded(sql<DeliveryRow>`
              insert into webhook_deliveries (owner, webhook, event_id, type, org_id, subject, data, at)
              values (${owner}, ${webhook}, 'evt_' || replace(gen_random_uuid()::text, '-', ''), 'webhook.test', ${owner},
                'test', '{}', now()) returning *`),
            ([row]) => (row === undefined ? Effect.die("a row is returned") : Effect.succeed(deliveryOf(row))),
          ),
        resend: ({ owner, webhook }, event) =>
          Effect.map(
            bounded(sql<DeliveryRow>`select * from webhook_resend(${owner}, ${webhook}, ${event})`),
            ([row]) => row && deliveryOf(row),
          ),
      })
    }),
  )
}

interface EventRow {
  readonly org_id: string
  readonly id: string
}

/** Events that are moved in one step. */
const page = 500

const deliveryOf = (row: DeliveryRow): Delivery => ({
  webhook: row.webhook,
  ...(row.owner !== "" && { owner: row.owner }),
  event: row.event_id,
  type: row.type,
  ...(row.org_id !== "" && { org: row.org_id }),
  subject: row.subject,
  at: row.at.toISOString(),
  state: row.state,
  attempts: row.attempts,
  ...(row.status !== null && { status: row.status }),
  ...(row.problem !== null && { problem: row.problem }),
  ...(row.state === "pending" && { nextAt: row.next_at.toISOString() }),
  ...(row.ended_at !== null && { endedAt: row.ended_at.toISOString() }),
})
