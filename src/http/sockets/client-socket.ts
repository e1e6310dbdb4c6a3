/**
 * A client's WebSocket: messages in both directions, and the counts that show whether the client takes them. Reading,
 * pings and the closing handshake are the library's (`ws`); messages are written to the connection directly.
 */
import type { Socket } from "node:net"
import type { WebSocket } from "ws"
import { type ClosingCode, closing } from "../../protocol/closing-code.ts"
import { binaryFrameOf, frameOf, frameOfBytes } from "./frames.ts"
import { MessageProgress } from "./message-progress.ts"

/** `binary` sends messages in binary frames, as Google does, and takes both; `text` has text frames only. */
export type MessageFormat = "text" | "binary"

export interface SocketListener {
  /** A whole message, in UTF-8. */
  readonly message: (text: Buffer) => void
  /** The client has taken what was waiting. */
  readonly room: () => void
  /** Called once. */
  readonly closed: () => void
}

/** The interval at which clients are pinged. */
export const pingEveryMs = 20_000
/** The time that one message may take, as long as a body over HTTP. Answers to pings do not prolong it. */
const messageMs = 300_000
const messagePings = messageMs / pingEveryMs
/** The number of bytes that may wait for a client before its streams wait too. */
const waitingBytes = 256 * 1024
/** The number of waiting bytes at which a client's pings are not answered any more. */
const waitingPongBytes = 64 * 1024
/** The number of waiting bytes at which a client is not read any more: the answers to its messages would grow without a limit. */
const tooManyWaitingBytes = 1024 * 1024

export class ClientSocket {
  readonly #ws: WebSocket
  readonly #connection: Socket
  readonly #format: MessageFormat
  #isCorked = false
  #isClosed = false
  #isAlive = true
  /** Whether its streams read no further. */
  #isPaused = false
  /** Whether too much waits for the client. */
  #isFull = false
  /** The bytes that the client had taken at the last ping, if too much waits for it. */
  #takenAtPing: number | undefined
  #listener: SocketListener | undefined
  readonly #progress = new MessageProgress()
  /** Messages that had ended at the last ping, and the pings since one has begun that was read. */
  #endedAtPing = 0
  #pingsInMessage = 0

  constructor(ws: WebSocket, connection: Socket, format: MessageFormat = "text") {
    this.#ws = ws
    this.#format = format
    this.#connection = connection
    ws.on("pong", () => {
      this.#isAlive = true
    })
    connection.on("data", (bytes: Buffer) => this.#progress.take(bytes))
    // A client that sends pings and reads no answers gets none.
    ws.on("ping", (data) => {
      if (!this.#isClosed && connection.writableLength < waitingPongBytes) ws.pong(data)
    })
    // The library closes the socket after an error, and says so with the code.
    ws.on("error", () => {})
  }

  listen(listener: SocketListener): void {
    this.#listener = listener
    this.#ws.on("message", (data: Buffer, isBinary: boolean) => {
      this.#isAlive = true
      if (isBinary && this.#format === "text") this.close(closing.unsupportedData, "messages are JSON in text frames")
      else if (!this.#isClosed) listener.message(data)
    })
    this.#connection.on("drain", () => {
      this.#isFull = false
      this.#takenAtPing = undefined
      this.#readOrPause()
      listener.room()
    })
    this.#ws.once("close", () => this.#ended())
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /**
   * Sends one message.
   * @returns whether there is room for more; if not, the listener is called when there is
   */
  send(message: string | Uint8Array): boolean {
    if (this.#format === "binary") {
      return this.sendFrames(binaryFrameOf(typeof message === "string" ? Buffer.from(message) : message))
    }
    return this.sendFrames(typeof message === "string" ? frameOf(message) : frameOfBytes(message))
  }

  /** Sends what is framed already: bytes, or text with a character for each. */
  sendFrames(frames: string | Buffer): boolean {
    // After the closing handshake has begun, nothing may be sent.
    if (this.#isClosed || this.#ws.readyState !== open) return true
    const connection = this.#connection
    // All messages of one turn of the event loop, of any of its streams, are sent in one write.
    if (!this.#isCorked) {
      this.#isCorked = true
      connection.cork()
      setImmediate(this.#uncork)
    }
    connection.write(frames, "latin1")
    if (!this.#isFull && connection.writableLength > tooManyWaitingBytes) {
      this.#isFull = true
      this.#readOrPause()
    }
    return connection.writableLength < waitingBytes
  }

  /** Reports when everything that was sent has left the process. */
  flush(flushed: () => void): void {
    if (this.#isClosed) flushed()
    else this.#connection.write(empty, () => flushed())
  }

  /** Ends with the closing handshake; messages that were sent before arrive. */
  close(code: ClosingCode, reason = ""): void {
    if (this.#isClosed) return
    // The client's answer to the close must be read.
    this.#ws.resume()
    this.#ws.close(code, reason)
    this.#ended()
  }

  /** Ends at once. */
  cut(): void {
    this.#ws.terminate()
    this.#ended()
  }

  /** Stops reading; messages that were read already may still come. */
  pause(): void {
    this.#isPaused = true
    this.#readOrPause()
  }

  resume(): void {
    this.#isPaused = false
    this.#readOrPause()
  }

  unsentBytes(): number {
    return this.#connection.writableLength
  }

  takenBytes(): number {
    return this.#connection.bytesWritten - this.#connection.writableLength
  }

  /**
   * Pings the client; if it has given no sign of life since the last time, the connection is cut. A client that is not read
   * because too much waits for it shows its life by taking some.
   */
  ping(): void {
    if (this.#isClosed) return
    if (this.#isFull) {
      const taken = this.takenBytes()
      if (this.#takenAtPing === taken) this.cut()
      this.#takenAtPing = taken
      return
    }
    if (this.#isPaused) return
    if (this.#isLate()) {
      this.close(closing.policy, "the message did not end in time")
      return
    }
    if (!this.#isAlive) {
      this.cut()
      return
    }
    this.#isAlive = false
    this.#ws.ping()
  }

  /** Counts pings within one message. */
  #isLate(): boolean {
    const { isBegun, ended } = this.#progress
    this.#pingsInMessage = isBegun && ended === this.#endedAtPing ? this.#pingsInMessage + 1 : 0
    this.#endedAtPing = ended
    return this.#pingsInMessage > messagePings
  }

  #readOrPause(): void {
    if (this.#isClosed) return
    if (this.#isPaused || this.#isFull) this.#ws.pause()
    else this.#ws.resume()
  }

  readonly #uncork = (): void => {
    this.#isCorked = false
    this.#connection.uncork()
  }

  #ended(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#listener?.closed()
  }
}

const empty = Buffer.alloc(0)
/** The library's `readyState` of a socket that can send. */
const open = 1
