/** Texts of JSON that a client wrote, as far as a model may read them. Pure. */
import { isUtf8 } from "node:buffer"
import { isObject, parseObject } from "../dialects/parse/json.ts"
import type { ReviewedPart } from "../protocol/catalogue/policy.ts"
import { apiWords } from "./api-words.ts"
import { countingMembers } from "./json-numbers.ts"
import { everyPart, type Parts, partOf, partOfMember } from "./parts.ts"

/** Members that hold data, addresses and what a vendor sealed; other strings in them are text. */
const opaque: ReadonlySet<string> = new Set([
  "data",
  "blob",
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
export const textsOfJson = (value: unknown, parts: Parts = everyPart): ReadonlyArray<string> => [
  ...textsIn(value, parts, () => false),
  ...joinedTextsOf(value, parts),
]

/** The texts of a client's request, each by itself, without the names with which its API refers to something. */
export const ownTextsOfJson = (value: unknown, parts: Parts): ReadonlyArray<string> => {
  const model = isObject(value) ? value["model"] : undefined
  return textsIn(value, parts, (text, member, part, owner) => {
    if (freeMembers.has(owner)) return false
    return naming.has(member) || (part === "text" && apiWords.has(text)) || (member === "model" && text === model)
  })
}

/** Members of a request that name a call, a kind or a type, or seal something, and are no text for an engine. */
const naming: ReadonlySet<string> = new Set(
  `
    type role t id call_id tool_call_id tool_use_id toolUseId item_id response_id previous_response_id file_id container_id
    cachedContent prompt_cache_key mime mimeType mime_type media_type ttl signature thoughtSignature thought_signature
    encrypted_content
  `
    .trim()
    .split(/\s+/),
)
/** Members whose own members have any names. */
const freeMembers: ReadonlySet<string> = new Set(["metadata", "labels", "requestMetadata"])

type Leaving = (text: string, member: string, part: ReviewedPart, owner: string) => boolean

/** @param isLeft whether a text of a member is left out */
const textsIn = (value: unknown, parts: Parts, isLeft: Leaving): ReadonlyArray<string> => {
  const texts: Array<string> = []
  const collect = (each: unknown, name: string, part: ReviewedPart, owner: string): void => {
    if (typeof each === "string") {
      if (parts.has(part) && !isLeft(each, name, part, owner)) addText(each, name, texts)
    } else if (typeof each === "number") {
      if (parts.has(part) && !(part === "text" && countingMembers.has(name))) texts.push(String(each))
    } else if (Array.isArray(each)) for (const item of each) collect(item, name, part, owner)
    else if (isObject(each)) {
      const own = partOf(each, name, part)
      for (const [member, inner] of Object.entries(each)) {
        if (!apiWords.has(member) && parts.has(own)) texts.push(member)
        collect(inner, member, partOfMember(member, own), name)
      }
    }
  }
  collect(value, "", "text", "")
  return texts
}

const addText = (text: string, name: string, texts: Array<string>): void => {
  if (words.has(name) && apiWords.has(text.replace(/_\d{6,8}$/, ""))) return
  if (opaque.has(name) && isOpaque(text)) {
    const decoded = decodedText(text)
    if (decoded !== undefined) texts.push(decoded)
    return
  }
  texts.push(text)
  // JSON in a string, such as arguments, may hide a word in its escapes.
  const inner = text.startsWith("{") ? parseObject(text) : undefined
  if (inner !== undefined) for (const each of stringsIn(inner)) texts.push(each)
}

/** All strings of a value, names of members included. */
export const stringsIn = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (Array.isArray(value)) return value.flatMap(stringsIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, each]) => [name, ...stringsIn(each)])
}

const dataUrl = /^data:[^,]*;base64,/
const isOpaque = (text: string): boolean =>
  /^https?:\/\/\S+$/.test(text) || dataUrl.test(text.slice(0, 256)) || isBase64(text)

/** Base64 of some length: no sentence is without a space. */
const isBase64 = (text: string): boolean => text.length >= 64 && !/[^\w+/=-]/.test(text)

/** The text that is encoded in base64, if it is text; pictures and seals are none. */
const decodedText = (text: string): string | undefined => {
  if (text.startsWith("http")) return undefined
  const base64 = text.replace(dataUrl, "")
  const begin = Buffer.from(base64.slice(0, 1024), "base64")
  // A character may be cut at the end.
  if (![0, 1, 2, 3].some((cut) => isUtf8(begin.subarray(0, begin.length - cut)))) return undefined
  const bytes = Buffer.from(base64, "base64")
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined
}

/**
 * Texts that a list has side by side, joined: one API has them as lines, another without anything between, so that a word
 * may be split over them. Every model distinguishes messages.
 */
export const joinedTextsOf = (value: unknown, parts: Parts = everyPart): ReadonlyArray<string> => {
  const joined = (each: unknown, name: string, part: ReviewedPart): ReadonlyArray<string> => {
    if (isObject(each)) {
      const own = partOf(each, name, part)
      return Object.entries(each).flatMap(([member, inner]) => joined(inner, member, partOfMember(member, own)))
    }
    if (!Array.isArray(each)) return []
    const inner = each.flatMap((item) => joined(item, "", part))
    return listsOfMessages.has(name) ? inner : [...sideBySide(each, name, part, parts), ...inner]
  }
  return joined(value, "", "text")
}

const listsOfMessages: ReadonlySet<string> = new Set(["messages", "contents", "input"])

const sideBySide = (
  list: ReadonlyArray<unknown>,
  listName: string,
  part: ReviewedPart,
  parts: Parts,
): ReadonlyArray<string> => {
  const texts = new Map<string, Array<string>>()
  const add = (name: string, text: unknown, own: ReviewedPart) => {
    if (typeof text !== "string" || !parts.has(own)) return
    if (words.has(name) || (opaque.has(name) && isOpaque(text))) return
    const others = texts.get(name)
    if (others === undefined) texts.set(name, [text])
    else others.push(text)
  }
  for (const each of list) {
    if (isObject(each)) {
      const own = partOf(each, listName, part)
      for (const [name, text] of Object.entries(each)) add(name, text, partOfMember(name, own))
    } else add("", each, part)
  }
  return [...texts.values()].filter(({ length }) => length > 1).map((each) => each.join(""))
}
