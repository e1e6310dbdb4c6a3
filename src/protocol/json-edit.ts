/**
 * Edits of JSON text that leave every other byte as it was: numbers of any size, the order of members, white space and
 * escapes. The text is valid JSON, and no object in it names a member twice: its reader has checked both.
 */
import { type JsonMarks, StringEnds } from "./json-size.ts"

/** Names of members and places in lists, from the outermost value inwards. */
export type JsonPath = ReadonlyArray<string | number>

export interface JsonEdit {
  readonly path: JsonPath
  /** The value in JSON; a member that is not there is added. Undefined takes a member, or an element of a list, out. */
  readonly json: string | undefined
}

/** Sets a value. */
export const set = (value: unknown, ...path: JsonPath): JsonEdit => ({ path, json: JSON.stringify(value) })

/** Takes a member, or an element of a list, out. */
export const cut = (...path: JsonPath): JsonEdit => ({ path, json: undefined })

/**
 * The text with its edits; the same bytes if there are none. A later edit of the same place counts.
 * @param marks of its members, if its reader has found them: what is not edited is not read again then
 */
export const editJson = (text: Uint8Array, edits: ReadonlyArray<JsonEdit>, marks?: JsonMarks): Uint8Array =>
  edits.length === 0 ? text : new JsonEditor(text).edited(treeOf(edits), marks)

/** {@link editJson} of a string. */
export const editJsonText = (text: string, edits: ReadonlyArray<JsonEdit>): string => {
  if (edits.length === 0) return text
  const { buffer, byteOffset, byteLength } = editJson(Buffer.from(text), edits)
  return Buffer.from(buffer, byteOffset, byteLength).toString("utf8")
}

/** The edits below one place. */
interface Tree {
  /** The edit of this place itself. */
  edit?: JsonEdit
  below?: Map<string, Tree>
}

const treeOf = (edits: ReadonlyArray<JsonEdit>): Tree => {
  const root: Tree = {}
  for (const edit of edits) {
    let at = root
    for (const place of edit.path) {
      const name = String(place)
      at.below ??= new Map()
      const next: Tree = at.below.get(name) ?? {}
      at.below.set(name, next)
      at = next
    }
    at.edit = edit
  }
  return root
}

/** The JSON of a place that is not there; undefined if nothing is to be added. */
const jsonOf = ({ edit, below }: Tree): string | undefined => {
  if (edit !== undefined) return edit.json
  const members = below === undefined ? "" : membersOf(below)
  return members === "" ? undefined : `{${members}}`
}

