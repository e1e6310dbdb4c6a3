/**
 * The result of a tool's call, of an HTTP reply.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-result
 */
import { type JsonObject, parseObject } from "../../dialects/parse/json.ts"

export type ResultContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly data: string; readonly mimeType: string }
  | {
      readonly type: "resource"
      readonly resource: { readonly uri: string; readonly mimeType: string; readonly blob: string }
    }

export interface ToolResult {
  readonly content: ReadonlyArray<ResultContent>
  readonly structuredContent?: JsonObject
  readonly isError?: true
}

export interface ResultOptions {
  /** The address of a reply that becomes a resource. */
  readonly uri?: string | undefined
  /** The body's bytes that a result may have; longer text is cut, and other content is left out. */
  readonly maxBytes?: number | undefined
}

const defaultMaxBytes = 1024 * 1024
const firstError = 400
const firstRedirect = 300

/** @param headers names in lower case */
export const resultOf = (
  status: number,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
  { uri = "response:", maxBytes = defaultMaxBytes }: ResultOptions = {},
): ToolResult => {
  const { mimeType, charset } = typeOf(headers["content-type"], body)
  const notes: Array<ResultContent> = []
  if (status >= firstRedirect || body.length === 0) notes.push(text(statusText(status, headers)))
  const shown = body.length === 0 ? {} : contentOf(mimeType, charset, body, uri, maxBytes)
  return {
    content: [...notes, ...(shown.content ?? [])],
    ...(shown.structuredContent !== undefined && { structuredContent: shown.structuredContent }),
    ...(status >= firstError && { isError: true }),
  }
}

const text = (value: string): ResultContent => ({ type: "text", text: value })

const statusText = (status: number, { location }: Readonly<Record<string, string>>): string =>
  status >= firstRedirect && status < firstError && location !== undefined
    ? `HTTP ${status}, location: ${location.slice(0, 2000)}`
    : `HTTP ${status}`

interface Shown {
  readonly content?: ReadonlyArray<ResultContent>
  readonly structuredContent?: JsonObject | undefined
}

const contentOf = (mimeType: string, charset: string, body: Uint8Array, uri: string, maxBytes: number): Shown => {
  if (isText(mimeType)) return textContent(mimeType, charset, body, maxBytes)
  if (body.length > maxBytes) {
    return { content: [text(`The reply is ${mimeType} of ${body.length} bytes, which is more than ${maxBytes}.`)] }
  }
  const data = Buffer.from(body.buffer, body.byteOffset, body.length).toString("base64")
  if (mimeType.startsWith("image/")) return { content: [{ type: "image", data, mimeType }] }
  if (mimeType.startsWith("audio/")) return { content: [{ type: "audio", data, mimeType }] }
  return { content: [{ type: "resource", resource: { uri, mimeType, blob: data } }] }
}

const textContent = (mimeType: string, charset: string, body: Uint8Array, maxBytes: number): Shown => {
  if (body.length <= maxBytes) {
    const whole = decoded(body, charset)
    const structuredContent = isJson(mimeType) ? parseObject(whole) : undefined
    return { content: [text(whole)], structuredContent }
  }
  // The last character may be cut.
  const begin = decoded(body.subarray(0, maxBytes), charset).replace(/\ufffd$/, "")
  return { content: [text(begin), text(`The reply was cut: it has ${body.length} bytes, and ${maxBytes} are shown.`)] }
}

const decoded = (body: Uint8Array, charset: string): string => {
  try {
    return new TextDecoder(charset).decode(body)
  } catch {
    return new TextDecoder().decode(body)
  }
}

const isJson = (mimeType: string): boolean => /^application\/([\w.-]+\+)?json$/.test(mimeType)

const isText = (mimeType: string): boolean => isJson(mimeType) || textTypes.test(mimeType)

const textTypes =
  /^(text\/.*|[\w.-]+\/[\w.-]+\+(xml|yaml)|application\/(xml|yaml|x-yaml|javascript|ecmascript|x-ndjson|jsonl|json-seq|x-www-form-urlencoded|graphql|sql|toml))$/

const mediaType = /^\s*([\w!#$&^.+-]+\/[\w!#$&^.+-]+)\s*(?:;(.*))?$/

/** The media type; if there is none, or none that can be read, the bytes decide. */
const typeOf = (
  header: string | undefined,
  body: Uint8Array,
): { readonly mimeType: string; readonly charset: string } => {
  const [, type, parameters = ""] = mediaType.exec((header ?? "").slice(0, 1000)) ?? []
  if (type === undefined)
    return { mimeType: looksLikeText(body) ? "text/plain" : "application/octet-stream", charset: "utf-8" }
  const charset = /charset\s*=\s*"?([\w.:-]+)/i.exec(parameters)?.[1] ?? "utf-8"
  return { mimeType: type.toLowerCase(), charset }
}

/** The bytes that decide. */
const sniffedBytes = 4096

const looksLikeText = (body: Uint8Array): boolean => {
  const begin = body.subarray(0, sniffedBytes)
  if (begin.includes(0)) return false
  const read = new TextDecoder().decode(begin)
  return !read.slice(0, -1).includes("\ufffd")
}
