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

export interface Windowed {
  /** The offset before which nothing can change any more. */
  readonly clearTo: number
  /** In the order of their beginnings; of those that begin together, the first rule's first. */
  readonly found: ReadonlyArray<Found>
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
  /** The clear end of each scan. */
  readonly #clear: Array<number>

  /** @param isJson whether the text is JSON, in which escapes may hide words */
  constructor(rules: RuleSet, isJson = false) {
    this.#rules = rules
    this.#scans = scansOf(rules, isJson)
    this.#clear = this.#scans.map(() => 0)
  }

  push(piece: string): Windowed {
    return this.#take(piece, (scan) => scan.push(piece))
  }

  /** The text has ended: all of it is clear. */
  end(): Windowed {
    return this.#take("", (scan) => scan.end())
  }

  #take(piece: string, scanned: (scan: Scan) => ReturnType<Scan["push"]>): Windowed {
    this.#text += piece
    this.#scans.forEach((scan, group) => {
      const { clearTo, matches } = scanned(scan)
      this.#clear[group] = clearTo
      for (const { pattern, start, end } of matches) {
        this.#later.push({ rule: this.#rules.groups[group]?.rules[pattern] ?? 0, start, end })
      }
    })
    const clearTo = this.#clear.length === 0 ? this.#at + this.#text.length : Math.min(...this.#clear)
    if (this.#later.length === 0) {
      this.#cut(clearTo)
      return { clearTo, found: nothing }
    }
    const isClear = ({ start }: { readonly start: number }) => start < clearTo
    const found = this.#later
      .filter(isClear)
      .sort((a, b) => a.start - b.start || a.rule - b.rule)
      .map((match) => ({ ...match, text: this.#text.slice(match.start - this.#at, match.end - this.#at) }))
    this.#later = this.#later.filter((match) => !isClear(match))
    // A match may end in text that others still look at; its own text is needed until then.
    this.#cut(clearTo)
    return { clearTo, found }
  }

  #cut(to: number): void {
    if (to - this.#at < cutAt && to - this.#at < this.#text.length) return
    this.#text = this.#text.slice(to - this.#at)
    this.#at = to
  }
}

/** Clear text is cut off in parts of this length. */
const cutAt = 256
