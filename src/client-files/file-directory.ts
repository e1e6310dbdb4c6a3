/** The facts of clients' files in the database: each file is recorded before its content is stored, and until that is removed. */
import { Context, Effect, Layer, Schema } from "effect"
import type { KeptOwner } from "../kept-responses/kept-response.ts"
import { makeReportUnopened } from "../kept-responses/unopened.ts"
import { LongQueries } from "../store/connections.ts"
import { queryDeadline } from "../store/database.ts"
import { Sealing } from "../store/seal.ts"
import { inThoseThatAnswer } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { type ClientFile, copiesOf, makeFileOf, type NewFile, readRows, type VendorCopy } from "./client-file.ts"
import { atVendor, partsOf, type StoredFile } from "./file-parts.ts"

export interface FilePage {
  readonly purpose: string | undefined
  readonly limit: number
  /** The file before the page. */
  readonly after: string | undefined
  readonly order: "asc" | "desc"
}

/** The most that an organisation keeps. */
export interface FileRoom {
  readonly bytes: number
  readonly files: number
}

/** The time after which a file that is not stored to its end is given up. */
const storingMs = 3_600_000
const mostRemoved = 100
/** The rows of a query that looks for files that can be opened. */
const rowsAtOnce = 1000
/** Copies of one file; there is one for each credential of a vendor. */
export const mostCopies = 1000
/** Looks at the copies of a file, while others are added to them. */
const mostLooks = 20
/** The most files of one organisation. */
export const mostFiles = 1_000_000

export class FileDirectory extends Context.Service<
  FileDirectory,
  {
    /** @returns false if its organisation has no room for it */
    readonly begin: (
      orgId: string,
      owner: KeptOwner,
      file: NewFile,
      most: FileRoom,
    ) => Effect.Effect<boolean, StoreUnavailable>
    /** The file is whole in storage: others see it from now on. */
    readonly stored: (
      orgId: string,
      owner: KeptOwner,
      id: string,
      purpose: string,
    ) => Effect.Effect<ClientFile | undefined, StoreUnavailable>
    /**
     * The record of a copy at a vendor, which was begun: it is there from now on, unless there is one for the same place.
     * @returns the one that is there; undefined if the file was erased meanwhile
     */
    readonly copyStored: (
      orgId: string,
      owner: KeptOwner,
      fileId: string,
      copy: { readonly id: string } & VendorCopy,
    ) => Effect.Effect<{ readonly id: string; readonly reference: string } | undefined, StoreUnavailable>
    /** Uploads and their parts are found by their purpose alone. */
    readonly find: (
      orgId: string,
      owner: KeptOwner,
      id: string,
      purpose?: string,
    ) => Effect.Effect<ClientFile | undefined, StoreUnavailable>
    /**
     * Completes an upload: its file gets its purpose and time, and the upload another purpose.
     * @returns false if it has another purpose already
     */
    readonly complete: (
      upload: ClientFile,
      to: string,
      file: Pick<ClientFile, "id" | "purpose"> & { readonly keptMs: number | undefined },
    ) => Effect.Effect<boolean, StoreUnavailable>
    /** One more than the limit, if there are. */
    readonly list: (
      orgId: string,
      owner: KeptOwner,
      page: FilePage,
    ) => Effect.Effect<ReadonlyArray<ClientFile>, StoreUnavailable>
    /** Nobody sees it from now on. */
    readonly erase: (orgId: string, id: string) => Effect.Effect<void, StoreUnavailable>
    /** Files whose content is to be removed. */
    readonly toRemove: Effect.Effect<ReadonlyArray<StoredFile>, StoreUnavailable>
    /** The copy of which this is the record, if it is erased and the vendor may keep it still. */
    readonly erasedCopy: (orgId: string, id: string) => Effect.Effect<VendorCopy | undefined, StoreUnavailable>
    /** Its content is removed. */
    readonly gone: (orgId: string, id: string) => Effect.Effect<void, StoreUnavailable>
  }