/** @param found names that are there */
const membersOf = (below: ReadonlyMap<string, Tree>, found?: ReadonlySet<string>): string => {
  let text = ""
  for (const [name, tree] of below) {
    const json = found?.has(name) === true ? undefined : jsonOf(tree)
    if (json !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${json}`
  }
  return text
}

const quote = 0x22
const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const space = 0x20

/** A member of an object or an element of a list: where it, and its value, stand in the text. */
interface Part {
  readonly name: string
  readonly begin: number
  readonly value: number
  /** After its value. */
  readonly end: number
}

class JsonEditor {
  readonly #text: Buffer
  readonly #ends: StringEnds
  readonly #pieces: Array<Uint8Array> = []
  /** Up to here, the text is in the pieces or cut. */
  #copied = 0

  constructor(text: Uint8Array) {
    this.#text = Buffer.from(text.buffer, text.byteOffset, text.byteLength)
    this.#ends = new StringEnds(text)
  }

  edited(tree: Tree, marks?: JsonMarks): Uint8Array {
    const begin = this.#afterSpace(0)
    if (marks !== undefined && tree.edit === undefined) this.#editMembers(begin, this.#membersAt(marks), tree.below)
    else this.#edit(begin, this.#text.length, tree)
    this.#pieces.push(this.#text.subarray(this.#copied))
    return Buffer.concat(this.#pieces)
  }

  /** Edits one value. */
  #edit(begin: number, end: number, tree: Tree): void {
    const first = this.#text[begin]
    if (tree.edit !== undefined) this.#replace(begin, end, tree.edit.json ?? "null")
    else if (first === openBrace) this.#editMembers(begin, this.#membersIn(begin), tree.below)
    else if (first === openBracket) this.#editParts(begin, this.#elementsIn(begin), tree.below, "")
    else {
      const json = jsonOf(tree)
      if (json !== undefined) this.#replace(begin, end, json)
    }
  }

  /** @param begin of the object that has the members */
  #editMembers(begin: number, members: ReadonlyArray<Part>, below: Tree["below"]): void {
    if (below === undefined) return
    const found = new Set<string>()
    for (const { name } of members) if (below.has(name)) found.add(name)
    this.#editParts(begin, members, below, found.size === below.size ? "" : membersOf(below, found))
  }

  /**
   * Edits the members of an object or the elements of a list. A cut takes the comma before it along; while nothing before it was
   * kept, the one after it. @param begin of the object or the list @param added after its last part
   */
  #editParts(begin: number, parts: ReadonlyArray<Part>, below: Tree["below"], added: string): void {
    let endOfLast: number | undefined
    let isCutting = false
    for (const part of parts) {
      const tree = below?.get(part.name)
      if (isCut(tree)) {
        if (endOfLast === undefined) isCutting = true
        else this.#replace(Math.max(endOfLast, this.#copied), part.end, "")
        continue
      }
      if (isCutting) this.#replace(begin + 1, part.begin, "")
      isCutting = false
      if (tree !== undefined) this.#edit(part.value, part.end, tree)
      endOfLast = part.end
    }
    const end = parts.at(-1)?.end ?? begin + 1
    const close = this.#afterSpace(end)
    if (isCutting) this.#replace(begin + 1, close, added)
    else if (added !== "") this.#replace(close, close, endOfLast === undefined ? added : `,${added}`)
  }

  #replace(from: number, to: number, by: string): void {
    if (from > this.#copied) this.#pieces.push(this.#text.subarray(this.#copied, from))
    if (by !== "") this.#pieces.push(Buffer.from(by))
    this.#copied = to
  }

  #membersIn(object: number): ReadonlyArray<Part> {
    const members: Array<Part> = []
    let at = this.#afterSpace(object + 1)
    while (this.#text[at] === quote) {
      const endOfName = this.#ends.after(at + 1)
      // The colon stands between a name and its value.
      const value = this.#afterSpace(this.#afterSpace(endOfName + 1) + 1)
      const end = this.#endOf(value)
      members.push({ name: this.#name(at, endOfName), begin: at, value, end })
      at = this.#afterComma(end)
    }
    return members
  }

  #membersAt(marks: JsonMarks): ReadonlyArray<Part> {
    const members: Array<Part> = []
    for (let next = 0; next + 3 < marks.length; next += 4) {
      const [begin = 0, endOfName = 0, colonAt = 0, after = 0] = marks.slice(next, next + 4)
      const value = this.#afterSpace(colonAt + 1)
      members.push({ name: this.#name(begin, endOfName), begin, value, end: this.#beforeSpace(after) })
    }
    return members
  }

  /** The name whose quotes stand at two places. */
  #name(begin: number, end: number): string {
    const name = this.#text.toString("utf8", begin + 1, end)
    return name.includes("\\") ? String(JSON.parse(`"${name}"`)) : name
  }

  #elementsIn(list: number): ReadonlyArray<Part> {
    const elements: Array<Part> = []
    let at = this.#afterSpace(list + 1)
    while (at < this.#text.length && this.#text[at] !== closeBracket) {
      const end = this.#endOf(at)
      elements.push({ name: String(elements.length), begin: at, value: at, end })
      at = this.#afterComma(end)
    }
    return elements
  }

  #afterComma(at: number): number {
    const next = this.#afterSpace(at)
    return this.#text[next] === comma ? this.#afterSpace(next + 1) : next
  }

  /** The end of the value that begins at a place. */
  #endOf(begin: number): number {
    const text = this.#text
    let level = 0
    for (let at = begin; at < text.length; at++) {
      const byte = text[at] ?? 0
      if (byte === quote) at = this.#ends.after(at + 1)
      else if (byte === openBrace || byte === openBracket) level++
      else if (byte === closeBrace || byte === closeBracket) level--
      else if (level > 0) continue
      else {
        // A number or a word.
        while (at + 1 < text.length && !endsWord(text[at + 1] ?? 0)) at++
      }
      if (level === 0) return at + 1
    }
    return text.length
  }

  #afterSpace(at: number): number {
    let next = at
    while ((this.#text[next] ?? quote) <= space) next++
    return next
  }

  #beforeSpace(at: number): number {
    let before = at
    while ((this.#text[before - 1] ?? quote) <= space) before--
    return before
  }
}

const isCut = (tree: Tree | undefined): boolean => tree?.edit !== undefined && tree.edit.json === undefined

const endsWord = (byte: number): boolean =>
  byte <= space || byte === comma || byte === closeBrace || byte === closeBracket
