import { getDefaultHighWaterMark } from "node:stream"
import { freeChunk } from "../media/free-chunk.ts"

/** One write of many MiB takes the event loop's time, and with TLS much of it. */
const pieceBytes = 256 * 1024
/** A write of this size is full: a socket takes nothing more before it has handed it to the system. */
const fullBytes = getDefaultHighWaterMark(false)

/**
 * The bytes of a body in pieces; the next one is asked for when the one before has been written, if that was full. They are
 * released with the last one, because undici keeps a request, with its body, until its reply has ended. If each piece fills
 * its socket, their memory is freed when the last one has been written: left to the collector, it would stop all streams for
 * each 16 MiB of large requests. (Not a stream: what undici makes for one stays until all is collected.)
 */
class Pieces implements IterableIterator<Uint8Array, undefined> {
  #bytes: Uint8Array | undefined
  readonly #size: number
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes.length === 0 ? undefined : bytes
    this.#size = Math.ceil(bytes.length / Math.ceil(bytes.length / pieceBytes))
  }

  [Symbol.iterator](): this {
    return this
  }

  next(): IteratorResult<Uint8Array, undefined> {
    const bytes = this.#bytes
    if (bytes === undefined) return { done: true, value: undefined }
    if (this.#at < bytes.length) {
      const piece = bytes.subarray(this.#at, this.#at + this.#size)
      this.#at += piece.length
      // A smaller piece does not fill its socket, so the time when it has been written is not known.
      if (this.#size < fullBytes) this.#bytes = undefined
      return { done: false, value: piece }
    }
    this.#bytes = undefined
    freeChunk(bytes)
    return { done: true, value: undefined }
  }
}

/**
 * A body that is sent in pieces.
 * @param bytes belong to the request from here on: their memory is freed
 */
export const inPieces = (bytes: Uint8Array): Iterable<Uint8Array> => new Pieces(bytes)
