/**
 * Where files of calls are while the calls run: in memory up to 1 MiB, otherwise on the disk below `SVC_DATA_DIR`.
 * A file on the disk loses its name as soon as it is open: it ends with the process, however that ends.
 */
import { createHash, type Hash, randomUUID } from "node:crypto"
import { type FileHandle, mkdir, open, unlink } from "node:fs/promises"
import { join } from "node:path"
import { Context, Effect, Layer, type Scope } from "effect"
import { WeirConfig } from "../config.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { freeChunk } from "./free-chunk.ts"
import { headBytes, type MediaFile } from "./media-file.ts"

/** Bytes of a file that stay in memory. */
const memoryBytes = 1024 * 1024
/** Bytes of one read. */
const chunkBytes = 64 * 1024
/** Chunks of a reader: one that is written to a socket, one that waits, one that is read. */
const liveChunks = 3

export type SpoolError = ServiceError<"rate_limited">

export interface FileWriter {
  /** Takes a part of the file, which nobody else may use from then on; {@link flush} puts it on the disk. */
  readonly add: (chunk: Uint8Array) => void
  /** Waits until what was added is written. Fails with {@link SpoolError} if there is no room, or with the disk's error. */
  readonly flush: () => Promise<void>
  /** The file, after the last flush. */
  readonly file: () => MediaFile
}

/** What all files of this process take. */
interface Room {
  files: number
  bytes: number
  readonly maxFiles: number
  readonly maxBytes: number
}

export class Spool extends Context.Service<
  Spool,
  {
    /** A new file, until the scope closes. */
    readonly create: Effect.Effect<FileWriter, SpoolError, Scope.Scope>
    /** Files on the disk, and their bytes. */
    readonly used: () => { readonly files: number; readonly bytes: number }
  }
>()("weir/media/Spool") {
  static readonly layer = Layer.effect(
    Spool,
    Effect.gen(function* () {
      const { dataDir, mediaDiskBytes: maxBytes, mediaMaxFiles: maxFiles } = yield* WeirConfig
      const room: Room = { files: 0, bytes: 0, maxBytes, maxFiles }
      const folder = join(dataDir, "media")
      return Spool.of({
        create: Effect.acquireRelease(
          Effect.suspend(() =>
            room.files < maxFiles ? Effect.sync(() => new SpooledFile(folder, room)) : Effect.fail(noRoom()),
          ),
          (file) => Effect.promise(() => file.close()),
        ),
        used: () => ({ files: room.files, bytes: room.bytes }),
      })
    }),
  )
}

const noRoom = () =>
  serviceError("rate_limited", "The gateway has no room for more files now", {
    detail: { scope: "gateway" },
    retryAfterMs: 5000,
  })

class SpooledFile implements FileWriter {
  readonly #folder: string
  readonly #room: Room
  readonly #hash: Hash = createHash("sha256")
  #chunks: Array<Uint8Array> = []
  #pendingBytes = 0
  #bytes = 0
  #writtenBytes = 0
  #head: Buffer = Buffer.alloc(0)
  #handle: FileHandle | undefined
  #isClosed = false

  constructor(folder: string, room: Room) {
    this.#folder = folder
    this.#room = room
    room.files++
  }

  add(chunk: Uint8Array): void {
    if (this.#head.length < headBytes) {
      this.#head = Buffer.concat([this.#head, chunk.subarray(0, headBytes - this.#head.length)])
    }
    this.#hash.update(chunk)
    this.#bytes += chunk.length
    this.#pendingBytes += chunk.length
    this.#chunks.push(chunk)
  }

  async flush(): Promise<void> {
    if (this.#bytes <= memoryBytes || this.#pendingBytes === 0) return
    const room = this.#room
    if (room.bytes + this.#pendingBytes > room.maxBytes) throw noRoom()
    room.bytes += this.#pendingBytes
    const chunks = this.#chunks
    const at = this.#writtenBytes
    this.#writtenBytes += this.#pendingBytes
    this.#chunks = []
    this.#pendingBytes = 0
    this.#handle ??= await this.#open()
    await this.#handle.writev(chunks, at)
    chunks.forEach(freeChunk)
  }

  file(): MediaFile {
    const sha256 = this.#hash.digest("hex")
    const content = this.#handle === undefined ? Buffer.concat(this.#chunks) : undefined
    this.#chunks = content === undefined ? [] : [content]
    return {
      bytes: this.#bytes,
      sha256,
      head: this.#head,
      chunks: () => (content === undefined ? this.#read() : once(content)),
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#room.files--
    this.#room.bytes -= this.#writtenBytes
    this.#chunks = []
    await this.#handle?.close()
  }

  async #open(): Promise<FileHandle> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const path = join(this.#folder, randomUUID())
    const handle = await open(path, "wx+", 0o600)
    await unlink(path)
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

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content
}

/** A small file that is in memory already. */
export const fileOf = (content: Buffer): MediaFile => ({
  bytes: content.length,
  sha256: createHash("sha256").update(content).digest("hex"),
  head: content.subarray(0, headBytes),
  chunks: () => once(content),
})
