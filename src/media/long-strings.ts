/**
 * Takes the long strings out of JSON while it arrives, so that a picture in a reply is never in memory as a whole. Reads one
 * object, or events of them: a line break, which no string of JSON has, ends a string too.
 */
import { Result } from "effect"
import type { LongParts } from "./marked.ts"
import type { SpoolError } from "./spooled-bytes.ts"
import type { StoredText, StoredTexts } from "./stored-texts.ts"

/** Shorter strings stay in the JSON. A reply with a longer one is not stored for its request id. */
const maxShortBytes = 256 * 1024

const [quote, backslash, slash, lineFeed, carriageReturn] = [0x22, 0x5c, 0x2f, 0x0a, 0x0d]

const isBase64 = new Uint8Array(256)
for (const letter of Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_="))
  isBase64[letter] = 1

/** `short`: a string that is not long yet; `plain`: a long one that is not base64, which stays where it is. */
type State = "outside" | "short" | "plain" | "stored"

export class LongStrings implements LongParts {
  readonly #texts: StoredTexts
  readonly #maxBytes: number
  #bytes = 0
  #state: State = "outside"
  #isEscaped = false
  /** Whether the string has only letters of base64 so far; a slash may be escaped. */
  #isBase64 = true
  /** The beginning of a string. */
  #begun: Array<Uint8Array> = []
  #begunBytes = 0
  #text: StoredText | undefined
  #ended: Array<StoredText> = []
  /** Whether the rest cannot be read: it is too large, or a picture is invalid. */
  isMalformed = false
  #noRoom: SpoolError | undefined

  /** @param maxBytes of all that is taken */
  constructor(texts: StoredTexts, maxBytes: number) {
    this.#texts = texts
    this.#maxBytes = maxBytes
  }

  take(bytes: Uint8Array): Uint8Array {
    this.#bytes += bytes.length
    if (this.#bytes > this.#maxBytes) this.isMalformed = true
    const out: Array<Uint8Array> = []
    for (let at = 0; at < bytes.length && !this.isMalformed && this.#noRoom === undefined; ) {
      if (this.#state === "outside") {
        const begin = bytes.indexOf(quote, at)
        const end = begin === -1 ? bytes.length : begin + 1
        out.push(bytes.subarray(at, end))
        if (begin !== -1) this.#state = "short"
        at = end
      } else {
        const end = this.#endOfString(bytes, at)
        this.#add(bytes.subarray(at, end), out)
        if (end < bytes.length) {
          this.#endString(out)
          out.push(bytes.subarray(end, end + 1))
        }
        at = end + 1
      }
    }
    const [only] = out
    return out.length === 1 && only !== undefined ? only : Buffer.concat(out)
  }

  written(): Promise<unknown> | undefined {
    if (this.#noRoom !== undefined) return Promise.reject(this.#noRoom)
    const ended = this.#ended.splice(0).map((text) => text.flush(true))
    const open = this.#text?.flush(false)
    return ended.length === 0 ? open : Promise.all([...ended, open])
  }

  /** The index where a string ends, or the bytes. */
  #endOfString(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0
      if (this.#isEscaped) {
        this.#isEscaped = false
        if (byte !== slash) this.#isBase64 = false
      } else if (isBase64[byte] !== 1) {
        if (byte === quote || byte === lineFeed || byte === carriageReturn) return at
        if (byte === backslash) this.#isEscaped = true
        else this.#isBase64 = false
      }
    }
    return bytes.length
  }

  #add(part: Uint8Array, out: Array<Uint8Array>): void {
    if (this.#state === "plain") out.push(part)
    else if (this.#text !== undefined) {
      this.#text.add(part)
      if (!this.#isBase64) this.isMalformed = true
    } else {
      this.#begun.push(part)
      this.#begunBytes += part.length
      if (this.#begunBytes > maxShortBytes) this.#becomesLong(out)
    }
  }

  #becomesLong(out: Array<Uint8Array>): void {
    if (!this.#isBase64) {
      this.#state = "plain"
      this.#giveBegun((part) => out.push(part))
      return
    }
    const text = this.#texts.begin(Buffer.concat(this.#begun))
    if (Result.isFailure(text)) {
      this.#noRoom = text.failure
      return
    }
    this.#state = "stored"
    this.#text = text.success
    out.push(Buffer.from(this.#text.mark))
    this.#giveBegun((part) => text.success.add(part))
  }

  #endString(out: Array<Uint8Array>): void {
    this.#giveBegun((part) => out.push(part))
    if (this.#text !== undefined) this.#ended.push(this.#text)
    this.#text = undefined
    this.#state = "outside"
    this.#isEscaped = false
    this.#isBase64 = true
  }

  #giveBegun(give: (part: Uint8Array) => void): void {
    this.#begun.forEach(give)
    this.#begun = []
    this.#begunBytes = 0
  }
}
