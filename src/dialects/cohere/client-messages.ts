/** The messages of Cohere's chat as messages of twp/1. Source: https://docs.cohere.com/reference/chat */
import { argumentsIn, detailIn, imageMimeOf, nonEmptyText, sourceOf } from "../client/client-parts.ts"
import { all, carried, type FieldReader, type FieldTable, isAbsent, present, withoutEffect } from "../client/fields.ts"
import type { JsonObject } from "../parse/json.ts"
import { documentIn, documentText } from "./documents.ts"

type Blocks = ReadonlyArray<JsonObject>

const assistantFields: FieldTable = {
  ...all(carried, "role", "content", "tool_calls", "tool_plan"),
  citations: withoutEffect("it repeats what the reply said"),
}

/** A message without content says nothing to a model. */
export const messageOf = (reader: FieldReader, message: JsonObject, path: string): Blocks => {
  const { role } = message
  const blocks = blocksOf(reader, message, path)
  return blocks.length === 0 ? [] : [{ role, blocks }]
}

const blocksOf = (reader: FieldReader, message: JsonObject, path: string): Blocks => {
  const { content } = message
  switch (message["role"]) {
    case "system":
      reader.check(all(carried, "role", "content"), message, path)
      return partsOf(reader, content, `${path}.content`, textOnly)
    case "user":
      reader.check(all(carried, "role", "content"), message, path)
      return partsOf(reader, content, `${path}.content`, userPart)
    case "assistant":
      return assistantOf(reader, message, path)
    case "tool":
      reader.check(all(carried, "role", "content", "tool_call_id"), message, path)
      return [resultOf(reader, message, path)]
    default:
      reader.refuse(`${path}.role`, "must be system, user, assistant or tool")
      return []
  }
}

type Part = (reader: FieldReader, part: JsonObject, path: string) => Blocks | undefined

/** Content is a text or a list of parts. */
const partsOf = (reader: FieldReader, content: unknown, path: string, ...parts: ReadonlyArray<Part>): Blocks => {
  if (isAbsent(content)) return []
  if (typeof content === "string") return nonEmptyText(content)
  return reader.list(content, path).flatMap((item, index) => {
    const at = `${path}.${index}`
    const part = reader.object(item, at)
    for (const read of parts) {
      const blocks = read(reader, part, at)
      if (blocks !== undefined) return blocks
    }
    reader.refuse(`${at}.type`, "is no part that this message may have")
    return []
  })
}

const textOnly: Part = (reader, part, path) => {
  if (part["type"] !== "text") return undefined
  return nonEmptyText(reader.string(reader.checked(all(carried, "type", "text"), part, path)["text"], `${path}.text`))
}

const userPart: Part = (reader, part, path) => {
  if (part["type"] !== "image_url") return textOnly(reader, part, path)
  const { image_url: image } = reader.checked(all(carried, "type", "image_url"), part, path)
  const at = `${path}.image_url`
  const { url, detail } = typeof image === "string" ? { url: image } : reader.checked(imageFields, image, at)
  const address = reader.string(url, `${at}.url`)
  return [present({ t: "image", ...sourceOf(address, imageMimeOf(address)), detail: detailIn(reader, detail, at) })]
}

const imageFields = all(carried, "url", "detail")

const thought: Part = (reader, part, path) => {
  if (part["type"] !== "thinking") return undefined
  const { thinking } = reader.checked(all(carried, "type", "thinking"), part, path)
  return reasoning(reader, thinking, `${path}.thinking`)
}

const reasoning = (reader: FieldReader, value: unknown, path: string): Blocks => {
  const v = isAbsent(value) ? "" : reader.string(value, path)
  return v === "" ? [] : [{ t: "reasoning", v }]
}

const assistantOf = (reader: FieldReader, message: JsonObject, path: string): Blocks => {
  reader.check(assistantFields, message, path)
  return [
    ...reasoning(reader, message["tool_plan"], `${path}.tool_plan`),
    ...partsOf(reader, message["content"], `${path}.content`, thought, textOnly),
    ...reader
      .optionalList(message["tool_calls"], `${path}.tool_calls`)
      .map((call, index) => callOf(reader, call, `${path}.tool_calls.${index}`)),
  ]
}

const callOf = (reader: FieldReader, value: unknown, path: string): JsonObject => {
  const { id, function: fn } = reader.checked(all(carried, "id", "type", "function"), value, path)
  const { name, arguments: text } = reader.checked(all(carried, "name", "arguments"), fn, `${path}.function`)
  const at = `${path}.function.arguments`
  // A call without arguments has the text `null` in some replies.
  const input = isAbsent(text) || text === "null" ? {} : argumentsIn(reader, text, at)
  return {
    t: "tool_call",
    id: reader.string(id, `${path}.id`),
    name: reader.string(name, `${path}.function.name`),
    input,
  }
}

const resultOf = (reader: FieldReader, message: JsonObject, path: string): JsonObject => {
  const { tool_call_id: id, content } = message
  const said = partsOf(reader, content, `${path}.content`, textOnly, documentPart)
  return {
    t: "tool_result",
    id: reader.string(id, `${path}.tool_call_id`),
    v: said.map(({ v }) => v).join("\n"),
  }
}

const documentPart: Part = (reader, part, path) => {
  if (part["type"] !== "document") return undefined
  const { document } = reader.checked(all(carried, "type", "document"), part, path)
  const { id, data } = documentIn(reader, document, `${path}.document`)
  const text = documentText(data)
  return nonEmptyText(isAbsent(id) ? text : JSON.stringify({ id, data }))
}
