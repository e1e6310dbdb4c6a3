/** Usage that clients report for calls that bypassed the gateway: recorded, never billed. */
import { Context, Effect, Layer } from "effect"
import type { UsageEvent, UsageReceipt } from "../protocol/usage-report.ts"
import { CallQueries } from "../store/connections.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

/** The identity to which reported usage is attributed. */
export interface UsageReporter {
  readonly orgId: string
  readonly keyId: string
  readonly appId: string | undefined
}

export class ClientUsage extends Context.Service<
  ClientUsage,
  {
    /** Records events in one statement, each once by its id. */
    readonly report: (
      reporter: UsageReporter,
      events: ReadonlyArray<UsageEvent>,
    ) => Effect.Effect<UsageReceipt, StoreUnavailable>
  }
>()("weir/money/ClientUsage") {
  static readonly layer = Layer.effect(
    ClientUsage,
    Effect.gen(function* () {
      const { sql } = yield* CallQueries
      const bounded = yield* queryDeadline
      return ClientUsage.of({
        report: Effect.fnUntraced(function* ({ orgId, keyId, appId }, events) {
          if (events.length === 0) return { accepted: 0, duplicates: 0 }
          const rows = yield* bounded(sql<{ client_event_id: string }>`
            insert into client_usage_records (org_id, key_id, app_id, client_event_id, model_handle, model_id, in_tokens,
              out_tokens, cache_read_tokens, cache_write_tokens, estimated, occurred_at, session_id, purpose)
            select ${orgId}, ${keyId}, ${appId ?? ""}, x.*
            from jsonb_to_recordset(${JSON.stringify(events.map(columnsOf))}::text::jsonb) as x(client_event_id text,
              model_handle text, model_id text, in_tokens bigint, out_tokens bigint, cache_read_tokens bigint,
              cache_write_tokens bigint, estimated boolean, occurred_at timestamptz, session_id text, purpose text)
            on conflict (org_id, client_event_id) do nothing
            returning client_event_id`)
          return { accepted: rows.length, duplicates: events.length - rows.length }
        }),
      })
    }),
  )
}

const columnsOf = (event: UsageEvent): object => ({
  client_event_id: event.clientEventId,
  model_handle: event.modelHandle,
  model_id: event.modelId,
  in_tokens: event.inTokens,
  out_tokens: event.outTokens,
  cache_read_tokens: event.cacheReadTokens,
  cache_write_tokens: event.cacheWriteTokens,
  estimated: event.estimated,
  occurred_at: event.occurredAt,
  session_id: event.sessionId ?? null,
  purpose: event.purpose ?? null,
})
