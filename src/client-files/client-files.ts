/**
 * Files that clients keep here, sealed, in the place that the catalogue names. A file is recorded before its first part is
 * stored, and until its last part is removed: a process that dies in between leaves nothing behind.
 */

import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { Clock, Context, Effect, Exit, Layer, Result, type Stream } from "effect"
import { runEvery } from "../background.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { FilesPlace } from "../catalogue/snapshot.ts"
import { WeirConfig } from "../config.ts"
import type { KeptOwner } from "../kept-responses/kept-response.ts"
import type { MediaFile, NamedFile } from "../media/media-file.ts"
import { type Storage, type TargetFailed, targetOf } from "../object-storage/target.ts"
import { mostFileBytes, mostOrgBytes } from "../protocol/catalogue/files.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { Sealing } from "../store/seal.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { Tenants } from "../tenants/tenants.ts"
import { VendorClient } from "../upstream/client.ts"
import type { ClientFile, VendorCopy } from "./client-file.ts"
import { FileDirectory, type FilePage, type FileRoom, mostFiles } from "./file-directory.ts"
import { newFileId } from "./file-id.ts"
import {
  atVendor,
  type PartLost,
  partsOf,
  putParts,
  readParts,
  readRange,
  removeParts,
  type StoredFile,
} from "./file-parts.ts"
import { makeVendorCopies } from "./vendor-copies.ts"

export interface FileToKeep {
  readonly purpose: string
  /** The time for which it is kept, in milliseconds; until it is erased if absent. */
  readonly keptMs: number | undefined
  readonly content: Pick<NamedFile, "mime" | "name"> & { readonly file: Pick<MediaFile, "bytes" | "chunks"> }
  readonly offset?: number
  readonly makes?: ClientFile["makes"]
  /** Whether it is kept even if there is no room for it: what was paid for is not lost. */
  readonly isPaid?: boolean
}

type FileError = ServiceError | StoreUnavailable

export class ClientFiles extends Context.Service<
  ClientFiles,
  {
    /** @error bad_request if files are kept nowhere, or there is no room for it; internal_error if the place fails */
    readonly create: (orgId: string, owner: KeptOwner, file: FileToKeep) => Effect.Effect<ClientFile, FileError>
    /** Fails if files are kept nowhere. */
    readonly isKept: Effect.Effect<unknown, ServiceError<"bad_request">>
    readonly find: FileDirectory["Service"]["find"]
    readonly list: (
      orgId: string,
      owner: KeptOwner,
      page: FilePage,
    ) => Effect.Effect<{ readonly files: ReadonlyArray<ClientFile>; readonly hasMore: boolean }, StoreUnavailable>
    readonly content: (file: ClientFile) => Effect.Effect<Stream.Stream<Uint8Array, TargetFailed | PartLost>, FileError>
    /** So many bytes of a file, from a place. */
    readonly range: (
      file: ClientFile,
      from: number,
      bytes: number,
    ) => Effect.Effect<Buffer, FileError | TargetFailed | PartLost>
    /** @returns false if there is none */
    readonly remove: (orgId: string, owner: KeptOwner, id: string) => Effect.Effect<boolean, FileError>
    /** Erases a file, and removes its content as far as its place answers. */
    readonly erase: (file: ClientFile) => Effect.Effect<void, StoreUnavailable>
    /** The most bytes of a file. */
    readonly mostBytes: () => number
  }
