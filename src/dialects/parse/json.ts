/**
 * Reads vendors' JSON leniently: vendors add fields and send `null` for "absent", so each field is read on its own and
 * everything else is ignored. Nothing here throws.
 */
import { Predicate } from "effect"
import { isDeeperThan } from "../../protocol/json/depth.ts"
import { exceededLimit, type JsonLimits, loopLimits, workerLimits } from "../../protocol/json/json-size.ts"

export type JsonObject = { readonly [key: string]: unknown }

export const isObject = (value: unknown): value is JsonObject => Predicate.isObject(value) && !Array.isArray(value)

/** Maximum nesting of a reply; recursion over deeper values is not safe. */
const maxDepth = 64
/** A shorter text cannot be nested too deeply and is not checked. */
const harmlessLength = 1024

/** A shorter text is parsed in a few milliseconds, with any content. */
const briefLength = 256 * 1024

/** Parses a JSON object; undefined for everything else, and for more values than the event loop has time for. */
export const parseObject = (text: string): JsonObject | undefined => parseWithin(text, loopLimits)

/** The same for a text outside the calls of clients, such as a line of a batch's results, with as many values as a worker reads. */
export const parseLongObject = (text: string): JsonObject | undefined => parseWithin(text, workerLimits)

const parseWithin = (text: string, limits: JsonLimits): JsonObject | undefined => {
  if (text.length > briefLength && exceededLimit(Buffer.from(text), limits) !== undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return undefined
    return text.length > harmlessLength && isDeeperThan(value, maxDepth) ? undefined : value
  } catch {
    return undefined
  }
}

/** Parses a whole reply. Some servers answer with only a list, which becomes the member `list` here. */
export const parseReply = (text: string): JsonObject | undefined =>
  text.trimStart().startsWith("[") ? parseObject(`{"list":${text}}`) : parseObject(text)

/** Parses the object of a refusal. Google's API for OpenAI's clients puts it into a list of one. */
export const parseRefusal = (body: string): JsonObject | undefined => {
  const text = body.trim()
  return parseObject(text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text)
}

export const objectAt = (value: JsonObject | undefined, key: string): JsonObject | undefined => {
  const field = value?.[key]
  return isObject(field) ? field : undefined
}

export const objectsAt = (value: JsonObject | undefined, key: string): ReadonlyArray<JsonObject> => {
  const field = value?.[key]
  return Array.isArray(field) ? field.filter(isObject) : []
}

/** The objects of a list with their indices in it. */
export const placedObjectsAt = (
  value: JsonObject | undefined,
  key: string,
): ReadonlyArray<readonly [place: number, object: JsonObject]> => {
  const field = value?.[key]
  if (!Array.isArray(field)) return []
  return field.flatMap((each: unknown, place) => (isObject(each) ? [[place, each] as const] : []))
}

export const stringAt = (value: JsonObject | undefined, key: string): string | undefined => {
  const field = value?.[key]
  return typeof field === "string" ? field : undefined
}

export const numberAt = (value: JsonObject | undefined, key: string): number | undefined => {
  const field = value?.[key]
  return typeof field === "number" ? field : undefined
}

/** A count as vendors write it: `12`, `12.0`, `"12"`; undefined if it is absent, `null`, or anything else. */
export const reportedCountAt = (value: JsonObject | undefined, key: string): number | undefined =>
  readCount(value?.[key])

/** A count; 0 if it is absent or is not a count. */
export const countAt = (value: JsonObject | undefined, key: string): number => reportedCountAt(value, key) ?? 0

/** Whether a field has a value that is not a count. */
export const isMalformedCount = (value: JsonObject | undefined, key: string): boolean => {
  const field = value?.[key] ?? undefined
  return field !== undefined && readCount(field) === undefined
}

const writtenCount = /^\d{1,16}(\.0{1,16})?$/

const readCount = (field: unknown): number | undefined => {
  const count = typeof field === "string" && writtenCount.test(field) ? Number(field) : field
  return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? count : undefined
}
