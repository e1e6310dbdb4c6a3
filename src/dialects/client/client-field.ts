/** The client's own name of a field that its vendor refuses, where the vendor got the client's own request with edits. Pure. */
import type { JsonEdit, JsonPath } from "../../protocol/json/json-edit.ts"
import { isObject } from "../parse/json.ts"

export interface WrittenFields {
  /** Names of the members of the client's body. */
  readonly members: ReadonlyArray<string>
  /** Names of members within them, except for the prompt's. */
  readonly inner: ReadonlyArray<string>
  /** The positions of elements that were removed from lists: the vendor counts without them. */
  readonly cuts: ReadonlyArray<JsonPath>
}

/** A client's body, of which the prompt is long. */
export interface WrittenBody {
  /** Names of its members. */
  readonly members: ReadonlyArray<string>
  /** Its members, except for the prompt. */
  readonly head: object
  /** The whole body; read only if edits have emptied lists. */
  readonly whole: () => unknown
}

/** @param edits the edits that were made */
export const writtenFields = (
  { members, head, whole }: WrittenBody,
  edits: ReadonlyArray<JsonEdit>,
): WrittenFields => ({
  members,
  inner: Object.values(head).flatMap(namesWithin),
  cuts: cutsOf(whole, edits),
})

const namesWithin = (value: unknown): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap(namesWithin)
  return isObject(value) ? Object.entries(value).flatMap(([name, inner]) => [name, ...namesWithin(inner)]) : []
}

/** Cuts of elements of lists, with those of elements that lose all their parts. */
const cutsOf = (whole: () => unknown, edits: ReadonlyArray<JsonEdit>): ReadonlyArray<JsonPath> => {
  const cuts = edits.filter(({ json, path }) => json === undefined && isPlace(path.at(-1)))
  const parts = new Map<string, { readonly list: JsonPath; count: number }>()
  for (const { path, isPart } of cuts) {
    if (isPart !== true) continue
    const list = path.slice(0, -1)
    const known = parts.get(list.join("/"))
    if (known === undefined) parts.set(list.join("/"), { list, count: 1 })
    else known.count++
  }
  const body = parts.size === 0 ? undefined : whole()
  const emptied = [...parts.values()].flatMap(({ list, count }) => {
    const owner = list.slice(0, -1)
    const all = valueAt(body, list)
    return isPlace(owner.at(-1)) && Array.isArray(all) && count >= all.length ? [owner] : []
  })
  const unique = new Map([...cuts.map(({ path }) => path), ...emptied].map((path) => [path.join("/"), path]))
  return [...unique.values()]
}

const valueAt = (value: unknown, path: JsonPath): unknown => {
  const [name, ...rest] = path
  if (name === undefined) return value
  if (Array.isArray(value)) return valueAt(value[Number(name)], rest)
  return isObject(value) ? valueAt(value[name], rest) : undefined
}

const isPlace = (name: string | number | undefined): boolean => name !== undefined && /^\d{1,9}$/.test(String(name))

const isBelow = (path: JsonPath, list: JsonPath): boolean => list.every((name, at) => isSame(String(name), path[at]))

/** Gemini accepts names in two spellings, and reports one. */
const isSame = (name: string, other: string | number | undefined): boolean => plain(name) === plain(String(other))
const plain = (name: string): string => name.replaceAll("_", "").toLowerCase()

/**
 * @param field the field that the vendor names as such
 * @param mentioned names in its text, which are returned only if the client wrote them
 */
export const clientField = (
  written: WrittenFields,
  field: string | undefined,
  mentioned: ReadonlyArray<string>,
): string | undefined => {
  const known = mentioned.flatMap((name) => knownPart(written, name) ?? [])
  const exact = field === undefined ? known[0] : known.find((name) => name.startsWith(`${field}.`))
  const named = exact ?? field
  return named === undefined ? undefined : asWritten(written, named)
}

/** The beginning of a path that the client wrote. */
const knownPart = ({ members, inner }: WrittenFields, path: string): string | undefined => {
  const names = namesOf(path)
  const length = names.findIndex(
    (name, at) => !isPlace(name) && !(at === 0 ? members : inner).some((own) => isSame(own, name)),
  )
  const known = length < 0 ? names.length : length
  return known === 0 ? undefined : joined(path, names.slice(0, known))
}

const asWritten = ({ members, cuts }: WrittenFields, path: string): string => {
  const names: Array<string> = []
  for (const [at, name] of namesOf(path).entries()) {
    if (at === 0) names.push(members.find((own) => isSame(own, name)) ?? name)
    else names.push(isPlace(name) ? String(placeBefore(cuts, names, Number(name))) : name)
  }
  return joined(path, names)
}

/** A place in a list before its cuts. */
const placeBefore = (cuts: ReadonlyArray<JsonPath>, list: ReadonlyArray<string>, place: number): number => {
  const before = cuts
    .filter((cut) => cut.length === list.length + 1 && isBelow(cut, list))
    .map((cut) => Number(cut.at(-1)))
    .toSorted((a, b) => a - b)
  return before.reduce((own, cut) => (cut <= own ? own + 1 : own), place)
}

const namesOf = (path: string): ReadonlyArray<string> => path.split(/[.[\]]+/).filter((name) => name !== "")

/** A path in the form of another: `tools[3].name`, or `tools.3.name`. */
const joined = (form: string, names: ReadonlyArray<string>): string =>
  names.map((name, at) => (at === 0 ? name : form.includes("[") && isPlace(name) ? `[${name}]` : `.${name}`)).join("")
