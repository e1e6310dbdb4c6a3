/** The bytes of a client of PostgreSQL, cut into messages (PostgreSQL's documentation, "Message Formats"). */

const encryptionRequests = new Set([80877103, 80877104])
const cancelRequest = 80877102
const terminate = 0x58
/** PostgreSQL's own limit of a connection's first message. */
const mostBytesOfFirst = 10_000

export type ClientMessage =
  /** The client asks for TLS or GSSAPI: the answer is one byte, and another first message comes. */
  | { readonly is: "encryption request" }
  /** The client asks to end the statement of another connection. */
  | { readonly is: "cancel request" }
  /** The user that begins a connection, and the parameters of the connection. */
  | { readonly is: "startup"; readonly bytes: Uint8Array }
  /** The message after the startup: an answer to the request for a password. It is one message, without later bytes. */
  | { readonly is: "password"; readonly bytes: Uint8Array }
  /** One message or several, each whole. */
  | { readonly is: "work"; readonly bytes: Uint8Array }
  | { readonly is: "end" }
  /** No message has such a length: the bytes after it cannot be read. */
  | { readonly is: "nonsense" }

const nonsense = { is: "nonsense" } as const

/** Joins the pieces, and returns all whole messages at once. */
export class ClientMessages {
  readonly #pieces: Array<Buffer> = []
  #size = 0
  /** The bytes that make the first message whole, as far as is known. */
  #needed = 8
  #expects: "startup" | "password" | "work" = "startup"

  push(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#size += piece.length
  }

  /** @returns undefined until a message is whole */
  take(): ClientMessage | undefined {
    if (this.#size < this.#needed) return undefined
    const bytes = Buffer.concat(this.#pieces.splice(0))
    this.#size = 0
    return this.#expects === "startup" ? this.#takeFirst(bytes) : this.#takeWhole(bytes, this.#expects)
  }

  /** The first message of a connection has a length and a code, and no type. */
  #takeFirst(bytes: Buffer): ClientMessage | undefined {
    const end = bytes.readInt32BE(0)
    if (end < 8 || end > mostBytesOfFirst) return nonsense
    if (bytes.length < end) return this.#wait(bytes, end)
    const code = bytes.readInt32BE(4)
    if (code === cancelRequest) return { is: "cancel request" }
    const isEncryption = encryptionRequests.has(code)
    if (!isEncryption) this.#expects = "password"
    this.#wait(bytes.subarray(end), isEncryption ? 8 : 5)
    return isEncryption ? { is: "encryption request" } : { is: "startup", bytes: bytes.subarray(0, end) }
  }

  /** Every other has a type, and its length without it. */
  #takeWhole(bytes: Buffer, is: "password" | "work"): ClientMessage | undefined {
    let end = 0
    let needed = 5
    while (bytes.length >= end + 5 && bytes[end] !== terminate) {
      const length = bytes.readInt32BE(end + 1)
      if (length < 4) return nonsense
      if (end + 1 + length > bytes.length) {
        needed = 1 + length
        break
      }
      end += 1 + length
      if (is === "password") break
    }
    if (end === 0 && bytes[0] === terminate) return { is: "end" }
    this.#wait(bytes.subarray(end), needed)
    if (end === 0) return undefined
    this.#expects = "work"
    return { is, bytes: bytes.subarray(0, end) }
  }

  /** Stores an incomplete message. */
  #wait(rest: Buffer, needed: number): undefined {
    this.#needed = needed
    if (rest.length > 0) this.push(rest)
  }
}
