/**
 * Contents that are too large for rows: sealed objects in the place where clients' files are, of which rows have the hash and the
 * length.
 *
 * **Details**: an object is recorded, stored, and then named by the row that is written. One that no row names within an hour
 * is removed, and so is one whose row is gone. Without a place, or if it does not answer, the row has the content itself.
 */
import { hash } from "node:crypto"
import { Clock, Context, Data, Duration, Effect, Fiber, Layer, Result, Schema, Semaphore } from "effect"
import { atBackgroundSpeed, runEvery } from "../background.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { ContentObject, KeptFacts } from "../money/settlement.ts"
import { type Storage, targetOf } from "../object-storage/target.ts"
import { StoreUnavailable } from "../store/unavailable.ts"
import { VendorClient } from "../upstream/client.ts"
import { type NamedObject, ObjectRecords } from "./object-records.ts"

/** The most bytes of a sealed content that a row has itself. */
export const mostRowBytes = 64 * 1024

/** The time in which an object must be stored, in milliseconds: a client may wait for the last event of its reply. */
const storeMs = 5_000
/** The time for which a place that has failed is not tried. */
const rest = "10 seconds"
const readMs = 30_000
/** The most objects of a node that are stored, or are read for one request, at a time. */
const mostStored = 16
const mostRead = 4

/** Sealed content as a row has it: the bytes, or the object that has them. */
export interface RowContent {
  readonly content: Uint8Array
  readonly object: ContentObject | undefined
}

class NotInTime extends Data.TaggedError("NotInTime")<{ readonly problem: string }> {}

export class ContentObjects extends Context.Service<
  ContentObjects,
  {
    /** Stores a large content as an object. The row is to be written within minutes. Does not fail. */
    readonly store: (orgId: string, sealed: Uint8Array) => Effect.Effect<RowContent>
    /** The same for each of several. */
    readonly storeAll: (orgId: string, sealed: ReadonlyArray<Uint8Array>) => Effect.Effect<ReadonlyArray<RowContent>>
    /** A response for its settlement, with its large contents stored as objects. */
    readonly storeKept: (orgId: string, kept: KeptFacts) => Effect.Effect<KeptFacts>
    /** The sealed content of a row; undefined if its object is missing, or is not the one that the row names. */
    readonly read: (orgId: string, row: RowContent) => Effect.Effect<Uint8Array | undefined, StoreUnavailable>
    /** The same for each of several, in their order. */
    readonly readAll: (
      orgId: string,
      rows: ReadonlyArray<RowContent>,
    ) => Effect.Effect<ReadonlyArray<Uint8Array | undefined>, StoreUnavailable>
    /** Gives up the objects of rows that were not written. */
    readonly discard: (orgId: string, rows: ReadonlyArray<RowContent>) => Effect.Effect<void>
  }
