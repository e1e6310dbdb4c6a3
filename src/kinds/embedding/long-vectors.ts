/**
 * Takes the vectors out of a long reply while it arrives: reading 2,048 of them as numbers and writing them again would stop
 * the event loop for a second. A vector in the other encoding is converted when it has come.
 */
import { maxKeptBytes } from "../../calls/reply/replay-record.ts"
import { wholeBody } from "../../calls/vendor/whole-body.ts"
import { NumberArray } from "../../dialects/parse/number-array.ts"
import { WrittenVector } from "../../dialects/parse/written-vector.ts"
import { dimensionsOf, readVector, toBase64, toNumbers } from "../../dialects/vendor/vectors.ts"
import { EventLoopBudget } from "../../event-loop-budget.ts"
import type { LongParts } from "../../media/marked.ts"
import type { WrittenVectors } from "./written-vectors.ts"

/** The length up to which a reply is read as a whole; such a reply may be kept for its request id. */
export const longReplyBytes = maxKeptBytes
/** A shorter array or string stays where it is. */
const shortBytes = 64

/** The size of a conversion that takes 5 ms. */
const turn = new EventLoopBudget(64 * 1024)

const [quote, backslash, open] = [0x22, 0x5c, 0x5b]
const nothing = new Uint8Array(0)

type State = "outside" | "array" | "string"

export class LongVectors implements LongParts {
  readonly isMalformed = false
  readonly #vectors: WrittenVectors
  readonly #encoding: "float" | "base64"
  /** The beginning of a reply that is not long yet. */
  #begun: Array<Uint8Array> | undefined = []
  #bytes = 0
  /** The bytes that were read in this turn. */
  #readBytes = 0
  #state: State = "outside"
  #array = new NumberArray()
  #isEscaped = false
  /** Whether the string has an escape: it is not base64 then. */
  #hasEscape = false
  /** The bytes of the array or string. */
  #content: Array<Uint8Array> = []
  #out: Array<Uint8Array> = []

  /** @param encoding of the client */
  constructor(vectors: WrittenVectors, encoding: "float" | "base64") {
    this.#vectors = vectors
    this.#encoding = encoding
  }

  take(bytes: Uint8Array): Uint8Array {
    if (this.#begun !== undefined) {
      this.#begun.push(bytes)
      this.#bytes += bytes.length
      if (this.#bytes <= longReplyBytes) return nothing
      for (const each of this.#begun) this.#read(each)
      this.#begun = undefined
    } else this.#read(bytes)
    return Buffer.concat(this.#out.splice(0))
  }

  rest(): Uint8Array {
    return wholeBody(this.#begun ?? this.#content)
  }

  /** The rest is read in a later turn. */
  written(): Promise<void> | undefined {
    const bytes = this.#readBytes
    this.#readBytes = 0
    return bytes === 0 ? undefined : turn.take(bytes)
  }

  #read(bytes: Uint8Array): void {
    this.#readBytes += bytes.length
    for (let at = 0; at < bytes.length; ) {
      if (this.#state === "outside") at = this.#readOutside(bytes, at)
      else if (this.#state === "array") at = this.#readArray(bytes, at)
      else at = this.#readString(bytes, at)
    }
  }

  #readOutside(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at]
      if (byte !== quote && byte !== open) continue
      this.#out.push(bytes.subarray(from, at))
      this.#content.push(bytes.subarray(at, at + 1))
      this.#state = byte === quote ? "string" : "array"
      this.#array = new NumberArray()
      this.#hasEscape = false
      return at + 1
    }
    this.#out.push(bytes.subarray(from))
    return bytes.length
  }

  #readArray(bytes: Uint8Array, from: number): number {
    const end = this.#array.take(bytes, from)
    this.#content.push(bytes.subarray(from, end))
    const { isDone, hasFailed, count, mayBeInfinite } = this.#array
    if (isDone) this.#end((json) => this.#ofNumbers(json, count, mayBeInfinite))
    else if (hasFailed) this.#end(() => undefined)
    return end
  }

  #readString(bytes: Uint8Array, from: number): number {
    if (!this.#hasEscape) {
      const end = bytes.indexOf(quote, from)
      const part = bytes.subarray(from, end === -1 ? bytes.length : end + 1)
      if (part.indexOf(backslash) === -1) {
        this.#content.push(part)
        if (end !== -1) this.#end((json) => this.#ofBase64(json))
        return from + part.length
      }
    }
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at]
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === backslash) {
        this.#isEscaped = true
        this.#hasEscape = true
      } else if (byte === quote) {
        this.#content.push(bytes.subarray(from, at + 1))
        this.#end(() => undefined)
        return at + 1
      }
    }
    this.#content.push(bytes.subarray(from))
    return bytes.length
  }

  /**
   * The end of an array or a string.
   * @param read returns its vector, if it is one
   */
  #end(read: (json: Buffer) => WrittenVector | undefined): void {
    const json = Buffer.concat(this.#content.splice(0))
    const vector = json.length < shortBytes ? undefined : read(json)
    this.#out.push(vector === undefined ? json : this.#vectors.add(vector))
    this.#state = "outside"
  }

  #ofNumbers(json: Buffer, count: number, mayBeInfinite: boolean): WrittenVector | undefined {
    const isBase64 = this.#encoding === "base64"
    if (!isBase64 && !mayBeInfinite) return new WrittenVector(json, count)
    const vector = readVector(JSON.parse(json.toString("latin1")))
    if (vector === undefined) return undefined
    return isBase64 ? new WrittenVector(Buffer.from(`"${toBase64(vector)}"`), count) : new WrittenVector(json, count)
  }

  #ofBase64(json: Buffer): WrittenVector | undefined {
    const vector = readVector(json.toString("latin1", 1, json.length - 1))
    if (vector === undefined) return undefined
    const dimensions = dimensionsOf(vector)
    return this.#encoding === "base64"
      ? new WrittenVector(json, dimensions)
      : new WrittenVector(Buffer.from(JSON.stringify(toNumbers(vector))), dimensions)
  }
}
