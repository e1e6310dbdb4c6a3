/**
 * Edits of JSON text that leave every other byte as it was: numbers of any size, the order of members, white space and
 * escapes. The text is valid JSON, and no object in it names a member twice: its reader has checked both.
 */
import { StringEnds } from "./json-size.ts"

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

/** The text with its edits; the same bytes if there are none. A later edit of the same place counts. */
export const editJson = (text: Uint8Array, edits: ReadonlyArray<JsonEdit>): Uint8Array => {
  if (edits.length === 0) return text
  const editor = new JsonEditor(text)
  return editor.edited(treeOf(edits))
}

/** {@link editJson} of a string. */
export const editJsonText = (text: string, edits: ReadonlyArray<JsonEdit>): string =>
  edits.length === 0 ? text : Buffer.from(editJson(Buffer.from(text), edits)).toString("utf8")

/** The edits below one place. */
interface Tree {
  /** The edit of this place itself. */
  edit?: JsonEdit
  readonly below: Map<string, Tree>
}

const treeOf = (edits: ReadonlyArray<JsonEdit>): Tree => {
  const root: Tree = { below: new Map() }
  for (const edit of edits) {
    let at = root
    for (const name of edit.path) {
      const next: Tree = at.below.get(String(name)) ?? { below: new Map() }
      at.below.set(String(name), next)
      at = next
    }
    at.edit = edit
  }
  return root
}

/** The JSON of a place that is not there; undefined if nothing is to be added. */
const jsonOf = ({ edit, below }: Tree): string | undefined => {
  if (edit !== undefined) return edit.json
  const members = membersOf(below)
  return members === "" ? undefined : `{${members}}`
}

const membersOf = (below: ReadonlyMap<string, Tree>): string =>
  [...below]
    .flatMap(([name, tree]) => {
      const json = jsonOf(tree)
      return json === undefined ? [] : [`${JSON.stringify(name)}:${json}`]
    })
    .join(",")

const quote = 0x22
const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const backslash = 0x5c
const space = 0x20

class JsonEditor {
  readonly #text: Buffer
  readonly #ends: StringEnds
  readonly #pieces: Array<Uint8Array> = []
  /** Up to here, the text is in the pieces or cut. */
  #copied = 0
  #at = 0

  constructor(text: Uint8Array) {
    this.#text = Buffer.from(text.buffer, text.byteOffset, text.byteLength)
    this.#ends = new StringEnds(text)
  }

  edited(tree: Tree): Uint8Array {
    this.#skipSpace()
    this.#edit(tree)
    this.#pieces.push(this.#text.subarray(this.#copied))
    return Buffer.concat(this.#pieces)
  }

  /** Edits the value here, and goes to its end. */
  #edit(tree: Tree): void {
    const begin = this.#at
    const first = this.#text[begin]
    if (tree.edit !== undefined) {
      this.#skipValue()
      this.#replace(begin, this.#at, tree.edit.json ?? "null")
    } else if (first === openBrace) this.#editMembers(tree.below)
    else if (first === openBracket) this.#editElements(tree.below)
    else {
      this.#skipValue()
      const json = jsonOf(tree)
      if (json !== undefined) this.#replace(begin, this.#at, json)
    }
  }

  #editMembers(below: ReadonlyMap<string, Tree>): void {
    const missing = new Map(below)
    const nextName = () => {
      const name = this.#name()
      missing.delete(name)
      return name
    }
    const list = this.#editEach(closeBrace, below, nextName)
    this.#close(list, membersOf(missing))
  }

  #editElements(below: ReadonlyMap<string, Tree>): void {
    let index = 0
    const list = this.#editEach(closeBracket, below, () => String(index++))
    this.#close(list, "")
  }

  /** Edits the members of an object or the elements of a list. @param nextName reads a name, and goes to its value */
  #editEach(close: number, below: ReadonlyMap<string, Tree>, nextName: () => string): OpenList {
    const list = this.#begin()
    while (this.#next(close)) {
      const begin = this.#at
      const tree = below.get(nextName())
      if (isCut(tree)) {
        this.#skipValue()
        this.#cut(list)
      } else {
        this.#keep(list, begin)
        if (tree === undefined) this.#skipValue()
        else this.#edit(tree)
        list.endOfLast = this.#at
      }
    }
    return list
  }

  #begin(): OpenList {
    this.#at++
    return { start: this.#at, endOfLast: undefined, isCutting: false }
  }

  /** Goes to the next member or element. @returns whether there is one */
  #next(close: number): boolean {
    this.#skipSpace()
    if (this.#text[this.#at] === comma) {
      this.#at++
      this.#skipSpace()
    }
    return this.#text[this.#at] !== close && this.#at < this.#text.length
  }

  /** A cut takes the comma before it along; while nothing before it was kept, the one after it. */
  #cut(list: OpenList): void {
    if (list.endOfLast === undefined) list.isCutting = true
    else this.#replace(Math.max(list.endOfLast, this.#copied), this.#at, "")
  }

  #keep(list: OpenList, begin: number): void {
    if (list.endOfLast === undefined && list.isCutting) this.#replace(list.start, begin, "")
    list.isCutting = false
  }

  #close(list: OpenList, added: string): void {
    if (list.endOfLast === undefined && list.isCutting) this.#replace(list.start, this.#at, added)
    else if (added !== "") this.#replace(this.#at, this.#at, list.endOfLast === undefined ? added : `,${added}`)
    this.#at++
  }

  #replace(from: number, to: number, by: string): void {
    if (from > this.#copied) this.#pieces.push(this.#text.subarray(this.#copied, from))
    if (by !== "") this.#pieces.push(Buffer.from(by))
    this.#copied = to
  }

  /** Reads the name of a member, and goes to its value. */
  #name(): string {
    const begin = this.#at
    const end = this.#ends.after(begin + 1)
    const raw = this.#text.subarray(begin + 1, end)
    const text = raw.includes(backslash) ? String(JSON.parse(`"${raw.toString("utf8")}"`)) : raw.toString("utf8")
    this.#at = end + 1
    this.#skipSpace()
    // The colon.
    this.#at++
    this.#skipSpace()
    return text
  }

  #skipValue(): void {
    const text = this.#text
    let level = 0
    let at = this.#at
    for (; at < text.length; at++) {
      const byte = text[at] ?? 0
      if (byte === quote) at = this.#ends.after(at + 1)
      else if (byte === openBrace || byte === openBracket) level++
      else if (byte === closeBrace || byte === closeBracket) level--
      else if (level > 0) continue
      else {
        // A number or a word.
        while (at + 1 < text.length && !endsWord(text[at + 1] ?? 0)) at++
      }
      if (level === 0) break
    }
    this.#at = at + 1
  }

  #skipSpace(): void {
    while ((this.#text[this.#at] ?? quote) <= space) this.#at++
  }
}

const isCut = (tree: Tree | undefined): boolean => tree?.edit !== undefined && tree.edit.json === undefined

const endsWord = (byte: number): boolean =>
  byte <= space || byte === comma || byte === closeBrace || byte === closeBracket

/** An object or a list that is being edited. */
interface OpenList {
  /** After its bracket. */
  readonly start: number
  /** The end of the last member that was kept; undefined until there is one. */
  endOfLast: number | undefined
  /** Whether all members so far are cut. */
  isCutting: boolean
}