>()("weir/kept-responses/ContentObjects") {
  /** All contents are in their rows. */
  static readonly layerInRows = Layer.sync(ContentObjects, () =>
    ContentObjects.of({
      store: (_, content) => Effect.succeed(inRow(content)),
      storeAll: (_, contents) => Effect.succeed(contents.map(inRow)),
      storeKept: (_, kept) => Effect.succeed(kept),
      read: (_, { content }) => Effect.succeed(content),
      readAll: (_, rows) => Effect.succeed(rows.map(({ content }) => content)),
      discard: () => Effect.void,
    }),
  )
  static readonly layer = Layer.effect(
    ContentObjects,
    Effect.gen(function* () {
      const records = yield* ObjectRecords
      const catalogue = yield* Catalogue
      const client = yield* VendorClient
      const clock = yield* Clock.Clock
      const storing = yield* Semaphore.make(mostStored)

      const storageNow = (): Storage | undefined => {
        const place = catalogue.current().files
        return place && targetOf(place, client)
      }

      const restMs = Duration.toMillis(yield* atBackgroundSpeed(rest))
      let restsUntilMs = Number.NEGATIVE_INFINITY
      const fails = (cause: unknown) =>
        Effect.suspend(() => {
          const nowMs = clock.currentTimeMillisUnsafe()
          if (nowMs < restsUntilMs) return Effect.void
          restsUntilMs = nowMs + restMs
          return Effect.logWarning("Large kept contents are not stored as objects now: the database has them", cause)
        })

      const put = Effect.fnUntraced(function* (storage: Storage, object: NamedObject, sealed: Uint8Array) {
        yield* records.begin(object)
        // The bytes that are sent are freed, and those of the row are needed if that fails. A folder that hangs cannot be
        // interrupted: the call does not wait for it.
        const fiber = yield* Effect.forkDetach(storage.put(pathOf(object), Uint8Array.from(sealed)))
        yield* Effect.onInterrupt(Fiber.join(fiber), () => Effect.sync(() => fiber.interruptUnsafe()))
      })

      const store = Effect.fnUntraced(function* (orgId: string, sealed: Uint8Array) {
        if (sealed.length <= mostRowBytes || clock.currentTimeMillisUnsafe() < restsUntilMs) return inRow(sealed)
        const storage = storageNow()
        if (storage === undefined) return inRow(sealed)
        const id = hash("sha256", sealed)
        const stored = yield* storing
          .withPermit(put(storage, { orgId, id }, sealed))
          .pipe(Effect.timeoutOrElse({ duration: storeMs, orElse: () => Effect.fail(notInTime) }), Effect.result)
        if (Result.isFailure(stored)) return yield* Effect.as(fails(stored.failure), inRow(sealed))
        return { content: nothing, object: { id, bytes: sealed.length } }
      })

      const storeAll = (orgId: string, sealed: ReadonlyArray<Uint8Array>) =>
        Effect.forEach(sealed, (each) => store(orgId, each), { concurrency: mostStored })

      const storeText = Effect.fnUntraced(function* <Kept extends Pick<KeptFacts, "sealed" | "object">>(
        orgId: string,
        kept: Kept,
      ): Effect.fn.Return<Kept> {
        if (!isLarge(kept.sealed)) return kept
        const { object } = yield* store(orgId, Buffer.from(kept.sealed, "base64"))
        return object === undefined ? kept : { ...kept, sealed: "", object }
      })

      const read = Effect.fnUntraced(function* (orgId: string, { content, object }: RowContent) {
        if (object === undefined) return content
        const storage = storageNow()
        if (storage === undefined) return undefined
        const bytes = yield* storage.get(pathOf({ orgId, id: object.id }), object.bytes).pipe(
          Effect.timeoutOrElse({ duration: readMs, orElse: () => Effect.fail(notInTime) }),
          Effect.mapError((cause) => new StoreUnavailable({ store: "files", cause })),
        )
        return bytes?.length === object.bytes && hash("sha256", bytes) === object.id ? bytes : undefined
      })

      /** One page of objects. @returns whether there may be more */
      const removePage = Effect.fnUntraced(function* (storage: Storage) {
        const objects = yield* records.toRemove
        const failures = yield* Effect.forEach(
          objects,
          (object) => Effect.result(Effect.andThen(storage.remove(pathOf(object)), records.gone(object))),
          { concurrency: mostRead },
        )
        const [failed] = failures.filter(Result.isFailure)
        if (failed !== undefined)
          yield* Effect.logWarning("Objects of erased contents are not removed; it is tried again", failed.failure)
        return objects.length > 0 && failed === undefined
      })
      const sweep = Effect.suspend(() => {
        const storage = storageNow()
        return storage === undefined
          ? Effect.succeed(false)
          : Effect.repeat(removePage(storage), { while: (more) => more })
      })
      yield* runEvery("1 minute", "Removing objects of erased contents", sweep, { first: "1 minute" })

      return ContentObjects.of({
        store,
        storeAll,
        storeKept: Effect.fnUntraced(function* (orgId, kept) {
          const { conversation } = kept
          const own = yield* storeText(orgId, kept)
          if (conversation === undefined || !conversation.items.some(({ sealed }) => isLarge(sealed))) return own
          const items = yield* Effect.forEach(conversation.items, (item) => storeText(orgId, item), {
            concurrency: mostStored,
          })
          return { ...own, conversation: { ...conversation, items } }
        }),
        read,
        readAll: (orgId, rows) =>
          rows.every(({ object }) => object === undefined)
            ? Effect.succeed(rows.map(({ content }) => content))
            : Effect.forEach(rows, (row) => read(orgId, row), { concurrency: mostRead }),
        discard: (orgId, rows) => {
          const ids = rows.flatMap(({ object }) => object?.id ?? [])
          return ids.length === 0 ? Effect.void : Effect.ignore(records.erase(orgId, ids))
        },
      })
    }),
  )
}

/** The columns of a sealed content. */
export const sealedColumns = {
  content: Schema.Uint8Array,
  object_id: Schema.NullOr(Schema.String),
  object_bytes: Schema.NullOr(Schema.Finite),
} as const

interface SealedRow {
  readonly content: Uint8Array
  readonly object_id: string | null
  readonly object_bytes: number | null
}

export const sealedOf = ({ content, object_id: id, object_bytes: bytes }: SealedRow): RowContent => ({
  content,
  object: id === null || bytes === null ? undefined : { id, bytes },
})

/** The length of a sealed content. */
export const bytesOf = ({ content, object_bytes: bytes }: SealedRow): number => content.length + (bytes ?? 0)

const inRow = (content: Uint8Array): RowContent => ({ content, object: undefined })

const nothing = new Uint8Array(0)
const notInTime = new NotInTime({ problem: "the place of files took too long" })

/** Whether a sealed content in base64 may be larger than a row has it. */
const isLarge = (sealed: string): boolean => sealed.length >= Math.ceil(mostRowBytes / 3) * 4

/** Whether a response may have contents that are stored as objects. */
export const isKeptOutside = ({ sealed, conversation }: KeptFacts): boolean =>
  isLarge(sealed) || conversation?.items.some((item) => isLarge(item.sealed)) === true

/** Ids of organisations may have any characters: here they are one segment, and none that leads elsewhere. */
const pathOf = ({ orgId, id }: NamedObject): string =>
  `${encodeURIComponent(orgId).replaceAll(".", "%2E")}/content-${id}/0`
