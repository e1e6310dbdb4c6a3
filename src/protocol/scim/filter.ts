/**
 * SCIM's filters: read from text, with a limited length and depth. Pure. RFC 7644 section 3.4.2.2.
 *
 * **Gotchas**: a value without quotes is taken for text, because the documentation of Entra ID shows such filters.
 */
import { Result } from "effect"
import { isStorable } from "../values/text.ts"
import { type AttributePath, attributePath } from "./path.ts"
import { type Checked, refuse } from "./problem.ts"
import { type Attribute, attributeNamed, type ResourceKind } from "./schema.ts"

export const maxFilterLength = 2000
const maxDepth = 20

const comparators = ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"] as const
export type Comparator = (typeof comparators)[number]

export type FilterValue = string | number | boolean | null

export type Filter =
  | { readonly op: "and" | "or"; readonly of: ReadonlyArray<Filter> }
  | { readonly op: "not"; readonly filter: Filter }
  | { readonly op: Comparator; readonly path: AttributePath; readonly value: FilterValue }
  | { readonly op: "pr"; readonly path: AttributePath }
  /** An attribute that the schemas do not have: it has no value. */
  | { readonly op: "unknown"; readonly isTrue: boolean }
  /** One value of a list must match as a whole. */
  | { readonly op: "values"; readonly path: AttributePath; readonly filter: Filter }

/** A target of PATCH: an attribute, of a list only the values that a filter selects, and of these a part. */
export interface PatchPath extends AttributePath {
  readonly filter?: Filter | undefined
}

/** Reads a filter on resources of a kind. */
export const parseFilter = (kind: ResourceKind, text: string): Checked<Filter> => {
  if (text.length > maxFilterLength)
    return refuse("invalidFilter", `A filter has at most ${maxFilterLength} characters`)
  return Result.flatMap(tokensOf(text), (tokens) => {
    const reader = new Reader(tokens, (name) => attributePath(kind, name))
    const found = reader.disjunction(0)
    return found === undefined || !reader.isAtEnd() ? invalidFilter(text) : Result.succeed(found)
  })
}

/** Reads the path of a PATCH operation. RFC 7644 section 3.5.2. */
export const parsePath = (kind: ResourceKind, text: string): Checked<PatchPath> => {
  const invalid = refuse("invalidPath", `"${text.slice(0, 100)}" is no path of a ${kind.name}`)
  if (text.length > maxFilterLength) return invalid
  const open = text.indexOf("[")
  if (open === -1) {
    const path = attributePath(kind, text.trim())
    return path === undefined ? invalid : Result.succeed(path)
  }
  const close = text.lastIndexOf("]")
  const path = attributePath(kind, text.slice(0, open).trim())
  const subs = path?.attribute?.subAttributes
  if (path === undefined || subs === undefined || path.sub !== undefined || close < open) return invalid
  const rest = text.slice(close + 1).trim()
  const sub = rest === "" ? undefined : attributeNamed(subs, rest.replace(/^\./u, ""))
  if (rest !== "" && (sub === undefined || !rest.startsWith("."))) return invalid
  return Result.flatMap(tokensOf(text.slice(open + 1, close)), (tokens) => {
    const reader = new Reader(tokens, subPath(subs))
    const filter = reader.disjunction(0)
    return filter === undefined || !reader.isAtEnd() ? invalidFilter(text) : Result.succeed({ ...path, filter, sub })
  })
}

type Resolve = (name: string) => AttributePath | undefined

/** Names inside brackets are those of the list's values. */
const subPath =
  (subs: ReadonlyArray<Attribute>): Resolve =>
  (name) => {
    const attribute = attributeNamed(subs, name)
    return attribute && { attribute }
  }

type Token =
  | { readonly is: "(" | ")" | "[" | "]" | "].." }
  | { readonly is: "word"; readonly text: string }
  | { readonly is: "text"; readonly text: string }

const tokenPattern = /\s*(?:(\]\.)|([()[\]])|("(?:[^"\\]|\\.)*")|([^\s()[\]"]+))/uy

const tokensOf = (text: string): Checked<ReadonlyArray<Token>> => {
  const tokens: Array<Token> = []
  const pattern = new RegExp(tokenPattern)
  const end = text.trimEnd().length
  while (pattern.lastIndex < end) {
    const at = pattern.lastIndex
    const match = pattern.exec(text)
    if (match === null) return invalidFilter(text.slice(at))
    const [, dotted, bracket, quoted, word] = match
    if (dotted !== undefined) tokens.push({ is: "].." })
    else if (bracket === "(" || bracket === ")" || bracket === "[" || bracket === "]") tokens.push({ is: bracket })
    else if (word !== undefined && isStorable(word)) tokens.push({ is: "word", text: word })
    else {
      const value = unquoted(quoted ?? "")
      if (value === undefined) return invalidFilter(text.slice(at))
      tokens.push({ is: "text", text: value })
    }
  }
  return Result.succeed(tokens)
}

