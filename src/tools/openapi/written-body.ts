/** The body of a request, of a call's arguments. */
import { randomUUID } from "node:crypto"
import { isObject, type JsonObject } from "../../dialects/parse/json.ts"
import type { OperationBody } from "./operation.ts"
import { own, pairsOf, textOf } from "./values.ts"

/** A fault of one argument. */
export interface ArgumentProblem {
  readonly argument: string
  readonly message: string
}

export interface WrittenBody {
  readonly contentType: string
  readonly content: string | Uint8Array
}

/** @returns undefined if there is no body, or it has faults */
export const writeBody = (
  body: OperationBody | undefined,
  args: JsonObject,
  problems: Array<ArgumentProblem>,
): WrittenBody | undefined => {
  if (body === undefined) return undefined
  if (body.argument !== undefined) {
    const value = own(args, body.argument)
    if (value !== undefined) return written(body, value, problems)
    if (body.isRequired) problems.push({ argument: body.argument, message: "it is missing" })
    return undefined
  }
  const given = body.properties.filter((name) => own(args, name) !== undefined)
  if (given.length === 0 && !body.isRequired) return undefined
  return written(body, Object.fromEntries(given.map((name) => [name, args[name]])), problems)
}

const written = (body: OperationBody, value: unknown, problems: Array<ArgumentProblem>): WrittenBody | undefined => {
  const { argument = "", form, contentType, styles } = body
  const refuse = (message: string): undefined => {
    problems.push({ argument, message })
  }
  if (form === "json") return { contentType, content: JSON.stringify(value) }
  if (form === "text") return typeof value === "string" ? { contentType, content: value } : refuse("it is no text")
  if (form === "binary") {
    const content = bytesOf(value)
    return content === undefined ? refuse("it is no base64") : { contentType, content }
  }
  if (!isObject(value)) return refuse("it is no object")
  return form === "multipart" ? partsOf(body, value, problems) : { contentType, content: formOf(value, styles) }
}

/** Fields that are objects are JSON, unless the document gives their style. */
const formOf = (fields: JsonObject, styles: OperationBody["styles"]): string =>
  Object.entries(fields)
    .flatMap(([name, value]) => {
      const style = Object.hasOwn(styles, name) ? styles[name] : undefined
      if (style !== undefined) return pairsOf(name, style, value)
      return pairsOf(name, { style: "form", explode: true }, isObject(value) ? JSON.stringify(value) : value)
    })
    .join("&")

/** @see https://www.rfc-editor.org/rfc/rfc7578 */
const partsOf = (
  { files }: OperationBody,
  fields: JsonObject,
  problems: Array<ArgumentProblem>,
): WrittenBody | undefined => {
  const boundary = `weir-${randomUUID()}`
  const parts: Array<Buffer> = []
  for (const [name, value] of Object.entries(fields)) {
    const mediaType = Object.hasOwn(files, name) ? files[name] : undefined
    for (const each of Array.isArray(value) ? value : [value]) {
      const content = mediaType === undefined ? Buffer.from(textOf(each)) : bytesOf(each)
      if (content === undefined) {
        problems.push({ argument: name, message: "it is no base64" })
        return undefined
      }
      parts.push(Buffer.from(`--${boundary}\r\n${headOf(name, mediaType, each)}\r\n\r\n`), content, lineEnd)
    }
  }
  const content = Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)])
  return { contentType: `multipart/form-data; boundary=${boundary}`, content }
}

const lineEnd = Buffer.from("\r\n")

const headOf = (name: string, mediaType: string | undefined, value: unknown): string => {
  const field = name.replace(/["\r\n]/g, (char) => encodeURIComponent(char))
  const disposition = `content-disposition: form-data; name="${field}"`
  if (mediaType !== undefined) {
    const type = /^[\w.+-]+\/[\w.+*-]+$/.test(mediaType) ? mediaType : "application/octet-stream"
    return `${disposition}; filename="${field}"\r\ncontent-type: ${type}`
  }
  return isObject(value) ? `${disposition}\r\ncontent-type: application/json` : disposition
}

const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/

const bytesOf = (value: unknown): Buffer | undefined =>
  typeof value === "string" && base64.test(value) ? Buffer.from(value, "base64") : undefined
