/** Parts of requests that several APIs have in common. */
import type { FieldReader } from "./fields.ts"
import { type JsonObject, parseObject } from "./json.ts"

/** A tool's arguments as a JSON text; what is not an object is kept as it is. */
export const argumentsOf = (text: string): JsonObject => (text === "" ? {} : (parseObject(text) ?? { $raw: text }))

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
  imageMimes[/\.(\w+)(?:[?#]|$)/.exec(url)?.[1]?.toLowerCase() ?? ""] ?? "image/png"

const fileMimes: Readonly<Record<string, string>> = {
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  json: "application/json",
  html: "text/html",
}

export const fileMimeOf = (name: string): string =>
  fileMimes[/\.(\w+)(?:[?#]|$)/.exec(name)?.[1]?.toLowerCase() ?? ""] ?? "application/pdf"

/** Text of a string or of parts with a text. */
export const plainText = (reader: FieldReader, value: unknown, path: string): string =>
  typeof value === "string"
    ? value
    : reader
        .list(value, path)
        .map((part, index) => {
          const { type, text, refusal } = reader.object(part, `${path}.${index}`)
          if (type === "refusal") return reader.string(refusal, `${path}.${index}.refusal`)
          if (type !== "text") reader.refuse(`${path}.${index}.type`, "must be text here")
          return type === "text" ? reader.string(text, `${path}.${index}.text`) : ""
        })
        .join("")

/** Clients may send empty texts; vendors refuse them. */
export const textBlock = (v: string, cacheable = false): JsonObject => ({
  t: "text",
  v,
  ...(cacheable && { cacheable: true }),
})
