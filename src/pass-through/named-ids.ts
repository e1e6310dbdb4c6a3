/**
 * The texts of a request that may be an id of a vendor's: in its path, its query, its headers and its body. Pure. A text that is
 * no id of anybody's is harmless; one that is missed would be another's id in a call, so everything that may be one counts.
 */
import { textOfQuery } from "./query-text.ts"
import type { PathSegment } from "./route-path.ts"
import { spellingsOf } from "./spellings.ts"

/** The longest id. */
export const longestId = 256
/** The most texts of a request that may be ids. */
export const mostNamed = 50_000

const shortestInText = 6
const shortestAlone = 2

/** A long value in base64 is a file's content, in which no vendor looks for an id. */
const data = /^(?:data:[\w/+.;=-]{0,200},)?[\w+/=-]+$/
const longData = 1024

const uuid = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/gi

/** The most characters of text that are looked at: more would make others wait. */
const mostCharacters = 2_000_000
/** The characters that take as long as a value, or as a part of a text, takes by itself. */
const each = 16

/** Collects texts; more than {@link mostNamed} are too many, and so are those of longer text than {@link mostCharacters}. */
class Named {
  readonly texts = new Set<string>()
  /** Pieces of text that were looked at: words are often repeated. */
  readonly #seen = new Set<string>()
  #characters = 0

  get isTooMany(): boolean {
    return this.texts.size > mostNamed || this.#characters > mostCharacters
  }

  add(text: string): void {
    if (text.length >= shortestAlone && text.length <= longestId && !/\p{Cc}/u.test(text)) this.texts.add(text)
  }

  /** A value, and the texts in it, in each spelling. */
  value(value: string): void {
    if (value.length >= longData && data.test(value)) return
    if (value.length > mostCharacters) this.#characters = value.length
    this.#characters += each
    if (this.isTooMany) return
    const spellings = spellingsOf(value)
    if (spellings === undefined) this.#characters = Number.POSITIVE_INFINITY
    for (const spelling of spellings ?? []) {
      this.add(spelling)
      this.#text(spelling)
    }
  }

  /** The lines of a body. */
  lines(text: string): void {
    if (text.length > mostCharacters) this.#characters = text.length
    if (this.isTooMany) return
    for (const [line] of text.matchAll(/[^\r\n]{2,}/g)) {
      if (this.isTooMany) return
      this.value(line)
    }
  }

  /** Ids in a text: between characters that ids do not have, and their parts. */
  #text(text: string): void {
    this.#characters += text.length
    if (this.isTooMany || text.length < shortestInText) return
    for (const [piece] of text.matchAll(/[\w.:/~-]{6,}/g)) {
      if (this.isTooMany) return
      // Each id that vendors make has one of these; a word of a language has none.
      if (!/[\d_:/-]/.test(piece) || this.#seen.has(piece)) continue
      this.#seen.add(piece)
      this.#piece(piece.replace(/^[.:/~-]+|[.:/~-]+$/g, ""))
    }
  }

  #piece(piece: string): void {
    // An address or a resource's name has ids between its slashes.
    const parts = piece.split("/")
    for (const [from] of parts.entries()) {
      if (this.isTooMany) return
      for (let to = from + 1; to <= Math.min(parts.length, from + 6); to++) this.#run(parts.slice(from, to).join("/"))
    }
  }

  #run(run: string): void {
    this.#characters += each
    if (run.length < shortestInText || !/[\d_:/-]/.test(run)) return
    this.add(run)
    // Many vendors take a UUID in any case, and some add words to it.
    if (run.length >= 36) for (const [found] of run.matchAll(uuid)) this.add(found.toLowerCase())
    const method = run.lastIndexOf(":")
    if (method > 0) this.add(run.slice(0, method))
  }
}

/** A segment of a path that may be an id. */
export interface IdSegment {
  /** The spellings that a vendor may have given it. */
  readonly spellings: ReadonlyArray<string>
}

/** @param segments of a path */
export const idsInPath = (segments: ReadonlyArray<PathSegment>): ReadonlyArray<IdSegment> =>
  segments.flatMap(({ text, isNamed }, at) => {
    if (isNamed) return []
    const method = text.lastIndexOf(":")
    const bare = method > 0 ? text.slice(0, method) : text
    const before = segments.slice(0, at).map((segment) => segment.text)
    const below = (id: string) => before.map((_, from) => [...before.slice(from), id].join("/"))
    return [{ spellings: [...new Set([text, bare, ...below(text), ...below(bare)])] }]
  })

export interface SentTexts {
  /** The segments of its path that no pattern names. */
  readonly segments: ReadonlyArray<string>
  /** Without the question mark. */
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON, or undefined. */
  readonly json: unknown
  /** The body that is no JSON; each line may be an id. */
  readonly text: string | undefined
}

/** The texts of a request that may be ids, beside whole segments of its path; undefined if there are too many. */
export const namedIn = ({ segments, query, headers, json, text }: SentTexts): ReadonlySet<string> | undefined => {
  const named = new Named()
  for (const value of segments) named.value(value)
  for (const value of textOfQuery(query)) named.value(value)
  for (const value of Object.values(headers)) named.value(value)
  const visit = (value: unknown): void => {
    if (named.isTooMany) return
    if (typeof value === "string") named.value(value)
    else if (typeof value === "number") {
      if (Number.isInteger(value)) named.add(String(value))
    } else if (typeof value === "object" && value !== null) {
      if (!Array.isArray(value)) for (const name of Object.keys(value)) named.value(name)
      for (const each of Object.values(value)) visit(each)
    }
  }
  visit(json)
  if (text !== undefined) named.lines(text)
  return named.isTooMany ? undefined : named.texts
}