>()("weir/client-files/FileDirectory") {
  static readonly layer = Layer.effect(
    FileDirectory,
    Effect.gen(function* () {
      // Not the connections of calls: a list, or a lock of one organisation, may take longer than they may wait.
      const { shards } = yield* LongQueries
      const { sealer } = yield* Sealing
      const bounded = yield* queryDeadline

      const { sealFacts, fileOf } = makeFileOf(sealer, yield* makeReportUnopened)

      const rowsOf = (orgId: string, { app, person, endUser }: KeptOwner, page: FilePage) =>
        shards
          .of(orgId)
          .run(({ sql, books }) => {
            const { purpose = null, limit, after = null, order } = page
            const isAsc = order === "asc"
            const rest = isAsc ? sql`id > ${after}` : sql`id < ${after}`
            const by = isAsc ? sql`id` : sql`id desc`
            return sql`
              select id, bytes::float8 as bytes, purpose, parts, created_at, erase_at, facts from ${books}client_files
              where org_id = ${orgId} and app_id = ${app} and person_id = ${person} and end_user_id = ${endUser}
                and state = 'stored' and (erase_at is null or erase_at > now())
                and case when ${purpose}::text is null then purpose not like '.%' else purpose = ${purpose} end
                and (${after}::text is null or ${rest})
              order by ${by} limit ${limit}::integer`
          })
          .pipe(Effect.map(readRows), bounded)

      const find = (orgId: string, { app, person, endUser }: KeptOwner, id: string, purpose: string | null = null) =>
        shards
          .of(orgId)
          .run(
            ({ sql, books }) => sql`
              select id, bytes::float8 as bytes, purpose, parts, created_at, erase_at, facts from ${books}client_files
              where org_id = ${orgId} and id = ${id} and app_id = ${app} and person_id = ${person}
                and end_user_id = ${endUser} and state = 'stored' and (erase_at is null or erase_at > now())
                and case when ${purpose}::text is null then purpose not like '.%' else purpose like ${purpose} end`,
          )
          .pipe(
            Effect.map((rows) => readRows(rows).flatMap((row) => fileOf(orgId, row))[0]),
            bounded,
          )

      return FileDirectory.of({
        begin: (orgId, owner, file, most) => {
          const { id, bytes, purpose, keptMs = null, copy } = file
          const parts = copy === undefined ? partsOf(bytes) : atVendor
          return shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql<{ begun: boolean }>`
                select ${books}file_begin(${orgId}, ${id}, ${JSON.stringify(owner)}::json, ${purpose}, ${bytes}::bigint,
                  ${parts}::integer, ${keptMs}::double precision, ${sealFacts(orgId, file)}, ${most.bytes}::bigint,
                  ${most.files}::bigint) as begun`,
            )
            .pipe(
              Effect.map(([row]) => row?.begun === true),
              bounded,
            )
        },
        stored: (orgId, owner, id, purpose) =>
          shards
            .of(orgId)
            .run(({ sql, books }) => sql`select ${books}file_stored(${orgId}, ${id})`)
            .pipe(
              bounded,
              Effect.flatMap(() => find(orgId, owner, id, purpose)),
            ),
        find,
        copyStored: Effect.fnUntraced(function* (orgId, owner, fileId, { id, place, reference }) {
          const page = { purpose: copiesOf(fileId), limit: mostCopies, after: undefined, order: "asc" } as const
          for (let looks = 0; looks < mostLooks; looks++) {
            const rows = yield* rowsOf(orgId, owner, page)
            const same = rows.flatMap((row) => fileOf(orgId, row)).find(({ copy }) => copy?.place === place)
            if (same?.copy !== undefined) return { id: same.id, reference: same.copy.reference }
            const known = rows.map((row) => row.id)
            const [stored] = yield* shards
              .of(orgId)
              .run(
                ({ sql, books }) => sql<{ outcome: "stored" | "other" | "gone" }>`
                  select ${books}file_copy_stored(${orgId}, ${id}, ${fileId}, ${known}::text[]) as outcome`,
              )
              .pipe(bounded)
            if (stored?.outcome === "stored") return { id, reference }
            if (stored?.outcome === "gone") return undefined
          }
          return undefined
        }),
        list: Effect.fnUntraced(function* (orgId, owner, page) {
          const files: Array<ClientFile> = []
          let { after } = page
          let limit = page.limit + 1
          while (true) {
            const rows = yield* rowsOf(orgId, owner, { ...page, after, limit })
            files.push(...rows.flatMap((row) => fileOf(orgId, row)))
            if (rows.length < limit || files.length > page.limit) return files
            // Some cannot be opened: those after them are in their place.
            after = rows.at(-1)?.id
            limit = Math.max(limit, rowsAtOnce)
          }
        }),
        complete: ({ orgId, id, purpose: from }, to, file) =>
          shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql<{ done: boolean }>`
                select ${books}upload_complete(${orgId}, ${id}, ${from}, ${to}, ${file.id}, ${file.purpose},
                  ${file.keptMs ?? null}::double precision) as done`,
            )
            .pipe(
              Effect.map(([row]) => row?.done === true),
              bounded,
            ),
        erase: (orgId, id) =>
          shards
            .of(orgId)
            .run(({ sql, books }) => sql`select ${books}file_erase(${orgId}, ${id})`)
            .pipe(Effect.asVoid, bounded),
        toRemove: inThoseThatAnswer(
          shards,
          ({ sql, books }) => sql`
            select org, file, parts from ${books}files_to_remove(${mostRemoved}::integer, ${storingMs}::double precision)`,
        ).pipe(
          Effect.map((rows) => readRemoved(rows).map(({ org, file, parts }) => ({ orgId: org, id: file, parts }))),
          bounded,
        ),
        erasedCopy: (orgId, id) =>
          shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql`
                select id, bytes::float8 as bytes, purpose, parts, created_at, erase_at, facts from ${books}client_files
                where org_id = ${orgId} and id = ${id} and state = 'erased'
                  and (erase_at is null or erase_at > now() - interval '1 day')`,
            )
            .pipe(
              Effect.map((rows) => readRows(rows).flatMap((row) => fileOf(orgId, row))[0]?.copy),
              bounded,
            ),
        gone: (orgId, id) =>
          shards
            .of(orgId)
            .run(({ sql, books }) => sql`select ${books}file_gone(${orgId}, ${id})`)
            .pipe(Effect.asVoid, bounded),
      })
    }),
  )
}

const readRemoved = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ org: Schema.String, file: Schema.String, parts: Schema.Int })),
)
