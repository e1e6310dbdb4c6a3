/**
 * The values of a request's marks, wherever else they are: beside a letter no pattern finds them, and a reply may have had
 * them as addresses and HTML write them. A text is read once, for any number of values. Pure.
 */
import type { Marks } from "./marks.ts"

/** Shorter values may be parts of any word. */
const shortest = 6

/** Texts with the same first characters. */
interface Alike {
  /** Their lengths, the longest first. */
  readonly lengths: Array<number>
  readonly marks: Map<string, string>
}

export class KnownValues {
  readonly #headLength: number
  readonly #byHead = new Map<string, Alike>()

  /** @param headLength the characters by which values are looked up; shorter values are left */
  constructor(marks: Marks, headLength = shortest) {
    this.#headLength = headLength
    for (const [mark, value] of marks.entries()) {
      this.#add(value, mark)
      this.#add(JSON.stringify(value).slice(1, -1), mark)
      for (const before of ["%3C", "&lt;"] as const) {
        const written = mark.replace("<", before).replace(">", ends[before])
        this.#add(marks.valueOf(written) ?? value, written)
      }
      // A mark stays as it is.
      this.#add(mark, mark)
    }
    for (const { lengths } of this.#byHead.values()) lengths.sort((a, b) => b - a)
  }

  /** A text with marks in the places of values. */
  readonly masked = (text: string): string => {
    const headLength = this.#headLength
    let made = ""
    let from = 0
    for (let at = 0; at <= text.length - headLength; at++) {
      const alike = this.#byHead.get(text.slice(at, at + headLength))
      if (alike === undefined) continue
      for (const length of alike.lengths) {
        const mark = alike.marks.get(text.slice(at, at + length))
        if (mark === undefined) continue
        made += text.slice(from, at) + mark
        from = at + length
        at = from - 1
        break
      }
    }
    return made + text.slice(from)
  }

  #add(text: string, mark: string): void {
    if (text.length < this.#headLength) return
    const head = text.slice(0, this.#headLength)
    const alike: Alike = this.#byHead.get(head) ?? { lengths: [], marks: new Map() }
    this.#byHead.set(head, alike)
    if (alike.marks.has(text)) return
    alike.marks.set(text, mark)
    if (!alike.lengths.includes(text.length)) alike.lengths.push(text.length)
  }
}

const ends = { "%3C": "%3E", "&lt;": "&gt;" } as const
