/**
 * Pictures and documents in Converse: as data, by a short name of their format.
 * Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html
 */

import {
  everyBlock,
  type FileBlock,
  type ImageBlock,
  type MediaBlock,
  type Message,
  type VideoBlock,
} from "../../protocol/block.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import { lacks } from "../vendor/extras.ts"
import { isKeptElsewhere, keptElsewhere } from "../vendor/kept-files.ts"
import type { EncodeRefusal } from "../wire.ts"

const imageFormats: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
}

const documentFormats: Readonly<Record<string, string>> = {
  "application/pdf": "pdf",
  "application/msword": "doc",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.ms-excel": "xls",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "text/csv": "csv",
  "text/html": "html",
  "text/markdown": "md",
}

const documentFormat = (mime: string): string | undefined =>
  entryOf(documentFormats, mime) ?? (mime.startsWith("text/") ? "txt" : undefined)

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_VideoBlock.html */
const videoFormats: Readonly<Record<string, string>> = {
  "video/mp4": "mp4",
  "video/quicktime": "mov",
  "video/x-matroska": "mkv",
  "video/webm": "webm",
  "video/x-flv": "flv",
  "video/mpeg": "mpeg",
  "video/mpg": "mpg",
  "video/x-ms-wmv": "wmv",
  "video/3gpp": "three_gp",
}

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_AudioBlock.html */
const audioFormats: Readonly<Record<string, string>> = {
  "audio/aac": "aac",
  "audio/flac": "flac",
  "audio/m4a": "m4a",
  "audio/mpeg": "mp3",
  "audio/mp4": "mp4",
  "audio/ogg": "ogg",
  "audio/opus": "opus",
  "audio/pcm": "pcm",
  "audio/wav": "wav",
  "audio/webm": "webm",
}

/** The type of a short name. */
const typeIn =
  (formats: Readonly<Record<string, string>>) =>
  (format: string): string | undefined =>
    Object.keys(formats).find((mime) => formats[mime] === format)

export const mimeOfImage = typeIn(imageFormats)
export const mimeOfDocument = typeIn({ ...documentFormats, "text/plain": "txt" })
export const mimeOfVideo = typeIn(videoFormats)
export const mimeOfAudio = typeIn(audioFormats)

const formatOf = ({ t, mime }: MediaBlock): string | undefined =>
  t === "image" ? entryOf(imageFormats, mime) : t === "video" ? entryOf(videoFormats, mime) : documentFormat(mime)

/** The media that Converse cannot express: addresses, and other formats. */
export const fileRefusal = (thread: ReadonlyArray<Message>): EncodeRefusal | undefined => {
  for (const block of everyBlock(thread)) {
    if (block.t === "audio") return lacks("audio")
    if (block.t !== "image" && block.t !== "file" && block.t !== "video") continue
    if (isKeptElsewhere(block, undefined)) return keptElsewhere
    if (block.data === undefined) {
      return { capability: "file_url", message: "this model accepts files as data, not by URL" }
    }
    if (formatOf(block) === undefined) {
      return { capability: "file_type", message: `this model accepts no files of type ${block.mime}` }
    }
  }
  return undefined
}

export const encodeImage = ({ mime, data }: ImageBlock) => ({
  image: { format: entryOf(imageFormats, mime), source: { bytes: data } },
})

export const encodeFile = ({ mime, data, name }: FileBlock) => ({
  document: { format: documentFormat(mime), name: nameOf(name ?? "document"), source: { bytes: data } },
})

export const encodeVideo = ({ mime, data }: VideoBlock) => ({
  video: { format: entryOf(videoFormats, mime), source: { bytes: data } },
})

/** Names have letters, digits, single spaces, hyphens and brackets alone. */
const nameOf = (name: string): string =>
  name
    .replace(/[^a-zA-Z0-9\s\-()[\]]/g, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 190) || "document"
