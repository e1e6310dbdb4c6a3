/**
 * Arguments of a function call that Gemini streams in parts: each part has a JSON path and a value, or more of a
 * string. Source: https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling
 */
import { JsonText } from "../../protocol/json/json-text.ts"
import { type JsonObject, stringAt } from "../parse/json.ts"

type Value = string | JsonText | boolean | null | ValueList | ValueMap
type ValueList = Array<Value>
/** A Map instead of an object, so that no name has a special meaning. */
type ValueMap = Map<string, Value>

/** The depth below which locations are ignored. */
const maxDepth = 64
const step = /\.([^.[\]]+)|\[(\d{1,6})\]|\['([^']*)'\]|\["([^"]*)"\]/y

export class PartialArguments {
  readonly #root: ValueMap = new Map()

  /** @param numberText the text of the piece's number */
  add(piece: JsonObject, numberText: () => string | undefined): void {
    const path = parsePath(stringAt(piece, "jsonPath") ?? "")
    if (path === undefined) return
    let place: ValueMap | ValueList = this.#root
    for (const [at, key] of path.entries()) {
      const next = path[at + 1]
      const known = childOf(place, key)
      if (next === undefined) {
        setChild(place, key, pieceValue(piece, known, numberText))
        return
      }
      const child: ValueMap | ValueList = isPlace(known) ? known : typeof next === "number" ? [] : new Map()
      if (child !== known && !setChild(place, key, child)) return
      place = child
    }
  }

  /** The arguments so far, as JSON. */
  toJson(): string {
    return jsonOf(this.#root)
  }
}

/** Members are in the order in which they came. */
const jsonOf = (value: Value): string => {
  if (value instanceof Map) {
    return `{${[...value].map(([name, member]) => `${JSON.stringify(name)}:${jsonOf(member)}`).join(",")}}`
  }
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(",")}]`
  return value instanceof JsonText ? value.text : JSON.stringify(value)
}

/** `$.a.b[0]`, `$['a']`; undefined for other paths. */
function parsePath(path: string): ReadonlyArray<string | number> | undefined {
  if (!path.startsWith("$")) return undefined
  const keys: Array<string | number> = []
  step.lastIndex = 1
  while (step.lastIndex < path.length) {
    const [found, name, index, quoted, doubleQuoted] = step.exec(path) ?? []
    if (found === undefined || keys.length === maxDepth) return undefined
    keys.push(index === undefined ? (name ?? quoted ?? doubleQuoted ?? "") : Number(index))
  }
  return keys.length === 0 ? undefined : keys
}

const isPlace = (value: Value | undefined): value is ValueMap | ValueList =>
  Array.isArray(value) || value instanceof Map

function childOf(place: ValueMap | ValueList, key: string | number): Value | undefined {
  if (Array.isArray(place)) return typeof key === "number" ? place[key] : undefined
  return place.get(String(key))
}

/** False if there is no such location: lists grow at their end. */
function setChild(place: ValueMap | ValueList, key: string | number, value: Value): boolean {
  if (!Array.isArray(place)) {
    place.set(String(key), value)
    return true
  }
  if (typeof key !== "number" || key > place.length) return false
  place[key] = value
  return true
}

function pieceValue(piece: JsonObject, known: Value | undefined, numberText: () => string | undefined): Value {
  const text = stringAt(piece, "stringValue")
  if (text !== undefined) return typeof known === "string" ? known + text : text
  const { numberValue, boolValue } = piece
  if (typeof numberValue === "number") return new JsonText(numberText() ?? String(numberValue))
  return typeof boolValue === "boolean" ? boolValue : null
}
