/**
 * Files that requests name, at vendors that keep them: each file is uploaded once for each credential of a vendor, and later
 * requests name the vendor's own id. Where that fails, a request has the content as it has elsewhere.
 */
import { Clock, Context, Effect, Fiber, Layer, Semaphore, Stream } from "effect"
import type { CallTarget } from "../catalogue/snapshot.ts"
import type { SentRequest } from "../dialects/wire.ts"
import type { KeptOwner } from "../kept-responses/kept-response.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { type ClientFile, copiesOf } from "./client-file.ts"
import { ClientFiles } from "./client-files.ts"
import { FileDirectory, mostCopies } from "./file-directory.ts"
import { newFileId } from "./file-id.ts"
import { inBuffers } from "./uploads.ts"
import { makeVendorCopies, placeOf } from "./vendor-copies.ts"
import { type Content64, filesIn } from "./vendor-references.ts"

/** A file of a request, of which the request has the content. */
export interface InlinedFile {
  readonly file: ClientFile
  readonly content: Content64
}

/** The files of a request that targets may keep themselves. */
export interface FilesAtTargets {
  /**
   * A request that names the target's own files. A file that it does not have as it is, because a policy has masked it, is not
   * uploaded.
   * @returns undefined if the target gets their content
   */
  readonly named: (target: CallTarget, request: SentRequest) => Effect.Effect<SentRequest> | undefined
  /** The target does not know them any more: they are uploaded again. */
  readonly forget: (target: CallTarget) => Effect.Effect<void>
}

/** Uploads to vendors of a node at a time. */
const mostUploads = 8
/** The time before its end at which a copy is not named any more. */
const marginMs = 10 * 60_000

export class VendorFiles extends Context.Service<
  VendorFiles,
  {
    readonly of: (owner: KeptOwner, files: ReadonlyArray<InlinedFile>) => FilesAtTargets
  }
>()("weir/client-files/VendorFiles") {
  static readonly layer = Layer.effect(
    VendorFiles,
    Effect.gen(function* () {
      const files = yield* ClientFiles
      const directory = yield* FileDirectory
      const copies = yield* makeVendorCopies
      const clock = yield* Clock.Clock
      const scope = yield* Effect.scope
      const uploading = yield* Semaphore.make(mostUploads)
      /** Uploads that run, so that requests at once upload a file once. They go on when their request ends. */
      const running = new Map<string, Fiber.Fiber<string | undefined>>()

      const copyAt = (owner: KeptOwner, { orgId, id }: ClientFile, place: string) =>
        Effect.map(
          directory.list(orgId, owner, { purpose: copiesOf(id), limit: mostCopies, after: undefined, order: "asc" }),
          (found) => found.find(({ copy }) => copy?.place === place),
        )

      const upload = Effect.fnUntraced(function* (
        target: CallTarget,
        owner: KeptOwner,
        file: ClientFile,
        place: string,
      ) {
        const { orgId, id: fileId, name, mime, bytes, eraseAt } = file
        // A request that began earlier may have just done it.
        const known = yield* copyAt(owner, file, place)
        if (known?.copy !== undefined) return known.copy.reference
        const content = yield* files.content(file)
        const chunks = () => inBuffers(Stream.toAsyncIterable(content))
        const sent = { name, mime, file: { bytes, chunks, sha256: "", head: Buffer.alloc(0) } }
        const { reference, expiresAtMs = Number.POSITIVE_INFINITY } = yield* copies.upload(target, sent)
        const nowMs = clock.currentTimeMillisUnsafe()
        const keptMs = Math.min(expiresAtMs - marginMs, eraseAt?.getTime() ?? Number.POSITIVE_INFINITY) - nowMs
        const purpose = copiesOf(fileId)
        const id = newFileId(nowMs)
        const copy = { vendor: target.vendor.id, place, reference }
        const facts = { id, purpose, bytes: 0, name, mime, keptMs: Number.isFinite(keptMs) ? keptMs : undefined, copy }
        const most = { bytes: Number.MAX_SAFE_INTEGER, files: Number.MAX_SAFE_INTEGER }
        const remove = Effect.ignore(copies.remove(orgId, copy))
        const begun = yield* Effect.tapError(directory.begin(orgId, owner, facts, most), () => remove)
        // Nobody would remove a copy later that is not recorded.
        if (!begun) return yield* Effect.as(remove, undefined)
        const first = yield* directory.copyStored(orgId, owner, fileId, { id, ...copy })
        // Another node was first, or the file was erased meanwhile: this copy is removed at the vendor.
        if (first?.id !== id) yield* directory.erase(orgId, id)
        return first?.reference
      })

      /** Uploads a file unless that runs already. */
      const uploaded = Effect.fnUntraced(function* (
        target: CallTarget,
        owner: KeptOwner,
        file: ClientFile,
        place: string,
      ) {
        const key = `${file.orgId} ${file.id} ${place}`
        const known = running.get(key)
        if (known !== undefined) return yield* Fiber.join(known)
        const { id: vendor } = target.vendor
        const made = uploading.withPermit(upload(target, owner, file, place)).pipe(
          Effect.catchCause((cause) =>
            Effect.as(
              Effect.logWarning("A file is sent with the request", { vendor, file: file.id }, cause),
              undefined,
            ),
          ),
          Effect.ensuring(Effect.sync(() => running.delete(key))),
        )
        const fiber = yield* Effect.forkIn(made, scope)
        if (fiber.pollUnsafe() === undefined) running.set(key, fiber)
        return yield* Fiber.join(fiber)
      })

      const referenceAt = (target: CallTarget, owner: KeptOwner, file: ClientFile, place: string) =>
        Effect.flatMap(copyAt(owner, file, place), (found) =>
          found?.copy === undefined
            ? uploaded(target, owner, file, place)
            : Effect.succeed<string | undefined>(found.copy.reference),
        )

      return VendorFiles.of({
        of: (owner, named) => ({
          named: (target, request) => {
            const place = placeOf(target)
            if (place === undefined) return undefined
            const contents = named.map(({ content }) => content)
            const found = filesIn(target.vendor.dialect, request, contents)
            if (found === undefined) return undefined
            const each = ({ file, content }: InlinedFile) =>
              Effect.map(
                orInline(referenceAt(target, owner, file, place)),
                (reference) => [content, reference] as const,
              )
            const present = named.filter(({ content }) => found.contents.has(content))
            return Effect.map(Effect.forEach(present, each, { concurrency: 4 }), (references) => {
              const known = references.flatMap(([content, reference]) =>
                reference === undefined ? [] : [[content, reference] as const],
              )
              return known.length === 0 ? request : found.named(new Map(known))
            })
          },
          forget: (target) => {
            const place = placeOf(target)
            if (place === undefined) return Effect.void
            const each = ({ file }: InlinedFile) =>
              Effect.flatMap(copyAt(owner, file, place), (copy) =>
                copy === undefined ? Effect.void : directory.erase(file.orgId, copy.id),
              )
            return Effect.ignore(Effect.forEach(named, each, { discard: true }))
          },
        }),
      })
    }),
  )
}

/** Without the database, a request has the content. */
const orInline = (reference: Effect.Effect<string | undefined, StoreUnavailable>) =>
  Effect.catch(reference, () => Effect.undefined)
