/** The store of files of running calls: in memory up to 1 MiB, otherwise on the disk below `SVC_DATA_DIR`. */
import { createHash, type Hash } from "node:crypto"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer, Result, type Scope } from "effect"
import { WeirConfig } from "../config.ts"
import { recordSpool } from "../telemetry/metrics.ts"
import { headBytes, type MediaFile } from "./media-file.ts"
import { noRoom, once, type Room, type SpoolError, SpooledBytes } from "./spooled-bytes.ts"

/** Bytes of a file that stay in memory. */
const memoryBytes = 1024 * 1024

export interface FileWriter {
  /** Takes a part of the file, which nobody else may use from then on; {@link flush} puts it on the disk. */
  readonly add: (chunk: Uint8Array) => void
  /** Waits until what was added is written. Fails with {@link SpoolError} if there is no room, or with the disk's error. */
  readonly flush: () => Promise<void>
  /** The file, after the last flush. */
  readonly file: () => MediaFile
}

export class Spool extends Context.Service<
  Spool,
  {
    /** A new file, until the scope closes. */
    readonly create: Effect.Effect<FileWriter, SpoolError, Scope.Scope>
    /** Bytes for the disk, until they are closed. */
    readonly open: () => Result.Result<SpooledBytes, SpoolError>
    /** Files on the disk, and their bytes. */
    readonly used: () => { readonly files: number; readonly bytes: number }
  }
>()("weir/media/Spool") {
  static readonly layer = Layer.effect(
    Spool,
    Effect.gen(function* () {
      const { dataDir, mediaDiskBytes: maxBytes, mediaMaxFiles: maxFiles } = yield* WeirConfig
      const context = yield* Effect.context<never>()
      const room: Room = {
        files: 0,
        bytes: 0,
        maxBytes,
        maxFiles,
        // Files have no names: if the data is in memory, one folder of all processes is enough.
        folder: join(dataDir === ":memory:" ? join(tmpdir(), "weir") : dataDir, "media"),
        changed: () => recordSpool(context, room.files, room.bytes),
      }
      const open = (keptBytes: number) =>
        room.files < maxFiles ? Result.succeed(new SpooledBytes(room, keptBytes)) : Result.fail(noRoom())
      return Spool.of({
        create: Effect.map(
          Effect.acquireRelease(
            Effect.suspend(() => Effect.fromResult(open(memoryBytes))),
            (bytes) => Effect.promise(() => bytes.close()),
          ),
          (bytes) => new SpooledFile(bytes),
        ),
        open: () => open(0),
        used: () => ({ files: room.files, bytes: room.bytes }),
      })
    }),
  )
}

class SpooledFile implements FileWriter {
  readonly #content: SpooledBytes
  readonly #hash: Hash = createHash("sha256")
  #head: Buffer = Buffer.alloc(0)

  constructor(content: SpooledBytes) {
    this.#content = content
  }

  add(chunk: Uint8Array): void {
    if (this.#head.length < headBytes) {
      this.#head = Buffer.concat([this.#head, chunk.subarray(0, headBytes - this.#head.length)])
    }
    this.#hash.update(chunk)
    this.#content.add(chunk)
  }

  flush(): Promise<void> {
    return this.#content.flush()
  }

  file(): MediaFile {
    const content = this.#content
    return { bytes: content.bytes, sha256: this.#hash.digest("hex"), head: this.#head, chunks: () => content.chunks() }
  }
}

/** A small file that is in memory already. */
export const fileOf = (content: Buffer): MediaFile => ({
  bytes: content.length,
  sha256: createHash("sha256").update(content).digest("hex"),
  head: content.subarray(0, headBytes),
  chunks: () => once(content),
})
