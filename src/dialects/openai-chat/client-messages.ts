/** The messages of chat completions as messages of twp/1. */
import {
  argumentsIn,
  detailIn,
  fileMimeOf,
  imageMimeOf,
  keptFile,
  marked,
  markFields,
  markOf,
  plainText,
  sourceOf,
  textBlock,
  videoMimeOf,
} from "../client/client-parts.ts"
import {
  all,
  carried,
  FieldReader,
  type FieldTable,
  isAbsent,
  own,
  present,
  refused,
  withoutEffect,
} from "../client/fields.ts"
import { isObject, type JsonObject, objectsAt } from "../parse/json.ts"
import { soundOf } from "../vendor/openai-sound.ts"
import { sealedBlock } from "../vendor/vendor-blocks.ts"

type Mark = ReturnType<typeof markOf>

const messageFields: FieldTable = {
  ...all(
    carried,
    "role",
    "content",
    "tool_calls",
    "tool_call_id",
    "refusal",
    "reasoning_content",
    "reasoning",
    "images",
  ),
  cache_control: carried,
  reasoning_details: withoutEffect("it repeats what the reply said"),
  name: withoutEffect("twp/1 does not name authors"),
  ...all(withoutEffect("it repeats what the reply said"), "annotations", "id", "parsed"),
  ...all(refused("replies have no sound"), "audio"),
  prefix: own(false),
  function_call: refused("send tool_calls"),
}

const callFields: FieldTable = {
  ...all(carried, "id", "type", "function", "custom", "index", "cache_control"),
}

const partFields: FieldTable = {
  ...all(
    carried,
    "type",
    "text",
    "refusal",
    "image_url",
    "input_audio",
    "file",
    "cache_control",
    "video_url",
    "document_url",
  ),
  ...all(withoutEffect("documents are read whole"), "document_name"),
  prompt_cache_breakpoint: withoutEffect("send cache_control"),
}

/** Remembers the positions of reasoning in messages, and of other members of earlier replies: not every vendor takes them. */
export class ChatFieldReader extends FieldReader {
  readonly reasoning: Array<string> = []
  readonly echoes: Array<string> = []
}

/** Members of a reply that say nothing to a model. */
const echoes = ["annotations", "id", "parsed", "images", "reasoning_details", "audio", "function_call"] as const

const imageFields: FieldTable = {
  ...all(carried, "url", "detail"),
  format: withoutEffect("a picture says its own format"),
}

const calledFields = all(carried, "name", "arguments")

const fileFields = all(carried, "file_id", "filename", "file_data")

export const messageOf = (reader: ChatFieldReader, message: JsonObject, path: string): ReadonlyArray<JsonObject> => {
  reader.check(messageFields, message, path)
  const mark = markOf(reader, message, path, markFields)
  switch (message["role"]) {
    case "system":
    case "developer":
      return [{ role: "system", blocks: contentOf(reader, message, mark, path) }]
    case "user":
      return [{ role: "user", blocks: contentOf(reader, message, mark, path) }]
    case "assistant":
      return assistantOf(reader, message, mark, path)
    case "tool": {
      const id = reader.string(message["tool_call_id"], `${path}.tool_call_id`)
      const v = plainText(reader, message["content"], `${path}.content`)
      return [
        { role: "tool", blocks: [marked({ t: "tool_result", id, v }, markOfParts(reader, message, path) || mark)] },
      ]
    }
    default:
      reader.refuse(`${path}.role`, "must be system, developer, user, assistant or tool")
      return []
  }
}

/** The last mark of parts that are one text: a breakpoint is at its end. */
const markOfParts = (reader: FieldReader, message: JsonObject, path: string): Mark =>
  objectsAt(message, "content")
    .map((part, at) => markOf(reader, part, `${path}.content.${at}`, markFields))
    .findLast((each) => each !== false) ?? false

/** Blocks with a breakpoint at their end, where none of them has one: some providers mark a message as a whole. */
const markedAtEnd = (blocks: ReadonlyArray<JsonObject>, mark: Mark): ReadonlyArray<JsonObject> => {
  const last = blocks.findLastIndex(({ t }) => t !== "reasoning")
  if (mark === false || blocks.some((block) => Object.hasOwn(block, "cacheable"))) return blocks
  return blocks.map((block, at) => (at === last ? marked(block, mark) : block))
}

const contentOf = (reader: FieldReader, message: JsonObject, mark: Mark, path: string): ReadonlyArray<JsonObject> =>
  markedAtEnd(partsOf(reader, message["content"], `${path}.content`), mark)