>()("weir/client-files/ClientFiles") {
  static readonly layer = Layer.effect(
    ClientFiles,
    Effect.gen(function* () {
      const directory = yield* FileDirectory
      const catalogue = yield* Catalogue
      const tenants = yield* Tenants
      const client = yield* VendorClient
      const { sealer } = yield* Sealing
      const { dataDir, databaseUrl } = yield* WeirConfig
      const clock = yield* Clock.Clock
      const copies = yield* makeVendorCopies

      /** One node with its own database has a folder of its own; others must share a place. */
      const ownPlace = databaseUrl === undefined ? folderOf(dataDir) : undefined
      const placeNow = (): FilesPlace | undefined => catalogue.current().files ?? ownPlace
      const place = Effect.suspend(() => {
        const now = placeNow()
        return now === undefined ? Effect.fail(keptNowhere) : Effect.succeed(now)
      })
      /** The limits of the catalogue, or those of its plan where they are lower. */
      const roomOf = (orgId: string, { orgBytes }: FilesPlace): Effect.Effect<FileRoom, StoreUnavailable> =>
        Effect.map(tenants.org(orgId), (entry) => {
          const { maxFiles = mostFiles, maxFilesBytes = orgBytes } = entry?.plan ?? {}
          return { files: Math.min(maxFiles, mostFiles), bytes: Math.min(maxFilesBytes, orgBytes) }
        })
      const storageOf = (at: FilesPlace): Storage => targetOf(at, client)

      /** A vendor that does not answer is asked again: files elsewhere do not wait for it. */
      const isRemoved = (orgId: string, copy: VendorCopy) =>
        copies.remove(orgId, copy).pipe(
          Effect.as(true),
          Effect.catchTag("CopyFailed", ({ problem }) =>
            Effect.as(
              Effect.logWarning("A copy of a file is not removed at its vendor; it is tried again", problem),
              false,
            ),
          ),
        )

      const discard = Effect.fnUntraced(function* (storage: Storage, file: StoredFile) {
        const copy = file.parts === atVendor ? yield* directory.erasedCopy(file.orgId, file.id) : undefined
        if (copy !== undefined && !(yield* isRemoved(file.orgId, copy))) return
        yield* removeParts(storage, file)
        yield* directory.gone(file.orgId, file.id)
      })

      /** One page of erased files. @returns whether there may be more */
      const removePage = Effect.fnUntraced(function* (storage: Storage) {
        const files = yield* directory.toRemove
        const failures = yield* Effect.forEach(files, (file) => Effect.result(discard(storage, file)))
        const [failed] = failures.filter(Result.isFailure)
        if (failed !== undefined)
          yield* Effect.logWarning("Erased files are not removed; it is tried again", failed.failure)
        return files.length > 0 && failed === undefined
      })
      const sweep = Effect.suspend(() => {
        const now = placeNow()
        return now === undefined
          ? Effect.succeed(false)
          : Effect.repeat(removePage(storageOf(now)), { while: (more) => more })
      })
      yield* runEvery("1 minute", "Removing erased files", sweep, { first: "1 minute" })

      const create = Effect.fnUntraced(function* (orgId: string, owner: KeptOwner, file: FileToKeep) {
        const at = yield* place
        const { content, purpose, keptMs, offset, makes } = file
        const { bytes } = content.file
        if (bytes > at.fileBytes && file.isPaid !== true) return yield* tooLarge(at.fileBytes)
        const storage = storageOf(at)
        const id = newFileId(clock.currentTimeMillisUnsafe())
        const name = (content.name ?? id).toWellFormed()
        const facts = { id, bytes, purpose, keptMs, offset, makes, name, mime: plainType(content.mime) }
        const room = file.isPaid === true ? anyRoom : yield* roomOf(orgId, at)
        if (!(yield* directory.begin(orgId, owner, facts, room))) return yield* noRoom(room)
        const stored = { orgId, id, parts: partsOf(bytes) }
        const kept = Effect.andThen(
          putParts(storage, sealer, stored, content.file),
          Effect.flatMap(directory.stored(orgId, owner, id, purpose), (file) =>
            file === undefined ? Effect.fail(placeFailed) : Effect.succeed(file),
          ),
        )
        return yield* kept.pipe(
          Effect.catchTag("TargetFailed", ({ problem }) =>
            Effect.andThen(Effect.logError("A file could not be stored", problem), Effect.fail(placeFailed)),
          ),
          Effect.onExit((exit) => {
            if (Exit.isSuccess(exit)) return Effect.void
            const erased = directory.erase(orgId, id)
            // A part that is still on its way may arrive later: the sweep removes it.
            return Effect.ignore(Exit.hasInterrupts(exit) ? erased : Effect.andThen(erased, discard(storage, stored)))
          }),
        )
      })

      const erase = Effect.fnUntraced(function* (file: ClientFile) {
        yield* directory.erase(file.orgId, file.id)
        const at = placeNow()
        if (at !== undefined) yield* Effect.ignore(discard(storageOf(at), file))
      })

      return ClientFiles.of({
        create,
        isKept: place,
        find: directory.find,
        list: (orgId, owner, page) =>
          Effect.map(directory.list(orgId, owner, page), (files) => ({
            files: files.slice(0, page.limit),
            hasMore: files.length > page.limit,
          })),
        content: (file) => Effect.map(place, (at) => readParts(storageOf(at), sealer, file)),
        range: (file, from, bytes) =>
          Effect.flatMap(place, (at) => readRange(storageOf(at), sealer, file, from, bytes)),
        remove: Effect.fnUntraced(function* (orgId, owner, id) {
          const file = yield* directory.find(orgId, owner, id)
          if (file === undefined) return false
          yield* erase(file)
          return true
        }),
        erase,
        mostBytes: () => placeNow()?.fileBytes ?? 0,
      })
    }),
  )
}

const folderOf = (dataDir: string): FilesPlace => {
  const folder = resolve(dataDir === ":memory:" ? join(tmpdir(), "weir") : dataDir, "client-files")
  return {
    entry: { to: pathToFileURL(folder).href },
    identity: undefined,
    network: undefined,
    fileBytes: mostFileBytes,
    orgBytes: mostOrgBytes,
  }
}

const anyRoom: FileRoom = { files: mostFiles, bytes: Number.MAX_SAFE_INTEGER }

/** A type without parameters, as APIs take it. */
const plainType = (mime: string): string =>
  /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}/i.exec(mime)?.[0].toLowerCase() ?? "application/octet-stream"

const keptNowhere = serviceError(
  "bad_request",
  "Files are not kept here: the catalogue names no place for them (files.to)",
)
const noRoom = ({ files, bytes }: FileRoom) =>
  serviceError(
    "bad_request",
    `The organisation has no room for this file: it keeps at most ${files} files, with ${bytes} bytes together. Erase some`,
    { detail: { maxFiles: files, maxBytes: bytes } },
  )
const placeFailed = serviceError("internal_error", "The file could not be stored now", { retryAfterMs: 1000 })
const tooLarge = (mostBytes: number) =>
  serviceError("payload_too_large", `The file is larger than ${mostBytes} bytes`, { detail: { maxBytes: mostBytes } })
