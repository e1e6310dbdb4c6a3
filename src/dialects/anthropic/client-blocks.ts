/** The messages of an Anthropic request as messages of twp/1. */
import type { Cacheable } from "../../protocol/block.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import {
  imageMimeOf,
  marked,
  markOf,
  nonEmptyText,
  plainBase64,
  textBlock,
  markFields as usualMarkFields,
} from "../client/client-parts.ts"
import {
  all,
  carried,
  type FieldReader,
  type FieldTable,
  isAbsent,
  own,
  present,
  withoutEffect,
} from "../client/fields.ts"
import { isObject, type JsonObject, objectsAt, stringAt } from "../parse/json.ts"
import { markWithin, resultOf } from "../vendor/results.ts"
import type { ServersInRequest } from "../vendor/server-tools.ts"
import { signatureFor } from "../vendor/signature.ts"
import { isAnthropicOwn, sealedBlock } from "../vendor/vendor-blocks.ts"
import { isForeignCitation } from "./citations.ts"

const textFields: FieldTable = {
  ...all(carried, "type", "text", "cache_control"),
  citations: withoutEffect("it repeats what the reply said"),
}

const blockFields: Readonly<Record<string, FieldTable>> = {
  text: textFields,
  image: all(carried, "type", "source", "cache_control"),
  document: {
    ...all(carried, "type", "source", "title", "cache_control"),
    context: own(),
    citations: own({ enabled: false }),
  },
  thinking: all(carried, "type", "thinking", "signature"),
  redacted_thinking: all(carried, "type", "data"),
  tool_use: {
    ...all(carried, "type", "id", "name", "input", "cache_control"),
    caller: own({ type: "direct" }),
    toolset_id: own(),
  },
  tool_addition: all(carried, "type", "tool", "cache_control"),
  tool_result: {
    ...all(carried, "type", "tool_use_id", "content", "is_error", "cache_control"),
    toolset_id: own(),
  },
}

export const markFields: FieldTable = {
  ...usualMarkFields,
  scope: withoutEffect("prefixes are kept for one account"),
}

const sourceFields: Readonly<Record<string, FieldTable>> = {
  base64: all(carried, "type", "media_type", "data"),
  text: all(carried, "type", "media_type", "data"),
  url: all(carried, "type", "url"),
  file: all(carried, "type", "file_id"),
}

export const messageOf = (
  reader: FieldReader,
  message: JsonObject,
  path: string,
  servers: ServersInRequest,
): ReadonlyArray<JsonObject> => {
  reader.check(all(carried, "role", "content"), message, path)
  const { role, content } = message
  if (role !== "user" && role !== "assistant" && role !== "system") {
    reader.refuse(`${path}.role`, "must be user or assistant")
  }
  const blocks =
    typeof content === "string"
      ? nonEmptyText(content)
      : reader.list(content, `${path}.content`).flatMap((block, index) => {
          const at = `${path}.content.${index}`
          const sent = reader.object(block, at)
          const read = callAtServer(servers, sent) ?? blockOf(reader, sent, at)
          return read.map((each) => reader.placed(each, at))
        })
  return blocks.length === 0 ? [] : reader.placedMessages([{ role, blocks }], path)
}

/** A call of a server's tool that the gateway has made, or its result; undefined if it is another block. */
const callAtServer = (servers: ServersInRequest, block: JsonObject): ReadonlyArray<JsonObject> | undefined => {
  const { type, id, name, server_name: label, input } = block
  if (type === "mcp_tool_use") {
    const named = servers.nameOf(label, name)
    if (named === undefined) return undefined
    servers.made.add(id)
    return [{ t: "tool_call", id, name: named, input: isObject(input) ? input : {} }]
  }
  const { tool_use_id: of } = block
  if (type !== "mcp_tool_result" || !servers.made.has(of)) return undefined
  const v = objectsAt(block, "content")
    .map((part) => stringAt(part, "text") ?? "")
    .join("\n")
  return [{ t: "tool_result", id: of, v, ...(block["is_error"] === true && { isError: true }) }]
}

const markIn = (reader: FieldReader, block: JsonObject, path: string): Cacheable =>
  markOf(reader, block, path, markFields)

