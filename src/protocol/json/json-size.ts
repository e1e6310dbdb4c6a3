/**
 * Counts the values, the names and the nesting in JSON text before it is parsed: the time to parse a body depends on them
 * more than on its bytes, because a name that is new in its object takes half a microsecond, and a byte of a string less than
 * a nanosecond. The counts of text that is not JSON mean nothing; its parser refuses it.
 */

/** Maximum numbers of values (strings, and all that a comma or a bracket begins), of names and of levels in one body. */
export interface JsonLimits {
  readonly values: number
  readonly names: number
  readonly levels: number
}

/** No schema needs more, and recursion over a body is bounded. */
const levels = 64

/** A body that is read on the event loop, in some twenty milliseconds: more values than a vendor takes tokens in one call. */
export const loopLimits: JsonLimits = { values: 400_000, names: 50_000, levels }

/** A body that a worker thread reads. */
export const workerLimits: JsonLimits = { values: 4_000_000, names: 1_000_000, levels }

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const backslash = 0x5c
const openBracket = 0x5b
const openBrace = 0x7b
const closeBracket = 0x5d
const closeBrace = 0x7d

/** The limit that a body exceeds; undefined if it exceeds none. */
export const exceededLimit = (body: Uint8Array, limits: JsonLimits): keyof JsonLimits | undefined =>
  countJson(body, limits).exceeded

/** Four positions for each member of the outermost object: the quotes of its name, its colon, and the comma or brace after it. */
export type JsonMarks = ReadonlyArray<number>

export interface JsonCount {
  readonly names: number
  readonly exceeded: keyof JsonLimits | undefined
  readonly marks: JsonMarks
}

/** Counts the names of members. It stops where a limit is exceeded. */
export const countJson = (body: Uint8Array, limits: JsonLimits): JsonCount => {
  const ends = new StringEnds(body)
  const marks: Array<number> = []
  let values = 0
  let names = 0
  let level = 0
  let isObject = false
  const stop = (exceeded: keyof JsonLimits) => ({ names, exceeded, marks })
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]
    if (byte === quote) {
      values++
      const begin = at
      at = ends.after(at + 1)
      if (isObject && level === 1 && marks.length % 4 === 0) marks.push(begin, at)
    } else if (byte === comma) {
      values++
      if (isObject && level === 1) marks.push(at)
    } else if (byte === openBracket || byte === openBrace) {
      values++
      if (level === 0) isObject = byte === openBrace
      if (++level > limits.levels) return stop("levels")
    } else if (byte === closeBracket || byte === closeBrace) {
      if (isObject && level === 1) marks.push(at)
      level--
    } else if (byte === colon) {
      if (isObject && level === 1) marks.push(at)
      if (++names > limits.names) return stop("names")
    }
    if (values > limits.values) return stop("values")
  }
  return { names, exceeded: undefined, marks }
}

/** A longer string is searched by the runtime's own search, which is twenty times as fast for each byte and slower to call. */
const briefBytes = 64

/** Finds the quotes that end strings. The next backslash is searched once, however many strings come before it, in order. */
export class StringEnds {
  readonly #bytes: Buffer
  #backslashAt = -1
  /** There is no backslash between this place and that one. */
  #searchedFrom = 0

  constructor({ buffer, byteOffset, byteLength }: Uint8Array) {
    this.#bytes = Buffer.from(buffer, byteOffset, byteLength)
  }

  /** The place of the quote that ends the string whose text begins at a place; the end of the body if there is none. */
  after(from: number): number {
    const bytes = this.#bytes
    const brief = Math.min(from + briefBytes, bytes.length)
    let at = from
    while (at < brief && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
    if (at < brief || at >= bytes.length) return at
    const quoteAt = placeOf(quote, bytes, at)
    if (at > this.#backslashAt || at < this.#searchedFrom) {
      this.#searchedFrom = at
      this.#backslashAt = placeOf(backslash, bytes, at)
    }
    if (quoteAt <= this.#backslashAt) return quoteAt
    at = this.#backslashAt
    while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
    return at
  }
}

const placeOf = (byte: number, bytes: Buffer, from: number): number => {
  const at = bytes.indexOf(byte, from)
  return at === -1 ? bytes.length : at
}
