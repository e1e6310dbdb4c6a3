/** The content of a file in storage: parts of a fixed length, each sealed for its place, so that none can be cut or swapped. */
import { Data, Effect, Stream } from "effect"
import type { MediaFile } from "../media/media-file.ts"
import type { Storage, TargetFailed } from "../object-storage/target.ts"
import type { Sealer } from "../store/seal.ts"

/** Bytes of a part: the memory that a file takes while it is written or read. */
export const partBytes = 4 * 1024 * 1024
/** Bytes that sealing adds, at most. */
const sealBytes = 1024

export const partsOf = (bytes: number): number => Math.ceil(bytes / partBytes)

/** The number of parts of a copy that a vendor keeps: none of them is stored here. */
export const atVendor = -1

export interface StoredFile {
  readonly orgId: string
  readonly id: string
  readonly parts: number
}

/** A part is missing, or was sealed with another key. */
export class PartLost extends Data.TaggedError("PartLost")<{ readonly file: string; readonly part: number }> {}

/** Ids of organisations may have any characters: here they are one segment, and none that leads elsewhere. */
const pathOf = ({ orgId, id }: StoredFile, part: number): string =>
  `${encodeURIComponent(orgId).replaceAll(".", "%2E")}/${id}/${part}`
const contextOf = ({ orgId, id, parts }: StoredFile, part: number): string =>
  `client file ${orgId} ${id} ${part}/${parts}`

/** Writes a file, one part after the other. */
export const putParts = Effect.fnUntraced(function* (
  storage: Storage,
  sealer: Sealer,
  file: StoredFile,
  content: Pick<MediaFile, "chunks">,
) {
  const chunks = content.chunks()[Symbol.asyncIterator]()
  let part = 0
  let waiting: Array<Buffer> = []
  let length = 0
  const put = Effect.suspend(() => {
    const bytes = Buffer.concat(waiting)
    waiting = []
    length = 0
    const sealed = sealer.sealBytes(bytes, contextOf(file, part))
    return storage.put(pathOf(file, part++), sealed)
  })
  while (true) {
    const next = yield* Effect.promise(() => chunks.next())
    if (next.done === true) break
    // A chunk may be overwritten later.
    let rest = Buffer.from(next.value)
    while (length + rest.length >= partBytes) {
      const room = partBytes - length
      waiting.push(rest.subarray(0, room))
      rest = rest.subarray(room)
      yield* put
    }
    if (rest.length === 0) continue
    waiting.push(rest)
    length += rest.length
  }
  if (length > 0) yield* put
})

/** Reads a file, one part after the other. */
export const readParts = (
  storage: Storage,
  sealer: Sealer,
  file: StoredFile,
): Stream.Stream<Uint8Array, TargetFailed | PartLost> =>
  Stream.fromIterable(Array.from({ length: file.parts }, (_, part) => part)).pipe(
    Stream.mapEffect((part) => readPart(storage, sealer, file, part)),
  )

const readPart = (storage: Storage, sealer: Sealer, file: StoredFile, part: number) =>
  Effect.flatMap(storage.get(pathOf(file, part), partBytes + sealBytes), (sealed) => {
    const bytes = sealed && sealer.openBytes(sealed, contextOf(file, part))
    return bytes === undefined ? Effect.fail(new PartLost({ file: file.id, part })) : Effect.succeed(bytes)
  })

/** Reads so many bytes from a place, with the parts that have them. */
export const readRange = (storage: Storage, sealer: Sealer, file: StoredFile, from: number, bytes: number) => {
  const first = Math.floor(from / partBytes)
  const last = Math.floor((from + bytes - 1) / partBytes)
  const parts = Array.from({ length: last - first + 1 }, (_, at) => first + at)
  return Effect.gen(function* () {
    // Each part is copied when it is there: all of them at once would take the event loop's time.
    const read = Buffer.allocUnsafeSlow(bytes)
    for (const part of parts) {
      const content = yield* readPart(storage, sealer, file, part)
      const start = from - part * partBytes
      read.set(content.subarray(Math.max(0, start), start + bytes), Math.max(0, -start))
    }
    return read
  })
}

export const removeParts = (storage: Storage, file: StoredFile): Effect.Effect<void, TargetFailed> =>
  Effect.forEach(
    Array.from({ length: file.parts }, (_, part) => part),
    (part) => storage.remove(pathOf(file, part)),
    { concurrency: 4, discard: true },
  )
