/** Finds the parts of JSON text that is known to be valid. */
import { type JsonMarks, StringEnds } from "./json-size.ts"

const quote = 0x22
const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d
export const openBrace = 0x7b
const closeBrace = 0x7d
const space = 0x20

/** A member of an object or an element of a list, by the positions of it and its value in the text. */
export interface Part {
  /** A member's name, or an element's index. */
  readonly name: string
  readonly begin: number
  readonly value: number
  /** The position after its value. */
  readonly end: number
}

export class JsonScanner {
  readonly text: Buffer
  readonly #ends: StringEnds

  constructor(text: Uint8Array) {
    this.text = Buffer.from(text.buffer, text.byteOffset, text.byteLength)
    this.#ends = new StringEnds(text)
  }

  /**
   * Visits the members of the object, or the elements of the list, that begins at a position.
   * @param visit visits a value and returns its end
   * @returns the end of the object or the list
   */
  each(container: number, visit: (name: string, value: number, begin: number) => number): number {
    const isObject = this.text[container] === openBrace
    const close = isObject ? closeBrace : closeBracket
    let at = this.afterSpace(container + 1)
    for (let index = 0; at < this.text.length && this.text[at] !== close; index++) {
      const begin = at
      let name = String(index)
      if (isObject) {
        const endOfName = this.#ends.after(begin + 1)
        name = this.#name(begin, endOfName)
        // The colon is between a name and its value.
        at = this.afterSpace(this.afterSpace(endOfName + 1) + 1)
      }
      at = this.#afterComma(visit(name, at, begin))
    }
    return at + 1
  }

  /** The members or elements of the value that begins at a position; none if it is no object or list. */
  partsIn(begin: number): ReadonlyArray<Part> {
    const parts: Array<Part> = []
    if (!this.isContainer(begin)) return parts
    this.each(begin, (name, value, at) => {
      const end = this.endOf(value)
      parts.push({ name, begin: at, value, end })
      return end
    })
    return parts
  }

  isContainer(begin: number): boolean {
    return this.text[begin] === openBrace || this.text[begin] === openBracket
  }

  membersAt(marks: JsonMarks): ReadonlyArray<Part> {
    const members: Array<Part> = []
    for (let next = 0; next + 3 < marks.length; next += 4) {
      const [begin = 0, endOfName = 0, colonAt = 0, after = 0] = marks.slice(next, next + 4)
      const value = this.afterSpace(colonAt + 1)
      members.push({ name: this.#name(begin, endOfName), begin, value, end: this.beforeSpace(after) })
    }
    return members
  }

  /** The name between the quotes at two positions. */
  #name(begin: number, end: number): string {
    const name = this.text.toString("utf8", begin + 1, end)
    return name.includes("\\") ? String(JSON.parse(`"${name}"`)) : name
  }

  #afterComma(at: number): number {
    const next = this.afterSpace(at)
    return this.text[next] === comma ? this.afterSpace(next + 1) : next
  }

  /** The end of the value that begins at a position. */
  endOf(begin: number): number {
    const text = this.text
    let level = 0
    for (let at = begin; at < text.length; at++) {
      const byte = text[at] ?? 0
      if (byte === quote) at = this.#ends.after(at + 1)
      else if (byte === openBrace || byte === openBracket) level++
      else if (byte === closeBrace || byte === closeBracket) level--
      else if (level > 0) continue
      else {
        // A number, or `true`, `false` or `null`.
        while (at + 1 < text.length && !endsWord(text[at + 1] ?? 0)) at++
      }
      if (level === 0) return at + 1
    }
    return text.length
  }

  afterSpace(at: number): number {
    let next = at
    while ((this.text[next] ?? quote) <= space) next++
    return next
  }

  beforeSpace(at: number): number {
    let before = at
    while ((this.text[before - 1] ?? quote) <= space) before--
    return before
  }
}

const endsWord = (byte: number): boolean =>
  byte <= space || byte === comma || byte === closeBrace || byte === closeBracket
