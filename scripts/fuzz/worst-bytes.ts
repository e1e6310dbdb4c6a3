/** The worst bodies of a route, made from an example of its requests: what costs a gateway the most for each byte. */
import type { Schema } from "effect"

type Json = Schema.Json

export interface WorstBody {
  readonly name: string
  readonly bytes: Uint8Array
}

const isObject = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Values that take long to check, to refuse, or to copy. */
const values = (scale: number): ReadonlyArray<readonly [name: string, json: string]> => {
  const count = Math.ceil(1_000_000 * scale)
  const fill = (member: string) => `[${`${member},`.repeat(count)}${member}]`
  return [
    ["wrong elements", fill("1")],
    ["empty objects", fill("{}")],
    ["short texts", fill('"a"')],
    ["lists in lists", "[".repeat(count) + "]".repeat(count)],
    ["new names", `{${Array.from({ length: Math.ceil(count / 4) }, (_, at) => `"n${at}":1`).join(",")}}`],
    ["a text of escapes", `"${"\\u0000".repeat(count)}"`],
    ["a text that folds to eighteen times its length", `"${"ﷺ".repeat(count)}"`],
    ["many digits", "9".repeat(count)],
    ["a name that every object has", `{"__proto__":{"constructor":${fill("{}")}}}`],
  ]
}

/** Every place of an example: paths to its members, elements of lists once. */
const placesOf = (
  value: Json,
  path: ReadonlyArray<string | number> = [],
): ReadonlyArray<ReadonlyArray<string | number>> => {
  if (Array.isArray(value)) {
    const [first] = value
    return [path, ...(first === undefined ? [] : placesOf(first, [...path, 0]))]
  }
  if (!isObject(value)) return [path]
  return [path, ...Object.entries(value).flatMap(([name, member]) => placesOf(member, [...path, name]))]
}

/** JSON of the example, with text in one place. */
const withText = (value: Json, [step, ...rest]: ReadonlyArray<string | number>, text: string): string => {
  if (step === undefined) return text
  if (Array.isArray(value)) {
    return `[${value.map((each, at) => (at === step ? withText(each, rest, text) : JSON.stringify(each))).join(",")}]`
  }
  if (!isObject(value)) return text
  const members = Object.entries(value).map(
    ([name, member]) =>
      `${JSON.stringify(name)}:${name === step ? withText(member, rest, text) : JSON.stringify(member)}`,
  )
  return `{${members.join(",")}}`
}

/** @param scale 1 for bodies of megabytes */
export function* worstBodies(example: Json, scale: number): Generator<WorstBody> {
  const whole = JSON.stringify(example)
  yield { name: "half of a body", bytes: Buffer.from(whole.slice(0, whole.length / 2)) }
  yield { name: "no UTF-8", bytes: Buffer.from([0x22, 0xff, 0xfe, 0x22]) }
  yield { name: "nothing", bytes: Buffer.alloc(0) }
  const worst = values(scale)
  for (const [name, text] of worst) yield { name: `a body of ${name}`, bytes: Buffer.from(text) }
  for (const path of placesOf(example)) {
    for (const [name, text] of worst) {
      yield { name: `${path.join(".")}: ${name}`, bytes: Buffer.from(withText(example, path, text)) }
    }
  }
  if (isObject(example)) {
    const count = Math.ceil(250_000 * scale)
    const unknown = Array.from({ length: count }, (_, at) => `"x${at}":[]`).join(",")
    yield {
      name: "unknown fields",
      bytes: Buffer.from(`{${whole.slice(1, -1)}${whole === "{}" ? "" : ","}${unknown}}`),
    }
  }
}
