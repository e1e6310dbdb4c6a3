/** The body of a request as a file: raw bytes, which go to the spool as they arrive. */
import { Effect, type Scope } from "effect"
import type { MediaFile } from "../../../media/media-file.ts"
import type { Spool } from "../../../media/spool.ts"
import { notStored, type SpoolError } from "../../../media/spooled-bytes.ts"
import { bodyTooLarge, type ServiceError, serviceError } from "../../../protocol/error.ts"
import type { UploadRequest } from "../../caller-request.ts"

export const readRaw = (
  spool: Spool["Service"],
  request: UploadRequest,
  mostBytes: number,
): Effect.Effect<MediaFile, SpoolError | ServiceError, Scope.Scope> =>
  Effect.gen(function* () {
    if (Number(request.headers["content-length"] ?? 0) > mostBytes) return yield* bodyTooLarge(mostBytes)
    const writer = yield* spool.create
    const chunks = request.chunks()[Symbol.asyncIterator]()
    let bytes = 0
    while (true) {
      const next = yield* Effect.tryPromise({ try: () => chunks.next(), catch: () => unreadable })
      if (next.done === true) break
      bytes += next.value.length
      if (bytes > mostBytes) return yield* bodyTooLarge(mostBytes)
      writer.add(next.value)
      yield* Effect.tryPromise({ try: () => writer.flush(), catch: (cause) => notStored("A file", cause) })
    }
    return writer.file()
  })

const unreadable = serviceError("bad_request", "The body could not be read")
