/** The items of a request for a response as messages of twp/1. */
import { entryOf } from "../../protocol/values/entry.ts"
import {
  argumentsIn,
  detailIn,
  fileMimeOf,
  imageMimeOf,
  keptFile,
  sourceOf,
  textBlock,
} from "../client/client-parts.ts"
import { all, carried, type FieldReader, type FieldTable, isAbsent, present, withoutEffect } from "../client/fields.ts"
import { isObject, type JsonObject, stringAt } from "../parse/json.ts"
import { soundOf } from "../vendor/openai-sound.ts"
import { resultOf } from "../vendor/results.ts"
import { signatureFor, signatureFromResponses } from "../vendor/signature.ts"
import { isOpenaiOwn, sealedBlock } from "../vendor/vendor-blocks.ts"
import { flatName } from "./client-tools.ts"
import { redactedMark } from "./response-object.ts"

const itemMarks = withoutEffect("it repeats what the reply said")

const itemFields: Readonly<Record<string, FieldTable>> = {
  message: { ...all(carried, "type", "role", "content", "phase"), ...all(itemMarks, "id", "status") },
  function_call: {
    ...all(carried, "type", "call_id", "name", "arguments", "namespace"),
    ...all(itemMarks, "id", "status", "parsed_arguments", "caller"),
  },
  custom_tool_call: {
    ...all(carried, "type", "call_id", "name", "input", "namespace"),
    ...all(itemMarks, "id", "status", "caller"),
  },
  custom_tool_call_output: {
    ...all(carried, "type", "call_id", "output"),
    ...all(itemMarks, "id", "status", "caller"),
  },
  function_call_output: {
    ...all(carried, "type", "call_id", "output"),
    ...all(itemMarks, "id", "status", "caller"),
  },
  reasoning: { ...all(carried, "type", "summary", "encrypted_content"), ...all(itemMarks, "id", "status", "content") },
}

/** Items that define tools. */
const toolItems = new Set(["tool_search_output", "additional_tools"])

interface ThreadMessage extends JsonObject {
  readonly role: unknown
  readonly blocks: ReadonlyArray<JsonObject>
}

/** Items of one reply, and results of its calls, are one message each. */
export const merged = (messages: ReadonlyArray<ThreadMessage>): ReadonlyArray<ThreadMessage> => {
  const thread: Array<ThreadMessage> = []
  for (const message of messages) {
    const last = thread.at(-1)
    if (last === undefined || !joins(last, message)) thread.push(message)
    else thread[thread.length - 1] = joined(last, message)
  }
  return thread
}

const hasResult = ({ blocks }: ThreadMessage): boolean => blocks.some(({ t }) => t === "tool_result")

const joins = (last: ThreadMessage, message: ThreadMessage): boolean =>
  (last.role === "assistant" && message.role === "assistant") || (hasResult(last) && hasResult(message))

const joined = (last: ThreadMessage, message: ThreadMessage): ThreadMessage => ({
  role: last.role === message.role ? last.role : "user",
  blocks: [...last.blocks, ...message.blocks],
})

export const itemOf = (reader: FieldReader, item: JsonObject, path: string): ReadonlyArray<ThreadMessage> => {
  const type = item["type"] ?? "message"
  if (typeof type === "string" && toolItems.has(type)) return []
  if (isOpenaiOwn(type)) {
    return [{ role: "assistant", blocks: [reader.exactly(sealedBlock("openai", item), path)] }]
  }
  const fields = typeof type === "string" && Object.hasOwn(itemFields, type) ? itemFields[type] : undefined
  if (fields === undefined) {
    if (type === "item_reference")
      reader.refuse(
        `${path}.type`,
        "the organisation keeps no responses: send the item itself, as SDKs do with store: false",
      )
    reader.lacks(`${path}.type`, `must be one of ${Object.keys(itemFields).join(", ")}`)
    return [{ role: "assistant", blocks: [sealedBlock("openai", item)] }]
  }
  reader.check(fields, item, path)
  switch (type) {
    case "function_call": {
      const { call_id: id, name, namespace } = item
      const input = argumentsIn(reader, item["arguments"], `${path}.arguments`)
      const full = typeof namespace === "string" ? flatName(namespace, String(name)) : name
      return [{ role: "assistant", blocks: [{ t: "tool_call", id, name: full, input }] }]
    }
    case "custom_tool_call": {
      const { call_id: id, name, namespace, input: text } = item
      const full = typeof namespace === "string" ? flatName(namespace, String(name)) : name
      return [{ role: "assistant", blocks: [{ t: "tool_call", id, name: full, input: {}, text }] }]
    }
    case "custom_tool_call_output":
    case "function_call_output":
      return [resultIn(reader, item, path)]
    case "reasoning":
      return reasoningItem(reader, item, path)
    default:
      return messageOf(reader, item, path)
  }
}