const assistantOf = (
  reader: ChatFieldReader,
  message: JsonObject,
  mark: Mark,
  path: string,
): ReadonlyArray<JsonObject> => {
  const { content, refusal, tool_calls: calls } = message
  const reasoning = message["reasoning_content"] ?? message["reasoning"]
  for (const name of ["reasoning_content", "reasoning"]) {
    if (!isAbsent(message[name])) reader.reasoning.push(`${path}.${name}`)
  }
  for (const name of echoes) if (Object.hasOwn(message, name)) reader.echoes.push(`${path}.${name}`)
  if (refusal === null) reader.echoes.push(`${path}.refusal`)
  const text = isAbsent(content) ? "" : plainText(reader, content, `${path}.content`)
  const said = text + (isAbsent(refusal) ? "" : reader.string(refusal, `${path}.refusal`))
  const thought = isAbsent(reasoning) ? "" : reader.string(reasoning, `${path}.reasoning_content`)
  // No vendor takes back the pictures that a model made: a warning says that they are left out.
  const drawn = reader
    .optionalList(message["images"], `${path}.images`)
    .map(() => sealedBlock("gemini", { inlineData: {} }))
  const called = reader.optionalList(calls, `${path}.tool_calls`)
  const blocks = [
    ...(thought === "" ? [] : [{ t: "reasoning", v: thought }]),
    ...(said === "" ? [] : [textBlock(said, markOfParts(reader, message, path))]),
    ...drawn,
    ...called.map((call, index) => {
      const at = `${path}.tool_calls.${index}`
      return reader.placed(callOf(reader, call, at), at)
    }),
  ]
  // A reply without content says nothing to a model.
  return blocks.length === 0 ? [] : [{ role: "assistant", blocks: markedAtEnd(blocks, mark) }]
}

const callOf = (reader: FieldReader, value: unknown, path: string): JsonObject => {
  const call = reader.object(value, path)
  reader.check(callFields, call, path)
  return marked(calledIn(reader, call, path), markOf(reader, call, path, markFields))
}

const calledIn = (reader: FieldReader, call: JsonObject, path: string): JsonObject => {
  if (call["type"] === "custom") {
    const custom = reader.checked(all(carried, "name", "input"), call["custom"], `${path}.custom`)
    return { t: "tool_call", id: call["id"], name: custom["name"], input: {}, text: custom["input"] }
  }
  if (!isAbsent(call["type"]) && call["type"] !== "function") reader.refuse(`${path}.type`, "must be function")
  const fn = reader.checked(calledFields, call["function"], `${path}.function`)
  return {
    t: "tool_call",
    id: reader.string(call["id"], `${path}.id`),
    name: reader.string(fn["name"], `${path}.function.name`),
    input: argumentsIn(reader, fn["arguments"], `${path}.function.arguments`),
  }
}

const partsOf = (reader: FieldReader, content: unknown, path: string): ReadonlyArray<JsonObject> =>
  typeof content === "string"
    ? [textBlock(content)]
    : reader
        .list(content, path)
        .map((part, index) => reader.placed(partOf(reader, part, `${path}.${index}`), `${path}.${index}`))

const partOf = (reader: FieldReader, value: unknown, path: string): JsonObject => {
  const part = reader.object(value, path)
  reader.check(partFields, part, path)
  return marked(blockOf(reader, part, path), markOf(reader, part, path, markFields))
}

const blockOf = (reader: FieldReader, part: JsonObject, path: string): JsonObject => {
  switch (part["type"]) {
    case "text":
      return textBlock(reader.string(part["text"], `${path}.text`))
    case "image_url": {
      const url = urlIn(reader, part["image_url"], `${path}.image_url`, imageFields)
      const detail = isObject(part["image_url"]) ? part["image_url"]["detail"] : undefined
      return present({
        t: "image",
        ...sourceOf(url, imageMimeOf(url)),
        detail: detailIn(reader, detail, `${path}.image_url`),
      })
    }
    case "input_audio":
      return soundOf(reader, part, path)
    case "video_url": {
      const url = urlIn(reader, part["video_url"], `${path}.video_url`)
      return { t: "video", ...sourceOf(url, videoMimeOf(url)) }
    }
    case "document_url": {
      const url = urlIn(reader, part["document_url"], `${path}.document_url`)
      return { t: "file", ...sourceOf(url, fileMimeOf(url)) }
    }
    case "file":
      return fileOf(reader, reader.checked(fileFields, part["file"], `${path}.file`), `${path}.file`)
    default:
      reader.lacks(`${path}.type`, "must be text, image_url, video_url, document_url, input_audio or file")
      return textBlock(JSON.stringify(part))
  }
}

/** An address, alone or in an object. */
const urlIn = (reader: FieldReader, value: unknown, path: string, fields: FieldTable = { url: carried }): string =>
  typeof value === "string" ? value : reader.string(reader.checked(fields, value, path)["url"], `${path}.url`)

const fileOf = (reader: FieldReader, file: JsonObject, path: string): JsonObject => {
  const { filename: name } = file
  const kept = keptFile(reader, file, path)
  if (kept !== undefined) return present({ t: "file", mime: "application/pdf", ...kept, name })
  const data = reader.string(file["file_data"], `${path}.file_data`)
  const mime = fileMimeOf(typeof name === "string" ? name : "")
  const source = data.startsWith("data:") || data.startsWith("http") ? sourceOf(data, mime) : { mime, data }
  return present({ t: "file", ...source, name })
}
