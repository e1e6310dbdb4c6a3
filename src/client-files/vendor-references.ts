/** A vendor's request with references to files that the vendor keeps, in the place of their content. */
import { hash } from "node:crypto"
import { isObject } from "../dialects/parse/json.ts"
import type { SentRequest } from "../dialects/wire.ts"
import { cut, editJson, type JsonEdit, type JsonPath, set } from "../protocol/json/json-edit.ts"
import { anthropicFilesBeta } from "./vendor-file-api.ts"

/** The content of a file as requests have it, in base64. */
export interface Content64 {
  readonly length: number
  readonly sha256: string
}

export const contentOf64 = (base64: string): Content64 => ({ length: base64.length, sha256: hash("sha256", base64) })

/** The files whose content a request has. */
export interface FilesInRequest {
  readonly contents: ReadonlySet<Content64>
  /** The request with the vendor's references to them. */
  readonly named: (references: ReadonlyMap<Content64, string>) => SentRequest
}

/** Finds files in a vendor's request. @returns undefined if it has none of them */
export const filesIn = (
  dialect: string,
  request: SentRequest,
  files: ReadonlyArray<Content64>,
): FilesInRequest | undefined => {
  const { body, headers } = request
  if (typeof body !== "string" && !(body instanceof Uint8Array)) return undefined
  const bytes = typeof body === "string" ? Buffer.from(body) : body
  const json: unknown = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"))
  const known = new Map<string, Content64 | undefined>()
  const contentOf = (base64: string): Content64 | undefined => {
    if (!known.has(base64))
      known.set(
        base64,
        files.find((content) => isSame(content, base64)),
      )
    return known.get(base64)
  }
  const contents = new Set<Content64>()
  editsIn(json, dialect, (base64) => {
    const content = contentOf(base64)
    if (content !== undefined) contents.add(content)
    return content?.sha256
  })
  if (contents.size === 0) return undefined
  return {
    contents,
    named: (references) => {
      const edits = editsIn(json, dialect, (base64) => {
        const content = contentOf(base64)
        return content && references.get(content)
      })
      const betas = dialect === "anthropic" ? { "anthropic-beta": betasWith(headers["anthropic-beta"]) } : {}
      return { ...request, body: editJson(bytes, edits), headers: { ...headers, ...betas } }
    },
  }
}

const isSame = ({ length, sha256 }: Content64, base64: string): boolean =>
  length === base64.length && sha256 === hash("sha256", base64)

/** The reference to a file by its content in base64; undefined if it is none of the files. */
type Find = (base64: string) => string | undefined

const findIn = (find: Find, base64: unknown): string | undefined =>
  typeof base64 === "string" ? find(base64) : undefined

/** The edits of one object. */
type EditsAt = (value: { readonly [key: string]: unknown }, path: JsonPath, find: Find) => ReadonlyArray<JsonEdit>

const editsIn = (json: unknown, dialect: string, find: Find): ReadonlyArray<JsonEdit> => {
  const editsAt = places.get(dialect)
  if (editsAt === undefined) return []
  const edits: Array<JsonEdit> = []
  const walk = (value: unknown, path: JsonPath): void => {
    if (Array.isArray(value)) for (const [at, each] of value.entries()) walk(each, [...path, at])
    if (!isObject(value)) return
    const own = editsAt(value, path, find)
    edits.push(...own)
    if (own.length === 0) for (const [name, each] of Object.entries(value)) walk(each, [...path, name])
  }
  walk(json, [])
  return edits
}

/** The content of `data:TYPE;base64,CONTENT`. */
const dataOf = (url: unknown): string | undefined => {
  const start = typeof url === "string" && url.startsWith("data:") ? url.indexOf(";base64,") : -1
  return typeof url === "string" && start >= 0 ? url.slice(start + ";base64,".length) : undefined
}

const inResponses: EditsAt = ({ type, file_data: data, image_url: picture }, path, find) => {
  const name = type === "input_file" ? "file_data" : "image_url"
  const content = type === "input_file" ? data : type === "input_image" ? picture : undefined
  const id = findIn(find, dataOf(content))
  if (id === undefined) return []
  const rest = type === "input_file" ? [cut(...path, "filename")] : []
  return [cut(...path, name), ...rest, set(id, ...path, "file_id")]
}

/** Pictures have no ids in this API. */
const inChat: EditsAt = ({ type, file }, path, find) => {
  const id = type === "file" && isObject(file) ? findIn(find, dataOf(file["file_data"])) : undefined
  return id === undefined ? [] : [set({ file_id: id }, ...path, "file")]
}

const inMessages: EditsAt = ({ source }, path, find) => {
  const id = isObject(source) && source["type"] === "base64" ? findIn(find, source["data"]) : undefined
  return id === undefined ? [] : [set({ type: "file", file_id: id }, ...path, "source")]
}

const inContents: EditsAt = (value, path, find) => {
  for (const name of ["inlineData", "inline_data"]) {
    const inline = value[name]
    if (!isObject(inline)) continue
    const fileUri = findIn(find, inline["data"])
    const mimeType = inline["mimeType"] ?? inline["mime_type"]
    if (fileUri !== undefined) return [cut(...path, name), set({ mimeType, fileUri }, ...path, "fileData")]
  }
  return []
}

const places: ReadonlyMap<string, EditsAt> = new Map([
  ["openai-chat", inChat],
  ["openai-responses", inResponses],
  ["anthropic", inMessages],
  ["gemini", inContents],
])

const betasWith = (betas: string | undefined): string =>
  betas === undefined || betas === ""
    ? anthropicFilesBeta
    : betas.includes(anthropicFilesBeta)
      ? betas
      : `${betas},${anthropicFilesBeta}`
