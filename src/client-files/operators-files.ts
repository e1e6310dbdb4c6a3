/** The files of an organisation's clients for its operator: their list, without names and content, and their erasure. */
import { Context, Effect, Layer, Schema } from "effect"
import type { ClientFileEntry } from "../protocol/control/client-file.ts"
import { type OwnerFilter, ownerOfRow } from "../protocol/control/owner.ts"
import type { ServiceError } from "../protocol/error.ts"
import { type Page, pageOf, placeInTime } from "../protocol/values/cursor.ts"
import { type Actor, AuditLog } from "../store/audit-log.ts"
import { LongQueries } from "../store/connections.ts"
import { withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { readFileId, writtenFileId } from "./file-id.ts"

export class OperatorsFiles extends Context.Service<
  OperatorsFiles,
  {
    /** Newest first, without uploads that go on. */
    readonly list: (
      orgId: string,
      filter: OwnerFilter,
      page: { readonly limit: number; readonly cursor: string | undefined },
    ) => Effect.Effect<Page<ClientFileEntry>, ServiceError<"bad_request"> | StoreUnavailable>
    /**
     * Erases files, and uploads that go on. The audit log has it before it happens.
     * @returns the number of files
     */
    readonly erase: (
      orgId: string,
      filter: OwnerFilter & { readonly id?: string | undefined },
      actor: Actor,
    ) => Effect.Effect<number, StoreUnavailable>
  }
>()("weir/client-files/OperatorsFiles") {
  static readonly layer = Layer.effect(
    OperatorsFiles,
    Effect.gen(function* () {
      const { shards } = yield* LongQueries
      const audit = yield* AuditLog
      return OperatorsFiles.of({
        list: Effect.fnUntraced(function* (orgId, { app, endUser, before }, { limit, cursor }) {
          const [at, lastId] = yield* placeInTime(cursor)
          const rows = yield* shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql`
                select id, created_at, (extract(epoch from created_at) * 1000000)::bigint::text as micros, purpose,
                  bytes::float8 as bytes, app_id, person_id, end_user_id, erase_at
                from ${books}client_files
                where org_id = ${orgId} and state = 'stored' and purpose not like '.%' and (erase_at is null or erase_at > now())
                  and (created_at, id) < (timestamptz 'epoch' + least(${at}::text::bigint, 4102444800000000) * interval '1 microsecond', ${lastId})
                  and (${app ?? null}::text is null or app_id = ${app ?? null})
                  and (${endUser ?? null}::text is null or end_user_id = ${endUser ?? null})
                  and (${before ?? null}::text is null or created_at < ${before ?? null}::text::timestamptz)
                order by created_at desc, id desc limit ${limit + 1}::int`,
            )
            .pipe(bounded)
          const { data, nextCursor } = pageOf(readRows(rows), limit, ({ micros, id }) => [micros, id])
          return { data: data.map(entryOf), nextCursor }
        }),
        erase: Effect.fn("OperatorsFiles.erase")(function* (orgId, { id: written, app, endUser, before }, actor) {
          const id = written === undefined ? undefined : readFileId(written)
          if (written !== undefined && id === undefined) return 0
          const filter = {
            ...(written !== undefined && { file: written }),
            ...(app !== undefined && { app }),
            ...(endUser !== undefined && { endUser }),
            ...(before !== undefined && { before }),
          }
          yield* audit.write("files.erased", actor, filter, orgId)
          const [row] = yield* shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql<{ readonly erased: number }>`
                select ${books}files_erase(${orgId}, ${id ?? null}::text, ${app ?? null}::text, ${endUser ?? null}::text,
                  ${before ?? null}::text::timestamptz) as erased`,
            )
            .pipe(bounded)
          return row?.erased ?? 0
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
  purpose: Schema.String,
  bytes: Schema.Finite,
  app_id: Schema.String,
  person_id: Schema.String,
  end_user_id: Schema.String,
  erase_at: Schema.NullOr(Schema.Date),
})
const readRows = Schema.decodeUnknownSync(Schema.Array(Row))

const entryOf = (row: typeof Row.Type): ClientFileEntry => ({
  id: writtenFileId("openai", row.id),
  createdAt: row.created_at.toISOString(),
  purpose: row.purpose,
  bytes: row.bytes,
  ...ownerOfRow(row),
  ...(row.erase_at !== null && { eraseAt: row.erase_at.toISOString() }),
})
