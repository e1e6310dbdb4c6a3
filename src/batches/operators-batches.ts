/** The batches of an organisation's clients for its operator: their list, without requests and answers, and their end. */
import { Context, Effect, Layer, Schema } from "effect"
import type { ClientBatchEntry } from "../protocol/control/client-batch.ts"
import { type OwnerFilter, ownerOfRow } from "../protocol/control/owner.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { type Page, pageOf, placeInTime } from "../protocol/values/cursor.ts"
import { type Actor, AuditLog } from "../store/audit-log.ts"
import { LongQueries } from "../store/connections.ts"
import { withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { batchApis } from "./batch.ts"
import { readBatchId, writtenBatchId } from "./batch-id.ts"
import { BatchStore } from "./batch-store.ts"

interface BatchFilter extends OwnerFilter {
  readonly id?: string | undefined
  /** Only those that have not ended. */
  readonly isOpen?: boolean | undefined
}

type ListError = ServiceError<"bad_request"> | StoreUnavailable

export class OperatorsBatches extends Context.Service<
  OperatorsBatches,
  {
    /** Newest first. */
    readonly list: (
      orgId: string,
      filter: BatchFilter,
      page: { readonly limit: number; readonly cursor: string | undefined },
    ) => Effect.Effect<Page<ClientBatchEntry>, ListError>
    /** Cancels a batch; the audit log has it before it happens. */
    readonly cancel: (
      orgId: string,
      id: string,
      actor: Actor,
    ) => Effect.Effect<ClientBatchEntry, ServiceError<"not_found" | "bad_request"> | StoreUnavailable>
  }
>()("weir/batches/OperatorsBatches") {
  static readonly layer = Layer.effect(
    OperatorsBatches,
    Effect.gen(function* () {
      const { shards } = yield* LongQueries
      const store = yield* BatchStore
      const audit = yield* AuditLog

      const list = Effect.fnUntraced(function* (
        orgId: string,
        filter: BatchFilter,
        { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
      ): Effect.fn.Return<Page<ClientBatchEntry>, ListError> {
        const { id = null, app = null, endUser = null, before = null, isOpen = false } = filter
        const [at, lastId] = yield* placeInTime(cursor)
        const rows = yield* shards
          .of(orgId)
          .run(
            ({ sql, books }) => sql`
              select b.id, b.created_at, (extract(epoch from b.created_at) * 1000000)::bigint::text as micros, b.api, b.state,
                b.lines, c.now_succeeded, c.now_errored, b.cancelled, b.expired, b.app_id, b.person_id, b.end_user_id,
                trim_scale(b.held)::text as held, b.currency, b.ends_at, b.ended_at, b.cancelled_at,
                trim_scale(case when b.ended_at is not null then b.cost else coalesce((select t.spent from ${books}allotments t
                  where t.org_id = b.org_id and t.counter = b.currency and t.node = 'batch:' || b.id), 0) end)::text as cost
              from ${books}batches b cross join ${books}batch_counts(b) c
              where b.org_id = ${orgId} and (${id}::text is null or b.id = ${id})
                and (b.created_at, b.id) < (timestamptz 'epoch' + least(${at}::text::bigint, 4102444800000000) * interval '1 microsecond', ${lastId})
                and (${app}::text is null or b.app_id = ${app})
                and (${endUser}::text is null or b.end_user_id = ${endUser})
                and (${before}::text is null or b.created_at < ${before}::text::timestamptz)
                and (not ${isOpen}::boolean or b.ended_at is null)
              order by b.created_at desc, b.id desc limit ${limit + 1}::int`,
          )
          .pipe(bounded)
        const { data, nextCursor } = pageOf(readRows(rows), limit, ({ micros, id }) => [micros, id])
        return { data: data.map(entryOf), nextCursor }
      })

      return OperatorsBatches.of({
        list,
        cancel: Effect.fn("OperatorsBatches.cancel")(function* (orgId, written, actor) {
          const id = batchApis.map((api) => readBatchId(api, written)).find((read) => read !== undefined)
          const batch = id === undefined ? undefined : yield* store.find(orgId, undefined, id)
          if (batch === undefined || id === undefined) return yield* unknown
          yield* audit.write("batch.cancelled", actor, { batch: written }, orgId)
          yield* store.cancel(orgId, id)
          const { data } = yield* list(orgId, { id }, { limit: 1, cursor: undefined })
          return data[0] ?? (yield* unknown)
        }),
      })
    }),
  )
}

const bounded = withDeadline("60 seconds")
const unknown = serviceError("not_found", "There is no such batch")

const Row = Schema.Struct({
  id: Schema.String,
  created_at: Schema.Date,
  micros: Schema.String,
  api: Schema.Literals(batchApis),
  state: Schema.Literals(["failed", "in_progress", "finalizing", "completed", "expired", "cancelled"]),
  lines: Schema.Int,
  now_succeeded: Schema.Int,
  now_errored: Schema.Int,
  cancelled: Schema.Int,
  expired: Schema.Int,
  app_id: Schema.String,
  person_id: Schema.String,
  end_user_id: Schema.String,
  held: Schema.String,
  cost: Schema.String,
  currency: Schema.String,
  ends_at: Schema.Date,
  ended_at: Schema.NullOr(Schema.Date),
  cancelled_at: Schema.NullOr(Schema.Date),
})
const readRows = Schema.decodeUnknownSync(Schema.Array(Row))

const entryOf = (row: typeof Row.Type): ClientBatchEntry => ({
  id: writtenBatchId(row.api, row.id),
  createdAt: row.created_at.toISOString(),
  api: row.api,
  state: row.cancelled_at !== null && row.ended_at === null ? "cancelling" : row.state,
  requests: row.lines,
  succeeded: row.now_succeeded,
  errored: row.now_errored,
  cancelled: row.cancelled,
  expired: row.expired,
  ...ownerOfRow(row),
  held: row.held,
  cost: row.cost,
  currency: row.currency,
  endsAt: row.ends_at.toISOString(),
  ...(row.ended_at !== null && { endedAt: row.ended_at.toISOString() }),
})
