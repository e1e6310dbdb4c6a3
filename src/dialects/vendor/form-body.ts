/** Forms (`multipart/form-data`, RFC 7578) for vendors. */

import { randomUUID } from "node:crypto"
import type { MediaBody, NamedFile } from "../../media/media-file.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import type { WireRequest } from "../wire.ts"

export type FormPart = readonly [name: string, value: string | number | NamedFile | undefined]

/** A request with a form; parts without a value are left out. */
export const formRequest = (path: string, parts: ReadonlyArray<FormPart>): WireRequest<MediaBody> => {
  const boundary = `weir-${randomUUID()}`
  const body = parts.flatMap(([name, value]) => (value === undefined ? [] : partOf(boundary, name, value)))
  return {
    path,
    headers: { accept: "application/json", "content-type": `multipart/form-data; boundary=${boundary}` },
    body: [...body, `--${boundary}--\r\n`],
  }
}

const partOf = (boundary: string, name: string, value: string | number | NamedFile): MediaBody => {
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"`
  if (typeof value !== "object") return [`${head}\r\n\r\n${value}\r\n`]
  const { file, mime, name: filename } = value
  return [`${head}; filename="${quoted(filename ?? fileName(mime))}"\r\ncontent-type: ${mime}\r\n\r\n`, file, "\r\n"]
}

/** Vendors recognise formats by the ending of a file's name. */
const fileName = (mime: string): string =>
  `file.${entryOf(endings, mime) ?? mime.split("/")[1]?.replace(/^x-/, "") ?? "bin"}`

const endings: Readonly<Record<string, string>> = { "audio/mpeg": "mp3", "image/jpeg": "jpg", "audio/mp4": "m4a" }

/** Escapes a name like browsers do. */
const quoted = (text: string): string => text.replaceAll("\r", "%0D").replaceAll("\n", "%0A").replaceAll('"', "%22")
