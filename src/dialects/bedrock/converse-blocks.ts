/** The content of Converse towards clients: blocks become those of twp/1. */
import { lifeOf, marked, nonEmptyText, textBlock } from "../client/client-parts.ts"
import { all, carried, type FieldReader, isAbsent, present, refused } from "../client/fields.ts"
import type { JsonObject } from "../parse/json.ts"
import { resultOf } from "../vendor/results.ts"
import { mediaReaders } from "./converse-media.ts"
import { type MemberReaders, readMember } from "./converse-members.ts"

export const blocksIn = (
  reader: FieldReader,
  content: ReadonlyArray<unknown>,
  path: string,
): ReadonlyArray<JsonObject> => {
  const blocks: Array<JsonObject> = []
  for (const [index, item] of content.entries()) {
    const at = `${path}.${index}`
    const block = reader.object(item, at)
    if (isCachePoint(block)) markLast(reader, blocks, block, at)
    else blocks.push(...placedAt(reader, readMember(reader, blockReaders, block, at) ?? [], block, at))
  }
  return blocks
}

const placedAt = (reader: FieldReader, read: ReadonlyArray<JsonObject>, block: JsonObject, path: string) => {
  const kind = Object.keys(block).find((name) => !isAbsent(block[name]))
  return read.map((each) => reader.placed(each, `${path}.${kind}`))
}

/** Whether a block or a tool is a cache point alone: another member beside it would be lost. */
export const isCachePoint = (block: JsonObject): boolean =>
  !isAbsent(block["cachePoint"]) && Object.keys(block).every((name) => name === "cachePoint" || isAbsent(block[name]))

/** A cache point marks the block or the tool before it. */
export const markLast = (
  reader: FieldReader,
  before: Array<JsonObject>,
  { cachePoint }: JsonObject,
  path: string,
): void => {
  const at = `${path}.cachePoint`
  const { type } = reader.object(cachePoint, at)
  reader.word({ default: true }, type, `${at}.type`)
  const life = lifeOf(reader, cachePoint, at)
  const last = before.pop()
  if (last !== undefined) before.push(reader.copied(marked(last, life), last))
}

type Read = MemberReaders<ReadonlyArray<JsonObject>>[string]

const reasoningOf: Read = (reader, value, path) =>
  readMember(reader, reasoningReaders, reader.object(value, path), path) ?? []

const reasoningReaders: MemberReaders<ReadonlyArray<JsonObject>> = {
  reasoningText: (reader, value, path) => {
    const said = reader.checked(all(carried, "text", "signature"), value, path)
    // Reasoning of other vendors goes out with an empty signature.
    const v = reader.string(said["text"], `${path}.text`)
    return [present({ t: "reasoning", v, signature: said["signature"] || null })]
  },
  // A blob in base64; it contains the text that Claude's own API has.
  redactedContent: (reader, value, path) => {
    const v = Buffer.from(reader.string(value, path), "base64").toString("utf8")
    return [{ t: "reasoning", v, redacted: true }]
  },
}

/** Tools that AWS runs have a type. */
const typed = refused("tools that a vendor runs are not available")

const callOf: Read = (reader, value, path) => {
  const fields = { ...all(carried, "toolUseId", "name", "input"), type: typed }
  const { toolUseId, name, input } = reader.checked(fields, value, path)
  return [{ t: "tool_call", id: toolUseId, name, input: isAbsent(input) ? {} : reader.exactly(input, `${path}.input`) }]
}

const resultIn: Read = (reader, value, path) => {
  const fields = { ...all(carried, "toolUseId", "content", "status"), type: typed }
  const { toolUseId, content, status } = reader.checked(fields, value, path)
  const listed = reader.optionalList(content, `${path}.content`).map((item, index) => {
    const at = `${path}.content.${index}`
    return { at, part: reader.object(item, at) }
  })
  const parts = listed.flatMap(({ at, part }) => readMember(reader, resultReaders, part, at) ?? [])
  const isError = reader.word({ success: false, error: true }, status, `${path}.status`) === true
  const result = { t: "tool_result", id: toolUseId, ...resultOf(parts), ...(isError && { isError }) }
  const [only, ...more] = listed
  const isJson = only !== undefined && more.length === 0 && "json" in only.part
  return [isJson ? reader.exactly(result, `${only.at}.json`) : result]
}

/** The text of a part that its writer repeats, such as a cited text; the citations say nothing new. */
const citedOf: Read = (reader, value, path) => {
  const { content } = reader.checked(all(carried, "content", "citations"), value, path)
  const texts = reader.optionalList(content, `${path}.content`).map((item, index) => {
    const at = `${path}.content.${index}`
    return reader.string(reader.object(item, at)["text"], `${at}.text`)
  })
  return nonEmptyText(texts.join(""))
}

const textOf: Read = (reader, value, path) => nonEmptyText(reader.string(value, path))

const guardedOf: Read = (reader, value, path) =>
  readMember(reader, guardedReaders, reader.object(value, path), path) ?? []

const guardedReaders: MemberReaders<ReadonlyArray<JsonObject>> = {
  text: (reader, value, path) =>
    textOf(reader, reader.checked(all(carried, "text", "qualifiers"), value, path)["text"], `${path}.text`),
  image: mediaReaders.image,
}

const resultReaders: MemberReaders<ReadonlyArray<JsonObject>> = {
  text: textOf,
  json: (_, value) => [textBlock(JSON.stringify(value))],
  image: mediaReaders.image,
  document: mediaReaders.document,
}

const blockReaders: MemberReaders<ReadonlyArray<JsonObject>> = {
  text: textOf,
  ...mediaReaders,
  toolUse: callOf,
  toolResult: resultIn,
  reasoningContent: reasoningOf,
  citationsContent: citedOf,
  guardContent: guardedOf,
  cachePoint: (reader, _, path) => {
    reader.refuse(path, "must be the only member of its block")
    return []
  },
}
