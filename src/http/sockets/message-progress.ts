/**
 * Whether a client is in the middle of a message. Follows the heads of frames in the received bytes, and keeps no content,
 * because the library reports only whole messages. Source: RFC 6455 section 5.2.
 */
export class MessageProgress {
  /** The head that is being read; the longest has 14 bytes. */
  readonly #head = new Uint8Array(14)
  #headBytes = 0
  #payloadBytes = 0
  #isFragmented = false
  /** Messages that have ended. */
  ended = 0

  /** Whether a message, or a frame, has begun and not ended. */
  get isBegun(): boolean {
    return this.#isFragmented || this.#headBytes > 0 || this.#payloadBytes > 0
  }

  take(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#payloadBytes > 0) {
        const read = Math.min(this.#payloadBytes, bytes.length - at)
        this.#payloadBytes -= read
        at += read
      } else {
        this.#head[this.#headBytes++] = bytes[at++] ?? 0
        if (this.#headBytes < headLength(this.#head)) continue
        this.#payloadBytes = payloadLength(this.#head)
        this.#headBytes = 0
      }
      if (this.#headBytes === 0 && this.#payloadBytes === 0) this.#frameEnded()
    }
  }

  #frameEnded(): void {
    const [first = 0] = this.#head
    // Control frames may come between the fragments of a message.
    if ((first & 0x08) !== 0) return
    this.#isFragmented = (first & 0x80) === 0
    if (!this.#isFragmented) this.ended++
  }
}

/** The length of a head by its second byte; two as long as that has not come. */
const headLength = ([, second = 0]: Uint8Array): number => {
  const length = second & 0x7f
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + (second & 0x80 ? 4 : 0)
}

const payloadLength = (head: Uint8Array): number => {
  const length = (head[1] ?? 0) & 0x7f
  if (length < 126) return length
  const { buffer, byteOffset } = head
  const view = new DataView(buffer, byteOffset)
  return length === 126 ? view.getUint16(2) : Number(view.getBigUint64(2))
}