/** The text of a JSON string; undefined if no store can hold it. */
const unquoted = (quoted: string): string | undefined => {
  try {
    const value: unknown = JSON.parse(quoted)
    return typeof value === "string" && isStorable(value) ? value : undefined
  } catch {
    return undefined
  }
}

const invalidFilter = (text: string) => refuse("invalidFilter", `The filter cannot be read: ${text.slice(0, 100)}`)

/** Reads by descent; each method returns undefined where the text is no filter. */
class Reader {
  private at = 0
  private readonly tokens: ReadonlyArray<Token>
  private readonly resolve: Resolve

  constructor(tokens: ReadonlyArray<Token>, resolve: Resolve) {
    this.tokens = tokens
    this.resolve = resolve
  }

  isAtEnd(): boolean {
    return this.at === this.tokens.length
  }

  disjunction(depth: number): Filter | undefined {
    return this.chain("or", () => this.chain("and", () => this.negation(depth)))
  }

  private chain(op: "and" | "or", operand: () => Filter | undefined): Filter | undefined {
    const first = operand()
    if (first === undefined) return undefined
    const of = [first]
    while (this.takeWord(op)) {
      const next = operand()
      if (next === undefined) return undefined
      of.push(next)
    }
    return of.length === 1 ? first : { op, of }
  }

  private negation(depth: number): Filter | undefined {
    const isNegated = this.isWord("not") && this.tokens[this.at + 1]?.is === "("
    if (isNegated) this.at++
    const filter = this.tokens[this.at]?.is === "(" ? this.bracket(depth) : this.comparison(depth)
    return filter && (isNegated ? { op: "not", filter } : filter)
  }

  private bracket(depth: number): Filter | undefined {
    if (depth >= maxDepth) return undefined
    this.at++
    const filter = this.disjunction(depth + 1)
    return this.take(")") ? filter : undefined
  }

  private comparison(depth: number): Filter | undefined {
    const name = this.tokens[this.at++]
    if (name?.is !== "word") return undefined
    const path = this.resolve(name.text)
    return this.take("[") ? this.valuePath(path, depth) : this.condition(path)
  }

  /** `emails[type eq "work"]`, and `emails[type eq "work"].value eq "x"`: one value meets both. */
  private valuePath(path: AttributePath | undefined, depth: number): Filter | undefined {
    const subs = path?.attribute?.subAttributes
    if (path === undefined || subs === undefined || path.sub !== undefined || depth >= maxDepth) return undefined
    const inner = new Reader(this.tokens, subPath(subs))
    inner.at = this.at
    const filter = inner.disjunction(depth + 1)
    this.at = inner.at
    if (filter === undefined) return undefined
    if (this.take("]")) return { op: "values", path, filter }
    if (!this.take("]..")) return undefined
    const name = this.tokens[this.at++]
    const condition = name?.is === "word" ? this.condition(subPath(subs)(name.text)) : undefined
    return condition && { op: "values", path, filter: { op: "and", of: [filter, condition] } }
  }

  private condition(path: AttributePath | undefined): Filter | undefined {
    const word = this.tokens[this.at++]
    const op = word?.is === "word" ? word.text.toLowerCase() : ""
    if (op === "pr") return path === undefined ? { op: "unknown", isTrue: false } : { op: "pr", path }
    const comparator = comparators.find((known) => known === op)
    const token = this.tokens[this.at++]
    if (comparator === undefined || (token?.is !== "text" && token?.is !== "word")) return undefined
    const value = token.is === "text" ? token.text : literalOf(token.text)
    if (path === undefined) return { op: "unknown", isTrue: comparator === "ne" }
    return isComparable(comparator, path, value) ? { op: comparator, path, value } : undefined
  }

  private isWord(text: string): boolean {
    const token = this.tokens[this.at]
    return token?.is === "word" && token.text.toLowerCase() === text
  }

  private takeWord(text: string): boolean {
    const isNext = this.isWord(text)
    if (isNext) this.at++
    return isNext
  }

  private take(is: Token["is"]): boolean {
    const isNext = this.tokens[this.at]?.is === is
    if (isNext) this.at++
    return isNext
  }
}

/** Booleans have no order. RFC 7644, table 3. */
const isComparable = (op: Comparator, { attribute, sub }: AttributePath, value: FilterValue): boolean => {
  if (op === "eq" || op === "ne") return true
  return (sub ?? attribute)?.type !== "boolean" && typeof value !== "boolean" && value !== null
}

const literalOf = (word: string): FilterValue => {
  if (/^-?\d+(\.\d+)?$/u.test(word)) return Number(word)
  return literals.get(word.toLowerCase()) ?? (word.toLowerCase() === "null" ? null : word)
}
const literals: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false],
])

/** The values by which a filter alone narrows a list, for the store: `userName eq "x"` at its top, or in an `and`. */
export const narrowing = (filter: Filter, attributeName: string): string | undefined => {
  if (filter.op === "and") {
    for (const part of filter.of) {
      const found = narrowing(part, attributeName)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (filter.op !== "eq" || filter.path.extension !== undefined || filter.path.sub !== undefined) return undefined
  return filter.path.attribute?.name === attributeName && filter.value !== null ? String(filter.value) : undefined
}
