/**
 * The window over a text that comes in pieces: it says how far the text is clear, and which matches of rules are in it. Cut
 * in any way, a text has the same matches. Pure.
 */
import { type RuleSet, scansOf } from "./rules.ts"
import type { Scan } from "./scan.ts"

/** A match of a rule. Offsets are those of the text from its beginning. */
export interface Found {
  /** The position of the rule in the set. */
  readonly rule: number
  readonly start: number
  readonly end: number
  readonly text: string
}

const nothing: ReadonlyArray<Found> = []

export class TextWindow {
  readonly #rules: RuleSet
  readonly #scans: ReadonlyArray<Scan>
  /** The text that is not clear, and its offset. */
  #text = ""
  #at = 0
  /** Matches that begin after the clear end. */
  #later: Array<Omit<Found, "text">> = []
  /** The offset before which nothing can change any more. */
  clearTo = 0
  /**
   * The matches that the last step has found, in the order of their beginnings; of those that begin together, the first rule's
   * first.
   */
  found: ReadonlyArray<Found> = nothing

  /** @param isJson whether the text is JSON, in which escapes may hide words */
  constructor(rules: RuleSet, isJson = false) {
    this.#rules = rules
    this.#scans = scansOf(rules, isJson)
  }

  push(piece: string): void {
    this.#text += piece
    let clearTo = this.#at + this.#text.length
    for (let group = 0; group < this.#scans.length; group++) {
      const scan = this.#scans[group]
      if (scan === undefined) continue
      scan.push(piece)
      if (scan.matches.length > 0) this.#keep(scan, group)
      if (scan.clearTo < clearTo) clearTo = scan.clearTo
    }
    this.#clear(clearTo)
  }

  /** The text has ended: all of it is clear. */
  end(): void {
    this.#scans.forEach((scan, group) => {
      scan.end()
      this.#keep(scan, group)
    })
    this.#clear(this.#at + this.#text.length)
  }

  /** The text from an offset on, which is not before the clear end. */
  after(offset: number): string {
    return this.#text.slice(Math.max(0, offset - this.#at))
  }

  #keep({ matches }: Scan, group: number): void {
    for (const { pattern, start, end } of matches) {
      this.#later.push({ rule: this.#rules.groups[group]?.rules[pattern] ?? 0, start, end })
    }
  }

  #clear(clearTo: number): void {
    this.clearTo = clearTo
    this.found = nothing
    if (this.#later.length > 0) {
      const isClear = ({ start }: { readonly start: number }) => start < clearTo
      this.found = this.#later
        .filter(isClear)
        .sort((a, b) => a.start - b.start || a.rule - b.rule)
        .map((match) => ({ ...match, text: this.#text.slice(match.start - this.#at, match.end - this.#at) }))
      this.#later = this.#later.filter((match) => !isClear(match))
    }
    this.#cut(clearTo)
  }

  #cut(to: number): void {
    if (to - this.#at < cutAt && to - this.#at < this.#text.length) return
    this.#text = this.#text.slice(to - this.#at)
    this.#at = to
  }
}

/** All matches in the pieces of a text. */
export const foundIn = (rules: RuleSet, pieces: ReadonlyArray<string>, isJson = false): ReadonlyArray<Found> => {
  const window = new TextWindow(rules, isJson)
  const found: Array<Found> = []
  for (const piece of pieces) {
    window.push(piece)
    for (const each of window.found) found.push(each)
  }
  window.end()
  return [...found, ...window.found]
}

/** Clear text is cut off in parts of this length. */
const cutAt = 256
