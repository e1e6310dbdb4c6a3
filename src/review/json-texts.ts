/** Texts of JSON that a client wrote, as far as a model may read them. Pure. */
import { isObject } from "../dialects/json.ts"

/** Members that are no text: data of media, and what a vendor sealed. */
const opaque: ReadonlySet<string> = new Set([
  "data",
  "file_data",
  "image_url",
  "url",
  "encrypted_content",
  "signature",
  "thoughtSignature",
  "thought_signature",
])

/** Members that hold a word of the API. */
const words: ReadonlySet<string> = new Set(["role", "type"])

/** The texts of a value, each by itself, then those that a list has side by side; the value's depth has been checked. */
export const textsOfJson = (value: unknown): ReadonlyArray<string> => [...textsIn(value), ...joinedTextsOf(value)]

/**
 * Texts that a list has side by side, joined: one API has them as lines, another without anything between, so that a word
 * may be split over them. Messages are told apart by every model.
 */
export const joinedTextsOf = (value: unknown): ReadonlyArray<string> => {
  if (isObject(value)) return Object.values(value).flatMap(joinedTextsOf)
  if (!Array.isArray(value)) return []
  const texts = new Map<string, Array<string>>()
  const add = (name: string, text: unknown) => {
    if (typeof text !== "string") return
    const others = texts.get(name)
    if (others === undefined) texts.set(name, [text])
    else others.push(text)
  }
  for (const each of value) {
    if (!isObject(each)) add("", each)
    else if (!("role" in each)) for (const [name, text] of Object.entries(each)) if (isText(name, each)) add(name, text)
  }
  const joined = [...texts.values()].filter(({ length }) => length > 1).map((each) => each.join(""))
  return [...joined, ...value.flatMap(joinedTextsOf)]
}

const textsIn = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, each]) =>
    typeof each === "string" && !isText(name, value) ? [] : textsIn(each),
  )
}

/** Whether a member's string is text. The data of a text document is. */
const isText = (name: string, { type }: Readonly<Record<string, unknown>>): boolean =>
  (name === "data" && type === "text") || !(opaque.has(name) || words.has(name))
