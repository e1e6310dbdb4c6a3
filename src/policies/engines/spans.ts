/** Places of findings in a text. Pure. */
import { isObject, type JsonObject, numberAt } from "../../dialects/parse/json.ts"

/** From `start` to before `end`, in UTF-16 code units. */
export interface Span {
  readonly start: number
  readonly end: number
  /** The word in a mark that replaces it, e.g. `EMAIL`. */
  readonly label: string
}

/** Reads the place of a finding; undefined if it is no part of the text. */
export type Placing = (value: unknown) => Pick<Span, "start" | "end"> | undefined

/** Places in UTF-16 code units. */
export const unitPlaces = (text: string): Placing => placesBy(text.length, (at) => at)

/** Places in code points, as Python counts them. */
export const codePointPlaces = (text: string): Placing => {
  if (!hasSurrogate.test(text)) return unitPlaces(text)
  const offsets: Array<number> = []
  let at = 0
  for (const character of text) {
    offsets.push(at)
    at += character.length
  }
  return placesBy(offsets.length, (point) => offsets[point] ?? text.length)
}

const hasSurrogate = /[\ud800-\udfff]/

const placesBy =
  (length: number, unitOf: (at: number) => number): Placing =>
  (value) => {
    if (!isObject(value)) return undefined
    const [start, end] = [integerAt(value, "start"), integerAt(value, "end")]
    if (start === undefined || end === undefined || start < 0 || end <= start || end > length) return undefined
    return { start: unitOf(start), end: unitOf(end) }
  }

const integerAt = (value: JsonObject, key: string): number | undefined => {
  const number = numberAt(value, key)
  return Number.isInteger(number) ? number : undefined
}

/** The word in the marks of a finding, by its kind: the same as that of an equal entity of the gateway. */
export const wordOf = (kind: string): string => {
  const upper = kind.toUpperCase()
  const word = (words[upper] ?? upper).replaceAll(/[^A-Z]/g, "").slice(0, longestWord)
  return word === "" ? "MASKED" : word
}

const longestWord = 24

/** Presidio's names of the gateway's own entities. */
const words: Readonly<Record<string, string>> = {
  EMAIL_ADDRESS: "EMAIL",
  PHONE_NUMBER: "PHONE",
  CREDIT_CARD: "CARD",
  IBAN_CODE: "IBAN",
  IP_ADDRESS: "IP",
  US_SSN: "SSN",
}

/** Each finding once, in the order of the text; several pieces may have found the same. */
export const distinct = (spans: ReadonlyArray<Span>): ReadonlyArray<Span> => {
  const known = new Set<string>()
  const first = spans.filter(({ start, end, label }) => {
    const finding = `${start} ${end} ${label}`
    if (known.has(finding)) return false
    known.add(finding)
    return true
  })
  return first.sort((a, b) => a.start - b.start || b.end - a.end)
}

/** Places that overlap become one, with the word of the one that begins first; of those, the longest, and of those, the first. */
export const apart = (spans: ReadonlyArray<Span>): ReadonlyArray<Span> => {
  const joined: Array<Span> = []
  for (const span of distinct(spans)) {
    const last = joined.at(-1)
    if (last === undefined || span.start >= last.end) joined.push(span)
    else joined[joined.length - 1] = { ...last, end: Math.max(last.end, span.end) }
  }
  return joined
}
