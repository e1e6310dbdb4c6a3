/** The body of a request as a file: raw bytes, which go to the spool as they arrive. */
import { createHash } from "node:crypto"
import { Effect, type Scope } from "effect"
import type { MediaFile } from "../../../media/media-file.ts"
import type { Spool } from "../../../media/spool.ts"
import { notStored, type SpoolError } from "../../../media/spooled-bytes.ts"
import { bodyTooLarge, type ServiceError, serviceError } from "../../../protocol/error.ts"
import type { UploadRequest } from "../../caller-request.ts"

interface RawContent {
  readonly sha256: string
  readonly file: MediaFile
}

export const readRaw = (
  spool: Spool["Service"],
  request: UploadRequest,
  mostBytes: number,
): Effect.Effect<RawContent, SpoolError | ServiceError, Scope.Scope> =>
  Effect.gen(function* () {
    if (Number(request.headers["content-length"] ?? 0) > mostBytes) return yield* bodyTooLarge(mostBytes)
    const writer = yield* spool.create
    const hash = createHash("sha256")
    const chunks = request.chunks()[Symbol.asyncIterator]()
    let bytes = 0
    while (true) {
      const next = yield* Effect.tryPromise({ try: () => chunks.next(), catch: () => unreadable })
      if (next.done === true) break
      bytes += next.value.length
      if (bytes > mostBytes) return yield* bodyTooLarge(mostBytes)
      hash.update(next.value)
      writer.add(next.value)
      yield* Effect.tryPromise({ try: () => writer.flush(), catch: (cause) => notStored("A file", cause) })
    }
    return { sha256: hash.digest("hex"), file: writer.file() }
  })

const unreadable = serviceError("bad_request", "The body could not be read")
