/** Parts of requests that several APIs have in common. */

import type { Cacheable, Detail } from "../../protocol/block.ts"
import type { ReasoningLevel } from "../../protocol/exchange.ts"
import { overflows } from "../../protocol/json/json-text.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import { isObject, type JsonObject, parseObject } from "../parse/json.ts"
import { all, carried, type FieldReader, type FieldTable, isAbsent, present } from "./fields.ts"

/** A tool's arguments as a JSON text; a value that is no object, or has a number that is not finite, is kept unchanged. */
export const argumentsOf = (text: string): JsonObject => {
  if (text === "") return {}
  const input = parseObject(text)
  return input === undefined || overflows(text, input) ? { $raw: text } : input
}

/** The same of a request. */
export const argumentsIn = (reader: FieldReader, value: unknown, path: string): JsonObject =>
  reader.exactly(argumentsOf(reader.string(value, path)), path)

const dataUrl = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w.+-]+=[^;,]*)*;base64,/

/** A data URL or an address, as an image or a file of twp/1. @param mime of an address */
export const sourceOf = (url: string, mime: string): JsonObject => {
  const [head, type] = dataUrl.exec(url) ?? []
  return head === undefined ? { mime, url } : { mime: type, data: url.slice(head.length) }
}

const imageMimes: Readonly<Record<string, string>> = {
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
}

