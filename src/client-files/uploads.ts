/**
 * Files that come in several requests. An upload and each of its parts are files of the gateway's own, which are erased after an
 * hour: any node goes on with an upload, and one that is given up leaves nothing behind.
 */
import { Context, Effect, Layer, Stream } from "effect"
import type { KeptOwner } from "../kept-responses/kept-response.ts"
import type { NamedFile } from "../media/media-file.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { invalidInput } from "../protocol/json/issues.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { ClientFile } from "./client-file.ts"
import { ClientFiles } from "./client-files.ts"
import { FileDirectory } from "./file-directory.ts"

export interface NewUpload extends Pick<ClientFile, "name" | "mime"> {
  readonly purpose: string
  /** The time for which its file is kept, in milliseconds; until it is erased if absent. */
  readonly keptMs: number | undefined
  /** The length of its file, if its client names it. */
  readonly bytes: number | undefined
}

/** An upload that goes on; {@link ClientFile.makes} is the file that it makes. */
export type Upload = ClientFile

type UploadError = ServiceError | StoreUnavailable

/** The time in which an upload must be complete. */
export const uploadMs = 3_600_000
const mostParts = 10_000

const going = ".upload"
/** Whether an upload is neither completed nor cancelled. */
export const isGoing = ({ purpose }: Upload): boolean => purpose === going

const completed = ".completed:"
const partOf = ({ id }: Upload) => `.part:${id}`

export class Uploads extends Context.Service<
  Uploads,
  {
    readonly begin: (orgId: string, owner: KeptOwner, upload: NewUpload) => Effect.Effect<Upload, UploadError>
    readonly find: (orgId: string, owner: KeptOwner, id: string) => Effect.Effect<Upload | undefined, StoreUnavailable>
    /** @param offset its place, in bytes, if its client names it */
    readonly add: (
      upload: Upload,
      owner: KeptOwner,
      content: NamedFile["file"],
      offset?: number,
    ) => Effect.Effect<ClientFile, UploadError>
    /** Its parts, in the order in which they came. */
    readonly parts: (upload: Upload, owner: KeptOwner) => Effect.Effect<ReadonlyArray<ClientFile>, StoreUnavailable>
    /** Makes its file; the same file again if it is complete. */
    readonly complete: (
      upload: Upload,
      owner: KeptOwner,
      parts: ReadonlyArray<ClientFile>,
    ) => Effect.Effect<ClientFile, UploadError>
    readonly cancel: (upload: Upload, owner: KeptOwner) => Effect.Effect<void, StoreUnavailable>
  }
>()("weir/client-files/Uploads") {
  static readonly layer = Layer.effect(
    Uploads,
    Effect.gen(function* () {
      const files = yield* ClientFiles
      const directory = yield* FileDirectory

      const parts = (upload: Upload, owner: KeptOwner) =>
        directory.list(upload.orgId, owner, {
          purpose: partOf(upload),
          limit: mostParts,
          after: undefined,
          order: "asc",
        })

      const madeBy = (upload: Upload, owner: KeptOwner) =>
        upload.purpose.startsWith(completed)
          ? directory.find(upload.orgId, owner, upload.purpose.slice(completed.length))
          : Effect.undefined

      /** The file of an upload that another request has completed. */
      const madeMeanwhile = Effect.fnUntraced(function* ({ orgId, id }: Upload, owner: KeptOwner) {
        const now = yield* directory.find(orgId, owner, id, `${completed}%`)
        return now === undefined ? undefined : yield* madeBy(now, owner)
      })

      const join = Effect.fnUntraced(function* (pieces: ReadonlyArray<ClientFile>) {
        const streams = yield* Effect.forEach(pieces, files.content)
        return () => inBuffers(Stream.toAsyncIterable(Stream.flatten(Stream.fromIterable(streams))))
      })

      return Uploads.of({
        begin: Effect.fnUntraced(function* (orgId, owner, { name, mime, purpose, keptMs, bytes }) {
          const most = files.mostBytes()
          if (bytes !== undefined && most > 0 && bytes > most) return yield* tooLarge(most)
          const makes = { purpose, ...(keptMs !== undefined && { keptMs }), ...(bytes !== undefined && { bytes }) }
          const content = { mime, name, file: nothing }
          return yield* files.create(orgId, owner, { purpose: going, keptMs: uploadMs, content, makes })
        }),
        find: Effect.fnUntraced(function* (orgId, owner, id) {
          return (
            (yield* directory.find(orgId, owner, id, going)) ??
            (yield* directory.find(orgId, owner, id, `${completed}%`))
          )
        }),
        add: Effect.fnUntraced(function* (upload, owner, file, offset) {
          if (!isGoing(upload)) return yield* hasEnded
          if ((yield* parts(upload, owner)).length >= mostParts) return yield* tooManyParts
          const content = { mime: upload.mime, name: upload.name, file }
          const place = offset === undefined ? {} : { offset }
          return yield* files.create(upload.orgId, owner, {
            purpose: partOf(upload),
            // Longer than the upload, which may be completed in its last minute.
            keptMs: 2 * uploadMs,
            content,
            ...place,
          })
        }),
        parts,
        complete: Effect.fnUntraced(function* (upload, owner, pieces) {
          const { orgId, name, mime, makes } = upload
          const known = yield* madeBy(upload, owner)
          if (known !== undefined) return known
          if (!isGoing(upload) || makes === undefined) return yield* hasEnded
          const bytes = pieces.reduce((sum, piece) => sum + piece.bytes, 0)
          if (makes.bytes !== undefined && bytes !== makes.bytes) return yield* otherLength(makes.bytes, bytes)
          const chunks = yield* join(pieces)
          const { purpose, keptMs } = makes
          const content = { name, mime, file: { bytes, chunks } }
          // It is a file of its client once the upload names it.
          const copied = files.create(orgId, owner, { purpose: ".made", keptMs: uploadMs, content })
          const file = yield* Effect.catchCause(copied, (cause) =>
            Effect.flatMap(madeMeanwhile(upload, owner), (made) =>
              made === undefined ? Effect.failCause(cause) : Effect.succeed(made),
            ),
          )
          if (file.purpose !== ".made") return file
          if (!(yield* directory.complete(upload, completed + file.id, { id: file.id, purpose, keptMs }))) {
            yield* files.erase(file)
            return (yield* madeMeanwhile(upload, owner)) ?? (yield* hasEnded)
          }
          const made = yield* directory.find(orgId, owner, file.id)
          if (made === undefined) return yield* hasEnded
          yield* Effect.forEach(yield* parts(upload, owner), files.erase, { discard: true })
          return made
        }),
        cancel: Effect.fnUntraced(function* (upload, owner) {
          yield* files.erase(upload)
          yield* Effect.forEach(yield* parts(upload, owner), files.erase, { discard: true })
        }),
      })
    }),
  )
}

export async function* inBuffers(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}

async function* noChunks(): AsyncGenerator<Buffer> {}
const nothing = { bytes: 0, chunks: noChunks }

const hasEnded = serviceError("bad_request", "The upload is completed or cancelled")
const tooManyParts = serviceError("bad_request", `An upload has at most ${mostParts} parts`)
const otherLength = (told: number, bytes: number) =>
  invalidInput([{ path: "bytes", message: `the upload was to have ${told} bytes, and its parts have ${bytes}` }])
const tooLarge = (mostBytes: number) => serviceError("payload_too_large", `The file is larger than ${mostBytes} bytes`)
