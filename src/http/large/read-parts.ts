/** Reads a large body without joining its parts: that would take the memory twice, and the event loop's time. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { bodyTooLarge, ServiceError, serviceError } from "../../protocol/error.ts"
import { decodeContent } from "../content-encoding.ts"
import type { UploadRequest } from "../runtime.ts"

export interface SentParts {
  /** Of the body as it was sent, if a signature covers it; empty otherwise. */
  readonly sha256: string
  /** Without its content encoding. */
  readonly parts: ReadonlyArray<Uint8Array>
  readonly bytes: number
}

type ReadError = ServiceError<"payload_too_large" | "bad_request">

export const readParts = (request: UploadRequest, maxBytes: number): Effect.Effect<SentParts, ReadError> =>
  Effect.gen(function* () {
    const { "content-length": length = "0", "content-encoding": encoding, "x-svc-sign": signature } = request.headers
    if (Number(length) > maxBytes) return yield* bodyTooLarge(maxBytes)
    const hash = signature === undefined ? undefined : createHash("sha256")
    const parts = yield* Effect.tryPromise({
      try: async () => {
        const read: Array<Uint8Array> = []
        let bytes = 0
        for await (const part of request.chunks()) {
          hash?.update(part)
          read.push(part)
          bytes += part.length
          if (bytes > maxBytes) throw bodyTooLarge(maxBytes)
        }
        return read
      },
      catch: (cause): ReadError => (isTooLarge(cause) ? cause : unreadable()),
    })
    const sha256 = hash?.digest("hex") ?? ""
    if (encoding === undefined) return { sha256, parts, bytes: bytesOf(parts) }
    const decoded = yield* decodeContent(encoding, Buffer.concat(parts), maxBytes)
    return { sha256, parts: [decoded], bytes: decoded.length }
  })

const bytesOf = (parts: ReadonlyArray<Uint8Array>): number => parts.reduce((sum, { length }) => sum + length, 0)

const isTooLarge = (cause: unknown): cause is ServiceError<"payload_too_large"> =>
  cause instanceof ServiceError && cause.code === "payload_too_large"

const unreadable = () => serviceError("bad_request", "The body could not be read")
