/** Reads a large body in parts: one piece of its size would take the memory twice, and the event loop's time. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { EventLoopBudget } from "../../event-loop-budget.ts"
import { freeChunk } from "../../media/free-chunk.ts"
import { bodyTooLarge, ServiceError, serviceError } from "../../protocol/error.ts"
import type { UploadRequest } from "../caller-request.ts"
import { decodeContent } from "../content-encoding.ts"
import { grown, type Room } from "./room.ts"

const joinedBytes = 1024 * 1024
const firstBytes = 64 * 1024

export interface SentParts {
  /** The SHA-256 of the body as it was sent, if a signature covers it; empty otherwise. */
  readonly sha256: string
  /** The body without its content encoding. */
  readonly parts: ReadonlyArray<Uint8Array>
  readonly bytes: number
}

type ReadError = ServiceError<"payload_too_large" | "bad_request" | "rate_limited">

export const readParts = Effect.fnUntraced(function* (
  request: UploadRequest,
  maxBytes: number,
  room?: Room,
): Effect.fn.Return<SentParts, ReadError> {
  const { "content-length": length = "0", "content-encoding": encoding, "x-svc-sign": signature } = request.headers
  if (Number(length) > maxBytes) return yield* bodyTooLarge(maxBytes)
  const hash = signature === undefined ? undefined : createHash("sha256")
  const parts = yield* Effect.tryPromise({
    try: async () => {
      const read = new Joined(encoding === undefined ? Number(length) : 0)
      let bytes = 0
      for await (const part of request.chunks()) {
        hash?.update(part)
        bytes += part.length
        const later = turn.take(part.length)
        read.add(part)
        freeChunk(part)
        const refused = bytes > maxBytes ? bodyTooLarge(maxBytes) : room?.grow(bytes)
        if (refused !== undefined) throw refused
        if (later !== undefined) await later
      }
      return read.parts()
    },
    catch: (cause): ReadError => (isRefusal(cause) ? cause : unreadable()),
  })
  const sha256 = hash?.digest("hex") ?? ""
  if (encoding === undefined) return { sha256, parts, bytes: bytesOf(parts) }
  const decoded = yield* grown(room, yield* decodeContent(encoding, Buffer.concat(parts), maxBytes))
  return { sha256, parts: [decoded], bytes: decoded.length }
})

/**
 * Joins the chunks into parts of a MiB, because transferring hundreds of small ones takes the event loop's time. Memory that
 * the chunks have beyond the body would have to be collected, which takes longer than the rest of a request.
 */
class Joined {
  readonly #full: Array<Uint8Array> = []
  #expected: number
  #open: Uint8Array | undefined
  #used = 0

  /** @param expected the number of bytes; 0 if it is not known */
  constructor(expected: number) {
    this.#expected = expected
  }

  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const open = this.#open === undefined || this.#used === this.#open.length ? this.#begin() : this.#open
      const taken = Math.min(bytes.length - at, open.length - this.#used)
      open.set(bytes.subarray(at, at + taken), this.#used)
      this.#used += taken
      at += taken
    }
  }

  #begin(): Uint8Array {
    if (this.#open !== undefined) this.#full.push(this.#open)
    const bytes = this.#expected > 0 ? this.#expected : Math.max(firstBytes, 2 * this.#used)
    this.#open = Buffer.allocUnsafeSlow(Math.min(joinedBytes, bytes))
    this.#expected -= this.#open.length
    this.#used = 0
    return this.#open
  }

  parts(): ReadonlyArray<Uint8Array> {
    if (this.#open === undefined) return []
    const isFull = this.#used === this.#open.length
    return [...this.#full, isFull ? this.#open : new Uint8Array(this.#open.subarray(0, this.#used))]
  }
}

const turn = new EventLoopBudget(512 * 1024)

const bytesOf = (parts: ReadonlyArray<Uint8Array>): number => parts.reduce((sum, { length }) => sum + length, 0)

const isRefusal = (cause: unknown): cause is ServiceError<"payload_too_large" | "rate_limited"> =>
  cause instanceof ServiceError && (cause.code === "payload_too_large" || cause.code === "rate_limited")

const unreadable = () => serviceError("bad_request", "The body could not be read")
