/**
 * The marks that replace what a mask finds, and the values behind them. A mark is made from its value with a key of the
 * organisation: the same value has the same mark in every request, nothing is stored, and the
 * value cannot be found out without the key. Pure.
 */
import { createHmac, hkdfSync, randomBytes } from "node:crypto"
import { Redacted, Result } from "effect"
import { compilePattern } from "../pattern/program.ts"
import type { Rule } from "../text/rules.ts"

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

/** Letters of a mark: more if two values of one request would have the same. */
const lengths = [5, 8, 13, 26] as const

/** The key of an organisation's marks. @param masterKey without one, marks last as long as the process */
export const markKey = (masterKey: Redacted.Redacted | undefined, orgId: string): Uint8Array => {
  const secret = masterKey === undefined ? ownSecret : Redacted.value(masterKey)
  return new Uint8Array(hkdfSync("sha256", secret, orgId, "weir policy marks", 32))
}

const ownSecret = randomBytes(32)

/** The values that one request's marks replace. */
export class Marks {
  readonly #key: Uint8Array
  readonly #marks = new Map<string, string>()
  readonly #values = new Map<string, string>()

  constructor(key: Uint8Array) {
    this.#key = key
  }

  get isEmpty(): boolean {
    return this.#values.size === 0
  }

  /**
   * The mark of a value. A client's text may have it already, e.g. where a thread goes on that was masked before.
   * @param label the word in it, e.g. `EMAIL`
   */
  of(label: string, value: string): string {
    const name = `${label}\0${value}`
    const known = this.#marks.get(name)
    if (known !== undefined) return known
    const letters = lettersOf(createHmac("sha256", this.#key).update(name).digest())
    const mark =
      lengths.map((length) => `<${label}_${letters.slice(0, length)}>`).find((each) => !this.#values.has(each)) ??
      `<${label}_${letters}>`
    this.#marks.set(name, mark)
    this.#values.set(mark, value)
    return mark
  }

  /** The value behind a mark, written as the mark was; undefined if it is no mark of this request. */
  valueOf(written: string): string | undefined {
    const [, before = "", name = ""] = writtenMark.exec(written) ?? []
    const value = this.#values.get(`<${name}>`)
    if (value === undefined || before === "<") return value
    if (before === "&lt;") return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
    return before.startsWith("%") ? encodeURIComponent(value) : JSON.stringify(value).slice(1, -1)
  }

  /** The values by their marks. */
  entries(): ReadonlyArray<readonly [mark: string, value: string]> {
    return [...this.#values]
  }

  /** Takes over the marks that another thread has made. */
  static from(key: Uint8Array, entries: ReadonlyArray<readonly [mark: string, value: string]>): Marks {
    const marks = new Marks(key)
    for (const [mark, value] of entries) {
      const [label = ""] = mark.slice(1).split("_")
      marks.#values.set(mark, value)
      marks.#marks.set(`${label}\0${value}`, mark)
    }
    return marks
  }
}

const lettersOf = (bytes: Uint8Array): string => {
  let letters = ""
  for (const byte of bytes) letters += alphabet[byte % alphabet.length]
  return letters
}

const writtenMark = /^(<|&lt;|%3[Cc]|\\u003[Cc])([A-Z]+_[A-Z2-7]+)/

/** A mark as models write it: also in HTML, in addresses and in JSON. */
const anyMark = "(?:<|&lt;|%3[Cc]|\\\\u003[Cc])[A-Z]{1,24}_[A-Z2-7]{5,26}(?:>|&gt;|%3[Ee]|\\\\u003[Ee])"

const anyMarkIn = new RegExp(anyMark)

/** Whether a text may have a mark, of any request. */
export const mayHaveMark = (text: string): boolean => anyMarkIn.test(text)

export const markRule: Rule = {
  spelling: "written",
  label: "MARK",
  pattern: Result.getOrThrow(compilePattern(anyMark)),
}
