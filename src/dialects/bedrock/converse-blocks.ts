/** The content of Converse towards clients: blocks become those of twp/1. */
import { entryOf } from "../../protocol/values/entry.ts"
import { lifeOf, marked, nonEmptyText, textBlock } from "../client/client-parts.ts"
import { all, carried, type FieldReader, isAbsent, present } from "../client/fields.ts"
import type { JsonObject } from "../parse/json.ts"
import { resultOf } from "../vendor/results.ts"
import { mimeOfDocument, mimeOfImage, mimeOfVideo } from "./attachments.ts"

export const blocksIn = (
  reader: FieldReader,
  content: ReadonlyArray<unknown>,
  path: string,
): ReadonlyArray<JsonObject> => {
  const blocks: Array<JsonObject> = []
  for (const [index, item] of content.entries()) {
    const at = `${path}.${index}`
    const block = reader.object(item, at)
    if (!marksLast(reader, blocks, block, at)) blocks.push(...blockOf(reader, block, at))
  }
  return blocks
}

/** A cache point marks the block or the tool before it. @returns false if it is none */
export const marksLast = (
  reader: FieldReader,
  before: Array<JsonObject>,
  { cachePoint }: JsonObject,
  path: string,
): boolean => {
  if (isAbsent(cachePoint)) return false
  const life = lifeOf(reader, cachePoint, `${path}.cachePoint`)
  const last = before.pop()
  if (last !== undefined) before.push(marked(last, life))
  return true
}

type Read = (reader: FieldReader, value: unknown, path: string) => ReadonlyArray<JsonObject>

const reasoningOf: Read = (reader, value, path) => {
  const content = reader.checked(all(carried, "reasoningText", "redactedContent"), value, path)
  const { redactedContent: sealed } = content
  if (!isAbsent(sealed))
    return [{ t: "reasoning", v: reader.string(sealed, `${path}.redactedContent`), redacted: true }]
  const said = reader.checked(all(carried, "text", "signature"), content["reasoningText"], `${path}.reasoningText`)
  // Reasoning of other vendors goes out with an empty signature.
  return [present({ t: "reasoning", v: said["text"], signature: said["signature"] || null })]
}

/** Documents and pictures as data; other places are AWS's own. */
const mediaOf =
  (t: "image" | "file" | "video", mimeOf: (format: string) => string | undefined): Read =>
  (reader, value, path) => {
    const media = reader.checked(all(carried, "format", "name", "source", "context", "citations"), value, path)
    const mime = mimeOf(reader.string(media["format"], `${path}.format`))
    if (mime === undefined) reader.refuse(`${path}.format`, "is not a format of the API")
    const source = reader.checked(all(carried, "bytes", "text"), media["source"], `${path}.source`)
    const data = isAbsent(source["text"])
      ? reader.string(source["bytes"], `${path}.source.bytes`)
      : Buffer.from(reader.string(source["text"], `${path}.source.text`)).toString("base64")
    return [present({ t, mime, data, name: t === "file" ? media["name"] : undefined })]
  }

const callOf: Read = (reader, value, path) => {
  const { toolUseId, name, input } = reader.checked(all(carried, "toolUseId", "name", "input", "type"), value, path)
  return [{ t: "tool_call", id: toolUseId, name, input: isAbsent(input) ? {} : input }]
}

const resultIn: Read = (reader, value, path) => {
  const fields = all(carried, "toolUseId", "content", "status", "type")
  const { toolUseId, content, status } = reader.checked(fields, value, path)
  const parts = reader.optionalList(content, `${path}.content`).flatMap((item, index) => {
    const at = `${path}.content.${index}`
    const part = reader.object(item, at)
    return "json" in part ? [textBlock(JSON.stringify(part["json"]))] : blockOf(reader, part, at)
  })
  return [{ t: "tool_result", id: toolUseId, ...resultOf(parts), ...(status === "error" && { isError: true }) }]
}

const guardedOf: Read = (reader, value, path) => {
  const { text } = reader.checked(all(carried, "text"), value, path)
  const { text: said } = reader.object(text, `${path}.text`)
  return nonEmptyText(reader.string(said, `${path}.text.text`))
}

const readers: Readonly<Record<string, Read>> = {
  text: (reader, value, path) => nonEmptyText(reader.string(value, path)),
  image: mediaOf("image", mimeOfImage),
  document: mediaOf("file", mimeOfDocument),
  video: mediaOf("video", mimeOfVideo),
  toolUse: callOf,
  toolResult: resultIn,
  reasoningContent: reasoningOf,
  guardContent: guardedOf,
}

/** A block has one member, which names its kind. */
const blockOf = (reader: FieldReader, block: JsonObject, path: string): ReadonlyArray<JsonObject> => {
  const [kind = "", ...more] = Object.keys(block)
  const read = entryOf(readers, kind)
  if (read === undefined || more.length > 0) {
    reader.refuse(path, `must have one member of ${Object.keys(readers).join(", ")}, cachePoint`)
    return []
  }
  return read(reader, block[kind], `${path}.${kind}`)
}
