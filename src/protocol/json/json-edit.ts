/**
 * Edits of JSON text that leave every other byte unchanged: numbers of any size, the order of members, white space and
 * escapes. The text is valid JSON, and no object in it names a member twice: its reader has checked both.
 */
import { JsonScanner, openBrace, type Part } from "./json-scanner.ts"
import type { JsonMarks } from "./json-size.ts"

/** Names of members and places in lists, from the outermost value inwards. */
export type JsonPath = ReadonlyArray<string | number>

export interface JsonEdit {
  readonly path: JsonPath
  /** The value in JSON; a member that is missing is added. Undefined removes a member, or an element of a list. */
  readonly json: string | undefined
  /**
   * Whether the owner of the list, an element of a list itself, is removed too if it loses all parts: a message without
   * content.
   */
  readonly isPart?: true
}

/** Sets a value. */
export const set = (value: unknown, ...path: JsonPath): JsonEdit => ({ path, json: JSON.stringify(value) })

/** Removes a member, or an element of a list. */
export const cut = (...path: JsonPath): JsonEdit => ({ path, json: undefined })

/** Removes a part, and if all parts are removed, the element of a list that has them. */
export const cutPart = (...path: JsonPath): JsonEdit => ({ path, json: undefined, isPart: true })

/**
 * The text with its edits; the same bytes if there are none. If a place is edited twice, the later edit counts.
 * @param marks the positions of its members, if its reader has found them: parts without edits are then not scanned again
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

/** The JSON to add at a place that is missing; undefined if nothing is to be added. */
const jsonOf = ({ edit, below }: Tree): string | undefined => {
  if (edit !== undefined) return edit.json
  const members = below === undefined ? "" : membersOf(below)
  return members === "" ? undefined : `{${members}}`
}

/** @param found names that the object has */
const membersOf = (below: ReadonlyMap<string, Tree>, found?: ReadonlySet<string>): string => {
  let text = ""
  for (const [name, tree] of below) {
    const json = found?.has(name) === true ? undefined : jsonOf(tree)
    if (json !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${json}`
  }
  return text
}

class JsonEditor {
  readonly #text: Buffer
  readonly #scanner: JsonScanner
  readonly #pieces: Array<Uint8Array> = []
  /** The end of the text that was copied or cut so far. */
  #copied = 0

  constructor(text: Uint8Array) {
    this.#scanner = new JsonScanner(text)
    this.#text = this.#scanner.text
  }

  edited(tree: Tree, marks?: JsonMarks): Uint8Array {
    const begin = this.#scanner.afterSpace(0)
    if (marks !== undefined && tree.edit === undefined)
      this.#editMembers(begin, this.#scanner.membersAt(marks), tree.below)
    else this.#edit(begin, this.#text.length, tree)
    this.#pieces.push(this.#text.subarray(this.#copied))
    return Buffer.concat(this.#pieces)
  }

  /** Edits one value. */
  #edit(begin: number, end: number, tree: Tree): void {
    const first = this.#text[begin]
    if (tree.edit !== undefined) this.#replace(begin, end, tree.edit.json ?? "null")
    else if (first === openBrace) this.#editMembers(begin, this.#scanner.partsIn(begin), tree.below)
    else if (this.#scanner.isContainer(begin)) this.#editElements(begin, tree.below)
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
    const added = found.size === below.size ? "" : membersOf(below, found)
    this.#editParts(begin, members, ({ name }) => below.get(name), added)
  }

  /** @param begin of the list that has the elements */
  #editElements(begin: number, below: Tree["below"]): void {
    const treeAt = (part: Part) => {
      const tree = below?.get(part.name)
      return tree !== undefined && this.#isGone(part, tree) ? gone : tree
    }
    this.#editParts(begin, this.#scanner.partsIn(begin), treeAt, "")
  }

  /** Whether an element loses all its parts. */
  #isGone({ value }: Part, tree: Tree): boolean {
    if (tree.edit !== undefined) return tree.edit.isPart === true
    if (this.#text[value] !== openBrace) return false
    return this.#scanner.partsIn(value).some((member) => {
      const list = tree.below?.get(member.name)
      return list !== undefined && list.edit === undefined && this.#isEmptied(member.value, list)
    })
  }

  /** @param begin of a value */
  #isEmptied(begin: number, { below }: Tree): boolean {
    if (this.#text[begin] === openBrace || !this.#scanner.isContainer(begin)) return false
    const elements = this.#scanner.partsIn(begin)
    const isGone = (part: Part) => {
      const tree = below?.get(part.name)
      return tree !== undefined && this.#isGone(part, tree)
    }
    return elements.length > 0 && elements.every(isGone)
  }

  /**
   * Edits the members of an object or the elements of a list. A cut takes the comma before it along; while nothing before it was
   * kept, the one after it. @param begin of the object or the list @param added after its last part
   */
  #editParts(begin: number, parts: ReadonlyArray<Part>, treeAt: (part: Part) => Tree | undefined, added: string): void {
    let endOfLast: number | undefined
    let isCutting = false
    for (const part of parts) {
      const tree = treeAt(part)
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
    const close = this.#scanner.afterSpace(end)
    if (isCutting) this.#replace(begin + 1, close, added)
    else if (added !== "") this.#replace(close, close, endOfLast === undefined ? added : `,${added}`)
  }

  #replace(from: number, to: number, by: string): void {
    if (from > this.#copied) this.#pieces.push(this.#text.subarray(this.#copied, from))
    if (by !== "") this.#pieces.push(Buffer.from(by))
    this.#copied = to
  }
}

const gone: Tree = { edit: cut() }

const isCut = (tree: Tree | undefined): boolean => tree?.edit !== undefined && tree.edit.json === undefined