/** The type of an image that is named by its address alone. */
export const imageMimeOf = (url: string): string =>
  entryOf(imageMimes, /\.(\w+)(?:[?#]|$)/.exec(url)?.[1]?.toLowerCase()) ?? "image/png"

const details: Readonly<Record<Detail, Detail>> = { low: "low", high: "high", auto: "auto", original: "original" }

/**
 * The detail of a picture in OpenAI's APIs; `auto` is the default.
 * @param path of the picture
 */
export const detailIn = (reader: FieldReader, value: unknown, path: string): Detail | undefined =>
  value === "auto" ? undefined : reader.word(details, value, `${path}.detail`)

const fileMimes: Readonly<Record<string, string>> = {
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  json: "application/json",
  html: "text/html",
}

const videoMimes: Readonly<Record<string, string>> = {
  mov: "video/quicktime",
  webm: "video/webm",
  mkv: "video/x-matroska",
  mpeg: "video/mpeg",
}

export const videoMimeOf = (url: string): string =>
  entryOf(videoMimes, /\.(\w+)(?:[?#]|$)/.exec(url)?.[1]?.toLowerCase()) ?? "video/mp4"

export const fileMimeOf = (name: string): string =>
  entryOf(fileMimes, /\.(\w+)(?:[?#]|$)/.exec(name)?.[1]?.toLowerCase()) ?? "application/pdf"

/** Text of a string or of parts with a text. */
export const plainText = (reader: FieldReader, value: unknown, path: string): string =>
  typeof value === "string"
    ? value
    : reader
        .list(value, path)
        .map((part, index) => {
          const { type, text, refusal } = reader.object(part, `${path}.${index}`)
          if (type === "refusal") return reader.string(refusal, `${path}.${index}.refusal`)
          if (type === "text") return reader.string(text, `${path}.${index}.text`)
          reader.lacks(`${path}.${index}.type`, "must be text here")
          return JSON.stringify(part)
        })
        .join("")

/** The schema of a tool without arguments. */
export const noArguments: JsonObject = { type: "object", properties: {} }

/** The schema of a tool in a request. */
export const schemaIn = (reader: FieldReader, value: unknown, path: string): unknown =>
  isAbsent(value) ? noArguments : reader.exactly(value, path)

/** An empty list of stop sequences is none. */
export const stopsOf = (stop: unknown): unknown => (Array.isArray(stop) && stop.length === 0 ? undefined : stop)

/** A penalty, a count or a tier whose value is the default. */
export const unless = (value: unknown, ...usual: ReadonlyArray<unknown>): unknown =>
  usual.includes(value) ? undefined : value

/** Tiers that vendors use by default. */
export const tierOf = (tier: unknown): unknown =>
  unless(
    typeof tier === "string" ? tier.toLowerCase() : tier,
    "auto",
    "default",
    "on_demand",
    "standard",
    "unspecified",
  )

/** Logprobs of the tokens said, with alternatives. */
export const logprobsOf = (
  reader: FieldReader,
  isAsked: unknown,
  top: unknown,
  names: { readonly asked: string; readonly top: string },
): unknown => {
  if (isAsked === true) return top ?? 0
  if (!isAbsent(top) && top !== 0) reader.refuse(names.top, `needs ${names.asked}`)
  return undefined
}

/** A file that OpenAI keeps; undefined if it is sent with the request. */
export const keptFile = (reader: FieldReader, { file_id: id }: JsonObject, path: string): JsonObject | undefined =>
  isAbsent(id) ? undefined : { kept: { dialect: "openai", id: reader.string(id, `${path}.file_id`) } }

export const textToolFields: FieldTable = all(carried, "type", "name", "description", "format", "defer_loading")

/**
 * OpenAI's tool that takes a text.
 * @param grammarIn the position of the grammar in its format
 */
export const textTool = (
  reader: FieldReader,
  { name, description, format }: JsonObject,
  path: string,
  grammarIn: (format: JsonObject) => JsonObject,
): JsonObject => {
  const asked = isAbsent(format) ? {} : reader.object(format, path)
  if (isAbsent(asked["type"]) || asked["type"] === "text") return present({ kind: "text", name, description })
  if (asked["type"] !== "grammar") reader.lacks(`${path}.type`, "must be text or grammar")
  const { syntax, definition } = grammarIn(asked)
  return present({ kind: "text", name, description, grammar: { syntax, definition } })
}

/** The strict form of a tool, only where it is asked for. */
export const strictly = (strict: unknown) => (strict === true ? { strict } : {})

/** OpenAI's names for the levels of reasoning. */
export const openaiEfforts: Readonly<Record<string, ReasoningLevel>> = {
  none: "off",
  minimal: "minimal",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  max: "max",
}

/**
 * OpenAI's answer as JSON.
 * @param described the object that has the schema
 * @param schemaPath the path of the schema
 */
export const openaiOutput = (
  reader: FieldReader,
  type: unknown,
  described: () => JsonObject,
  path: string,
  schemaPath: string,
): JsonObject | "json" | undefined => {
  switch (type) {
    case "text":
      return undefined
    case "json_object":
      return "json"
    case "json_schema": {
      const { name, schema, strict } = described()
      return present({ name, schema: reader.exactly(schema, schemaPath), strict })
    }
    default:
      reader.lacks(`${path}.type`, "must be text, json_object or json_schema")
      return undefined
  }
}

/** "any" is Mistral's name for it. */
export const toolChoices = { auto: "auto", none: "none", required: "required", any: "required" } as const

export interface ClientToolChoice {
  readonly toolChoice: unknown
  /** The names of the only tools that may be called. */
  readonly allowed?: ReadonlyArray<unknown>
}

/** OpenAI's choice among some of the tools. */
export const allowedTools = (reader: FieldReader, value: unknown, path: string): ClientToolChoice => {
  const { mode, tools } = reader.checked(all(carried, "type", "mode", "tools"), value, path)
  const allowed = reader.list(tools, `${path}.tools`).map((tool, index) => {
    const { name, function: fn } = reader.object(tool, `${path}.tools.${index}`)
    return name ?? (isObject(fn) ? fn["name"] : undefined)
  })
  return { toolChoice: reader.word(toolChoices, mode, `${path}.mode`), allowed }
}

/** Tools that may not be called are not offered. */
export const onlyAllowed = (
  tools: ReadonlyArray<JsonObject>,
  allowed: ReadonlyArray<unknown> | undefined,
): ReadonlyArray<JsonObject> => (allowed === undefined ? tools : tools.filter(({ name }) => allowed.includes(name)))

/** Base64 in the alphabet of URLs is base64 too. */
export const plainBase64 = (data: unknown): unknown => {
  if (typeof data !== "string" || !/[-_]|[^=]$/.test(data)) return data
  const plain = data.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "")
  return plain + "=".repeat((4 - (plain.length % 4)) % 4)
}

/** A text that may be empty, which vendors refuse. */
export const nonEmptyText = (v: string): ReadonlyArray<JsonObject> => (v === "" ? [] : [textBlock(v)])

/** A text, which may be a cache breakpoint. */
export const textBlock = (v: string, cacheable: Cacheable = false): JsonObject => marked({ t: "text", v }, cacheable)

/** A block or a tool, which may be a cache breakpoint. */
export const marked = (block: JsonObject, cacheable: Cacheable): JsonObject =>
  cacheable === false ? block : { ...block, cacheable }

/** The fields of a mark, as most APIs have it. */
export const markFields: FieldTable = all(carried, "type", "ttl")

/** The cache breakpoint of a block, with its duration; false if it has none. @param fields of the mark */
export const markOf = (
  reader: FieldReader,
  { cache_control: mark }: JsonObject,
  path: string,
  fields: FieldTable,
): Cacheable => (isAbsent(mark) ? false : lifeOf(reader, mark, `${path}.cache_control`, fields))

/** The duration of a cache breakpoint. @param fields of the mark */
export const lifeOf = (reader: FieldReader, mark: unknown, path: string, fields = markFields): Cacheable => {
  const { ttl } = reader.checked(fields, mark, path)
  return reader.word(lives, ttl, `${path}.ttl`) ?? true
}

const lives = { "5m": "5m", "1h": "1h" } as const