const reasoningItem = (reader: FieldReader, item: JsonObject, path: string): ReadonlyArray<ThreadMessage> => {
  const { id, encrypted_content: sealed } = item
  if (typeof sealed === "string" && sealed.startsWith(redactedMark)) {
    reader.foreign.push(path)
    return [{ role: "assistant", blocks: [{ t: "reasoning", v: sealed.slice(redactedMark.length), redacted: true }] }]
  }
  const parts = reader.optionalList(item["summary"], `${path}.summary`)
  const v = parts.map((part) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : "")).join("\n\n")
  // Unsigned reasoning is of no use to a vendor.
  if (v === "" && isAbsent(sealed)) return []
  const signature = isAbsent(sealed)
    ? undefined
    : signatureFromResponses(reader.string(sealed, `${path}.encrypted_content`), typeof id === "string" ? id : "")
  if (signature !== undefined && signatureFor("openai", signature) === undefined) reader.foreign.push(path)
  return [{ role: "assistant", blocks: [present({ t: "reasoning", v, signature })] }]
}

const messageOf = (reader: FieldReader, item: JsonObject, path: string): ReadonlyArray<ThreadMessage> => {
  const { role, content, phase } = item
  const author = reader.word(
    { user: "user", assistant: "assistant", system: "system", developer: "system" },
    role ?? "",
    `${path}.role`,
  )
  const blocks =
    typeof content === "string"
      ? [textBlock(content)]
      : reader.list(content, `${path}.content`).map((part, index) => {
          const at = `${path}.content.${index}`
          return reader.placed(partOf(reader, reader.object(part, at), at), at)
        })
  if (blocks.length === 0) return []
  const isPhased = author === "assistant" && !isAbsent(phase)
  return [{ role: author, blocks: isPhased ? blocks.map((block) => withPhase(block, phase)) : blocks }]
}

const withPhase = (block: JsonObject, phase: unknown): JsonObject =>
  block["t"] === "text" ? { ...block, phase } : block

const textFields: FieldTable = {
  ...all(carried, "type", "text"),
  ...all(itemMarks, "annotations", "logprobs", "parsed"),
  prompt_cache_breakpoint: withoutEffect("prefixes are kept without breakpoints"),
}

const partFields: Readonly<Record<string, FieldTable>> = {
  input_text: textFields,
  output_text: textFields,
  text: textFields,
  refusal: all(carried, "type", "refusal"),
  input_image: all(carried, "type", "image_url", "file_id", "detail"),
  input_file: {
    ...all(carried, "type", "file_id", "file_data", "file_url", "filename"),
    detail: withoutEffect("vendors choose how they look at a file"),
  },
  input_audio: all(carried, "type", "input_audio"),
}

const partOf = (reader: FieldReader, part: JsonObject, path: string): JsonObject => {
  const fields = entryOf(partFields, stringAt(part, "type"))
  if (fields !== undefined) reader.check(fields, part, path)
  switch (part["type"]) {
    case "input_text":
    case "output_text":
    case "text":
      return textBlock(reader.string(part["text"], `${path}.text`))
    case "refusal":
      return textBlock(reader.string(part["refusal"], `${path}.refusal`))
    case "input_image": {
      const kept = keptFile(reader, part, path)
      const detail = detailIn(reader, part["detail"], path)
      if (kept !== undefined) return present({ t: "image", mime: "image/png", ...kept, detail })
      const url = reader.string(part["image_url"], `${path}.image_url`)
      return present({ t: "image", ...sourceOf(url, imageMimeOf(url)), detail })
    }
    case "input_file":
      return fileOf(reader, part, path)
    case "input_audio":
      return soundOf(reader, part, path)
    default:
      reader.lacks(`${path}.type`, "must be input_text, output_text, refusal, input_image, input_file or input_audio")
      return textBlock(JSON.stringify(part))
  }
}

const fileOf = (reader: FieldReader, part: JsonObject, path: string): JsonObject => {
  const { filename: name, file_url: url } = part
  const kept = keptFile(reader, part, path)
  if (kept !== undefined) return present({ t: "file", mime: "application/pdf", ...kept, name })
  const mime = fileMimeOf(typeof name === "string" ? name : typeof url === "string" ? url : "")
  if (!isAbsent(url)) return present({ t: "file", mime, url, name })
  const data = reader.string(part["file_data"], `${path}.file_data`)
  return present({ t: "file", ...(data.startsWith("data:") ? sourceOf(data, mime) : { mime, data }), name })
}

const resultIn = (reader: FieldReader, { call_id: id, output }: JsonObject, path: string): ThreadMessage => {
  if (typeof output === "string") return { role: "tool", blocks: [{ t: "tool_result", id, v: output }] }
  const parts = reader.list(output, `${path}.output`).map((part, index) => {
    const at = `${path}.output.${index}`
    return partOf(reader, reader.object(part, at), at)
  })
  return { role: "tool", blocks: [{ t: "tool_result", id, ...resultOf(parts) }] }
}