const blockOf = (reader: FieldReader, block: JsonObject, path: string): ReadonlyArray<JsonObject> => {
  const { type } = block
  if (isAnthropicOwn(type)) return [reader.exactly(sealedBlock("anthropic", block), path)]
  const fields = typeof type === "string" && Object.hasOwn(blockFields, type) ? blockFields[type] : undefined
  if (fields === undefined) {
    reader.lacks(`${path}.type`, `must be one of ${Object.keys(blockFields).join(", ")}`)
    return [sealedBlock("anthropic", block)]
  }
  reader.check(fields, block, path)
  const cacheable = markIn(reader, block, path)
  switch (type) {
    case "text":
      if (objectsAt(block, "citations").some(isForeignCitation)) reader.foreign.push(`${path}.citations`)
      return [textBlock(reader.string(block["text"], `${path}.text`), cacheable)]
    case "image":
      return [
        marked({ t: "image", mime: "image/png", ...sourceOf(reader, block["source"], `${path}.source`) }, cacheable),
      ]
    case "document":
      return [
        marked(
          present({
            t: "file",
            mime: "application/pdf",
            ...sourceOf(reader, block["source"], `${path}.source`),
            name: block["title"],
          }),
          cacheable,
        ),
      ]
    case "thinking":
      if (signatureFor("anthropic", stringAt(block, "signature") || undefined) === undefined) reader.foreign.push(path)
      // Reasoning of other vendors goes out with an empty signature.
      return [present({ t: "reasoning", v: block["thinking"], signature: block["signature"] || null })]
    case "redacted_thinking":
      return [{ t: "reasoning", v: block["data"], redacted: true }]
    case "tool_addition":
      return []
    case "tool_use":
      return [
        marked(
          { t: "tool_call", id: block["id"], name: block["name"], input: inputIn(reader, block, path) },
          cacheable,
        ),
      ]
    default:
      return resultIn(reader, block, path, cacheable)
  }
}

const inputIn = (reader: FieldReader, { input }: JsonObject, path: string): unknown =>
  isAbsent(input) ? {} : reader.exactly(input, `${path}.input`)

const resultIn = (
  reader: FieldReader,
  block: JsonObject,
  path: string,
  cacheable: Cacheable,
): ReadonlyArray<JsonObject> => {
  const { content } = block
  const parts = typeof content === "string" ? [] : reader.optionalList(content, `${path}.content`)
  const said: Array<JsonObject> = typeof content === "string" ? [textBlock(content)] : []
  for (const [index, value] of parts.entries()) {
    const at = `${path}.content.${index}`
    const part = reader.object(value, at)
    if (part["type"] === "text")
      said.push(textBlock(reader.string(part["text"], `${at}.text`), markIn(reader, part, at)))
    else if (part["type"] === "image" || part["type"] === "document") said.push(...blockOf(reader, part, at))
    // All tools are given at once: a reference says which of them was found.
    else if (part["type"] === "tool_reference") {
      said.push(textBlock(reader.string(part["tool_name"], `${at}.tool_name`)))
    } else {
      reader.lacks(`${at}.type`, "must be text, image, document or tool_reference")
      said.push(textBlock(JSON.stringify(part)))
    }
  }
  const result = {
    t: "tool_result",
    id: block["tool_use_id"],
    ...resultOf(said),
    ...(block["is_error"] === true && { isError: true }),
  }
  return [marked({ ...markWithin(said), ...result }, cacheable)]
}

const sourceOf = (reader: FieldReader, value: unknown, path: string): JsonObject => {
  const source = reader.object(value, path)
  const fields = entryOf(sourceFields, stringAt(source, "type"))
  if (fields !== undefined) reader.check(fields, source, path)
  switch (source["type"]) {
    case "base64":
      return { mime: source["media_type"], data: plainBase64(source["data"]) }
    case "url": {
      const url = reader.string(source["url"], `${path}.url`)
      return { mime: /\.pdf(?:[?#]|$)/i.test(url) ? "application/pdf" : imageMimeOf(url), url }
    }
    case "text":
      return { mime: "text/plain", data: Buffer.from(reader.string(source["data"], `${path}.data`)).toString("base64") }
    case "file":
      return { kept: { dialect: "anthropic", id: source["file_id"] } }
    default:
      reader.lacks(`${path}.type`, "must be base64, url, text or file")
      return { mime: "text/plain", data: Buffer.from(JSON.stringify(source)).toString("base64") }
  }
}

export const textsOf = (reader: FieldReader, value: unknown, path: string): ReadonlyArray<JsonObject> => {
  if (typeof value === "string") return nonEmptyText(value)
  return reader.list(value, path).map((item, index) => {
    const block = reader.object(item, `${path}.${index}`)
    reader.check(textFields, block, `${path}.${index}`)
    return textBlock(reader.string(block["text"], `${path}.${index}.text`), markIn(reader, block, `${path}.${index}`))
  })
}
