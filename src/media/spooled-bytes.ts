/**
 * Bytes that are in memory while they are few, otherwise on the disk. A file on the disk loses its name as soon as it is
 * open: it ends with the process, however that ends.
 */
import { randomUUID } from "node:crypto"
import { type FileHandle, mkdir, open, unlink } from "node:fs/promises"
import { join } from "node:path"
import { ServiceError, serviceError } from "../protocol/error.ts"
import { freeChunk } from "./free-chunk.ts"

/** Bytes of one read. */
const chunkBytes = 64 * 1024
/** Chunks of a reader: one that is written to a socket, one that waits, one that is read. */
const liveChunks = 3

/** The space that all files of this process take, its limits, and their folder. */
export interface Room {
  files: number
  bytes: number
  readonly maxFiles: number
  readonly maxBytes: number
  readonly folder: string
  /** Called when the space that they take has changed. */
  readonly changed: () => void
}

export type SpoolError = ServiceError<"rate_limited">

export const noRoom = (): SpoolError =>
  serviceError("rate_limited", "The gateway has no room for more files now", {
    detail: { scope: "gateway" },
    retryAfterMs: 5000,
  })

const isNoRoom = (cause: unknown): cause is SpoolError => cause instanceof ServiceError && cause.code === "rate_limited"

/** The error of a failed write: there is no room, or the disk is at fault. @param what was to be stored, e.g. `A file` */
export const notStored = (what: string, cause: unknown): SpoolError | ServiceError<"internal_error"> =>
  isNoRoom(cause) ? cause : serviceError("internal_error", `${what} could not be stored`, { cause })

export class SpooledBytes {
  readonly #room: Room
  readonly #keptBytes: number
  #chunks: Array<Uint8Array> = []
  #pendingBytes = 0
  #bytes = 0
  #writtenBytes = 0
  #handle: FileHandle | undefined
  /** The writes, one after the other. */
  #written: Promise<void> = Promise.resolve()
  #isClosed = false

  /** @param keptBytes the bytes that stay in memory */
  constructor(room: Room, keptBytes: number) {
    this.#room = room
    this.#keptBytes = keptBytes
    room.files++
    room.changed()
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Bytes of which no write has begun. */
  get pendingBytes(): number {
    return this.#pendingBytes
  }

  /** Takes a chunk, which nobody else may use from then on; {@link flush} puts it on the disk. */
  add(chunk: Uint8Array): void {
    this.#bytes += chunk.length
    this.#pendingBytes += chunk.length
    this.#chunks.push(chunk)
  }

  /** Waits until what was added is written. Fails with {@link SpoolError} if there is no room, or with the disk's error. */
  flush(): Promise<void> {
    this.#written = this.#written.then(() => this.#write())
    return this.#written
  }

  /** All bytes, after the last flush. A chunk may be overwritten when the third one after it is asked for. */
  chunks(): AsyncIterable<Buffer> {
    if (this.#handle !== undefined) return this.#read()
    const content = Buffer.concat(this.#chunks)
    this.#chunks = [content]
    return once(content)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    // A file that is being opened now could not be closed otherwise.
    await this.#written.catch(() => {})
    this.#room.files--
    this.#room.bytes -= this.#writtenBytes
    this.#room.changed()
    this.#chunks = []
    await this.#handle?.close()
  }

  async #write(): Promise<void> {
    if (this.#isClosed || this.#bytes <= this.#keptBytes || this.#pendingBytes === 0) return
    const room = this.#room
    if (room.bytes + this.#pendingBytes > room.maxBytes) throw noRoom()
    room.bytes += this.#pendingBytes
    room.changed()
    const chunks = this.#chunks
    const at = this.#writtenBytes
    this.#writtenBytes += this.#pendingBytes
    this.#chunks = []
    this.#pendingBytes = 0
    this.#handle ??= await this.#open()
    await this.#handle.writev(chunks, at)
    chunks.forEach(freeChunk)
  }

  async #open(): Promise<FileHandle> {
    const { folder } = this.#room
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const path = join(folder, randomUUID())
    const handle = await open(path, "wx+", 0o600)
    // A handle that nobody closes ends the process when it is collected.
    await unlink(path).catch(async (cause) => {
      await handle.close()
      throw cause
    })
    return handle
  }

  async *#read(): AsyncGenerator<Buffer> {
    // A buffer for each chunk would be garbage by the megabyte.
    const buffers = Array.from({ length: liveChunks }, () => Buffer.allocUnsafeSlow(chunkBytes))
    for (let at = 0; ; ) {
      for (const buffer of buffers) {
        if (at === this.#bytes) return
        const handle = this.#handle
        if (handle === undefined || this.#isClosed) throw new Error("The call of this file is over")
        const { bytesRead } = await handle.read(buffer, 0, chunkBytes, at)
        if (bytesRead === 0) throw new Error("The file is shorter than it was")
        at += bytesRead
        yield buffer.subarray(0, bytesRead)
      }
    }
  }
}

export async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content
}
