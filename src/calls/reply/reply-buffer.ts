/**
 * The part of a stream that a slow client has not taken. It waits here, and is given to the connection in parts, so that
 * progress shows. A stored text is read while it is written.
 */
import { isStored, type WrittenPart } from "../../media/marked.ts"
import type { Connection, StreamPart } from "../connection.ts"
import type { Stall } from "./stall.ts"

/** The memory that data for slow clients takes in the whole process. While it is above its limit, no stream may buffer more. */
export interface WaitingBytes {
  bytes: number
  readonly limitBytes: number
}

export interface BufferOptions {
  readonly connection: Pick<Connection<never>, "write" | "cut" | "unsentBytes" | "takenBytes">
  readonly waiting: WaitingBytes
  /** Unsent bytes at which the vendor's socket is paused. */
  readonly bufferBytes: number
  readonly nowMs: () => number
}

export interface BufferListener {
  /** The connection has taken what it has room for. */
  readonly wentOn: () => void
}

/** Bytes of memory that a part takes while it waits. */
const memoryOf = (part: WrittenPart): number => (isStored(part) ? part.heldBytes : Buffer.byteLength(part))

export class ReplyBuffer {
  readonly #options: BufferOptions
  readonly #stall: Stall
  readonly #listener: BufferListener
  #hasRoom = true
  #isDropped = false
  #parts: Array<WrittenPart> = []
  #waitingBytes = 0
  /** The rest of the stored text that is being written. */
  #storedRest: AsyncIterator<Uint8Array> | undefined
  /** Bytes of memory that it takes. */
  #storedBytes = 0

  constructor(options: BufferOptions, stall: Stall, listener: BufferListener) {
    this.#options = options
    this.#stall = stall
    this.#listener = listener
  }

  /** Whether the connection takes more now. */
  get hasRoom(): boolean {
    return this.#hasRoom
  }

  /** Whether nothing more should be read from the vendor. */
  get isFull(): boolean {
    const { bufferBytes, waiting } = this.#options
    return !this.#hasRoom && (waiting.bytes >= waiting.limitBytes || this.unsentBytes() >= bufferBytes)
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0 && this.#storedRest === undefined
  }

  /** Bytes that the client has not taken, here and in its connection. */
  unsentBytes(): number {
    return this.#waitingBytes + this.#options.connection.unsentBytes()
  }

  /** Gives a part to the connection, or keeps it until there is room. */
  add(part: WrittenPart): void {
    if (this.#hasRoom) this.#give(part)
    else {
      this.#parts.push(part)
      this.#count(memoryOf(part))
    }
  }

  /** The connection has taken everything. */
  room(): void {
    this.#hasRoom = true
    this.#stall.begin(this.#options.nowMs())
  }

  /** Gives the connection what it has room for. */
  goOn(): void {
    if (this.#storedRest !== undefined) {
      this.#giveStored(this.#storedRest)
      return
    }
    while (this.#hasRoom && this.#parts.length > 0) {
      const part = this.#parts.shift() ?? ""
      this.#count(-memoryOf(part))
      this.#give(part)
    }
    this.#listener.wentOn()
  }

  /** The client has left. */
  drop(): void {
    this.#isDropped = true
    this.#parts = []
    this.#count(-this.#waitingBytes)
  }

  #give(part: WrittenPart): void {
    if (!isStored(part)) {
      this.#giveNow(part)
      return
    }
    this.#countStored(part.heldBytes)
    this.#giveStored(part.chunks())
  }

  #giveNow(part: StreamPart): void {
    const { connection } = this.#options
    this.#hasRoom = connection.write(part)
    if (!this.#hasRoom) this.#stall.wait(connection.takenBytes())
  }

  /** Gives the next chunk of a stored text; the one after it when there is room, and then what waits. */
  #giveStored(chunks: AsyncIterator<Uint8Array>): void {
    this.#storedRest = chunks
    this.#hasRoom = false
    chunks.next().then(
      ({ done, value }) => {
        if (this.#isDropped) return
        if (done === true) {
          this.#storedRest = undefined
          this.#countStored(-this.#storedBytes)
          this.room()
          this.goOn()
        } else {
          this.#countStored(-Math.min(value.length, this.#storedBytes))
          this.#giveNow(value)
          if (this.#hasRoom) this.#giveStored(chunks)
        }
      },
      () => this.#options.connection.cut(),
    )
  }

  #countStored(bytes: number): void {
    this.#storedBytes += bytes
    this.#count(bytes)
  }

  #count(bytes: number): void {
    this.#waitingBytes += bytes
    this.#options.waiting.bytes += bytes
  }
}
