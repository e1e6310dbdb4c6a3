/** A file with results while it is written. */
import { Effect } from "effect"
import type { MediaFile } from "../media/media-file.ts"
import type { FileWriter } from "../media/spool.ts"

/** Bytes that wait in memory to be written. */
const flushBytes = 256 * 1024

export class ResultFile {
  readonly name: string
  readonly #writer: FileWriter
  #bytes = 0
  #waiting = 0

  constructor(writer: FileWriter, name: string) {
    this.name = name
    this.#writer = writer
  }

  get isEmpty(): boolean {
    return this.#bytes === 0
  }

  /** Adds a line. */
  add(text: string): Effect.Effect<void> {
    return this.addText(`${text}\n`)
  }

  addText(text: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const line = Buffer.from(text)
      this.#writer.add(line)
      this.#bytes += line.length
      this.#waiting += line.length
      return this.#waiting < flushBytes ? Effect.void : this.#flush
    })
  }

  readonly #flush = Effect.suspend(() => {
    this.#waiting = 0
    return Effect.promise(() => this.#writer.flush())
  })

  /** The whole file. */
  get file(): Effect.Effect<MediaFile> {
    return Effect.map(this.#flush, () => this.#writer.file())
  }
}
