/** The type of a file: SDKs often send it as bytes without a type. */
import { extname } from "node:path"
import { Effect } from "effect"
import type { NamedFile } from "../../../media/media-file.ts"
import { typeOfBytes } from "../../../media/type-of-bytes.ts"

/** Texts have no mark at their beginning. Source: https://www.iana.org/assignments/media-types */
const textTypes: Readonly<Record<string, string>> = {
  ".txt": "text/plain",
  ".md": "text/markdown",
  ".csv": "text/csv",
  ".html": "text/html",
  ".xml": "text/xml",
  ".json": "application/json",
  ".jsonl": "application/jsonl",
}

const unknownType = "application/octet-stream"

/** The type that its client names; otherwise that of its content, or of the end of its name. */
export const typeOfFile = ({ mime, name = "", file }: NamedFile): Effect.Effect<string> => {
  if (mime !== "" && mime !== unknownType) return Effect.succeed(mime)
  return Effect.map(typeOfBytes(file), (type) => type?.mime ?? textTypes[extname(name).toLowerCase()] ?? unknownType)
}
