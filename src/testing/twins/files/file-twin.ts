/**
 * Twins of vendors' APIs for files: they take, name and erase files as the vendors do, and refuse what those refuse. Sources:
 * https://platform.openai.com/docs/api-reference/files, https://docs.anthropic.com/en/api/files-create,
 * https://ai.google.dev/api/files
 *
 * **Example**
 *
 * ```ts
 * const files = openaiFilesTwin()
 * const vendor = yield* startScriptedVendor((call) => (files.answers(call) ? undefined : serveTwin(chatTwin, repeating)(call)))
 * ```
 */
import { randomBytes } from "node:crypto"
import { writeJson } from "../../../protocol/json/json-text.ts"
import type { VendorCall } from "../../scripted-vendor.ts"

/** A file that a twin keeps. */
export interface TwinFile {
  readonly id: string
  readonly name: string
  readonly mime: string
  readonly content: Buffer
}

export interface FilesTwin {
  /** Answers a request of the API for files. @returns whether it is one */
  readonly answers: (call: VendorCall) => boolean
  /** The files that it keeps, by their ids. */
  readonly files: Map<string, TwinFile>
  /** The number of uploads that it has taken. */
  readonly uploads: () => number
}

/** An API's own words. */
export interface FileWords {
  /** The upload in a request; undefined if it is none. */
  readonly upload: (call: VendorCall) => TwinUpload | undefined
  /** The id of the file that a request erases; undefined if it erases none. */
  readonly erased: (call: VendorCall) => string | undefined
  readonly newId: () => string
  readonly object: (file: TwinFile) => object
  readonly deleted: (id: string) => object
  readonly notFound: (id: string) => { readonly status: number; readonly body: object }
}

export type TwinUpload =
  | { readonly refused: { readonly status: number; readonly body: object } }
  /** A step before the file itself. */
  | { readonly headers: Record<string, string> }
  | { readonly file: Omit<TwinFile, "id"> }

export const makeFilesTwin = (words: FileWords): FilesTwin => {
  const files = new Map<string, TwinFile>()
  let uploads = 0
  const send = (call: VendorCall, status: number, body: object, headers: Record<string, string> = {}) => {
    call.head(status, { "content-type": "application/json", ...headers })
    call.end(writeJson(body))
    return true
  }
  return {
    files,
    uploads: () => uploads,
    answers: (call) => {
      const upload = words.upload(call)
      if (upload !== undefined) {
        if ("refused" in upload) return send(call, upload.refused.status, upload.refused.body)
        if ("headers" in upload) return send(call, 200, {}, upload.headers)
        const file = { id: words.newId(), ...upload.file }
        files.set(file.id, file)
        uploads++
        return send(call, 200, words.object(file))
      }
      const id = words.erased(call)
      if (id === undefined) return false
      if (files.delete(id)) return send(call, 200, words.deleted(id))
      const { status, body } = words.notFound(id)
      return send(call, status, body)
    },
  }
}

/** Letters and digits that no other id has. */
export const newTwinId = (): string => randomBytes(12).toString("hex")

/** The parts of a form, as vendors read it. */
export const partsOfForm = ({ headers, sent }: VendorCall): ReadonlyMap<string, FormValue> => {
  const boundary = /boundary=([^;]+)/.exec(String(headers["content-type"]))?.[1] ?? ""
  const parts = new Map<string, FormValue>()
  // Each byte is one character.
  for (const part of sent.toString("latin1").split(`--${boundary}`).slice(1, -1)) {
    const end = part.indexOf("\r\n\r\n")
    const head = part.slice(0, end)
    const name = /[; ]name="([^"]*)"/.exec(head)?.[1]
    if (name === undefined) continue
    parts.set(name, {
      name: /filename="([^"]*)"/.exec(head)?.[1],
      mime: /content-type: *([^\r\n]+)/i.exec(head)?.[1] ?? "",
      content: Buffer.from(part.slice(end + 4, -2), "latin1"),
    })
  }
  return parts
}

export interface FormValue {
  /** Present if it is a file. */
  readonly name: string | undefined
  readonly mime: string
  readonly content: Buffer
}
