/** OpenAI's responses as clients send them. Source: https://platform.openai.com/docs/api-reference/responses/create */
import type { Result } from "effect"
import type { JsonPath } from "../../protocol/json-edit.ts"
import { entryOf } from "../../protocol/words.ts"
import type { ClientRequest, GroupedTool, HostedSearch } from "../client-api.ts"
import {
  allowedTools,
  argumentsIn,
  type ClientToolChoice,
  detailIn,
  fileMimeOf,
  HostedTools,
  imageMimeOf,
  keptFile,
  onlyAllowed,
  openaiEfforts,
  openaiOutput,
  schemaIn,
  sourceOf,
  strictly,
  textBlock,
  textTool,
  textToolFields,
  tierOf,
  toolChoices,
  unless,
} from "../client-parts.ts"
import {
  all,
  carried,
  FieldReader,
  type FieldRefusal,
  type FieldTable,
  isAbsent,
  neutral,
  own,
  present,
  presentIfAny,
  refused,
  withoutEffect,
} from "../fields.ts"
import { isObject, type JsonObject, stringAt } from "../json.ts"
import { schemaFields } from "../openai-chat/client-request.ts"
import { soundOf } from "../openai-sound.ts"
import { endUsersAt, ownRequest } from "../own-request.ts"
import { resultOf } from "../results.ts"
import { signatureFor, signatureFromResponses } from "../signature.ts"
import { isOpenaiOwn, sealedBlock } from "../vendor-blocks.ts"
import { clientToolOf } from "../vendor-tools.ts"
import { redactedMark } from "./client-reply.ts"

export const responsesFields: FieldTable = {
  ...all(
    carried,
    "model",
    "input",
    "instructions",
    "stream",
    "max_output_tokens",
    "temperature",
    "top_p",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning",
    "text",
    "prompt_cache_key",
  ),
  ...all(
    withoutEffect("it labels a request for its vendor"),
    "user",
    "safety_identifier",
    "metadata",
    "client_metadata",
  ),
  context_management: withoutEffect("the client's thread is what counts"),
  prompt_cache_retention: withoutEffect("the catalogue says what vendors may keep"),
  stream_options: withoutEffect("frames are not padded"),
  include: carried,
  store: own(false),
  ...all(carried, "service_tier", "truncation", "top_logprobs", "prompt_cache_options", "max_tool_calls"),
  background: neutral(false),
  conversation: refused("nothing is stored: send the thread"),
  previous_response_id: refused("nothing is stored: send the thread"),
  prompt: refused("nothing is stored: send the thread"),
  access_programs: refused("programs of a vendor are not used"),
  image: refused("images are sent as they are"),
  moderation: own(),
}

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
/** Items that bring tools along. */
const toolItems = new Set(["tool_search_output", "additional_tools"])

export const decodeResponsesRequest = (body: JsonObject): Result.Result<ClientRequest, FieldRefusal> => {
  const reader = new FieldReader()
  reader.check(responsesFields, body, "")
  const { instructions, input } = body
  const items = typeof input === "string" ? [{ role: "user", content: input }] : reader.list(input, "input")
  const listed = reader.optionalList(body["tools"], "tools")
  const { tools: offered, hosted, groups } = toolsOf(reader, listed, toolsIn(items))
  const { omittedTools, search } = hosted
  const choice = toolChoiceOf(reader, body["tool_choice"])
  const tools = onlyAllowed(offered, choice.allowed)
  // Vendors' other extras belong to tools that they host.
  const includesLogprobs = Array.isArray(body["include"]) && body["include"].includes("message.output_text.logprobs")
  const isTopAsked = !isAbsent(body["top_logprobs"]) && body["top_logprobs"] !== 0
  const thread = merged([
    ...(isAbsent(instructions) || instructions === ""
      ? []
      : [{ role: "system", blocks: [textBlock(reader.string(instructions, "instructions"))] }]),
    ...items.flatMap((item, index) => itemOf(reader, reader.object(item, `input.${index}`), `input.${index}`)),
  ])
  const reasoning = reader.optionalObject(body["reasoning"], "reasoning")
  reader.check(reasoningFields, reasoning, "reasoning")
  const hasTools = tools.length > 0
  const exchange = present({
    model: body["model"],
    thread,
    tools: hasTools ? tools : undefined,
    params: presentIfAny({
      maxTokens: body["max_output_tokens"],
      temperature: body["temperature"],
      topP: body["top_p"],
      reasoning: reader.word(openaiEfforts, reasoning["effort"], "reasoning.effort"),
      toolChoice: hasTools ? choice.toolChoice : undefined,
      parallelToolCalls: hasTools ? body["parallel_tool_calls"] : undefined,
      output: outputOf(reader, body["text"]),
      verbosity: verbosityOf(body["text"]),
      logprobs: includesLogprobs || isTopAsked ? (body["top_logprobs"] ?? 0) : undefined,
      serviceTier: tierOf(body["service_tier"]),
      vendorOptions: presentIfAny({
        openai: presentIfAny({
          truncation: unless(body["truncation"], "disabled"),
          reasoningMode: reasoning["mode"],
          promptCacheOptions: body["prompt_cache_options"],
        }),
      }),
    }),
    cache: isAbsent(body["prompt_cache_key"]) ? undefined : { key: body["prompt_cache_key"] },
    stream: body["stream"],
  })
  const model = reader.string(body["model"], "model")
  return reader.carriedResult({
    exchange,
    context: { model, includesUsage: true, groups },
    omittedTools,
    search: search && limited(search, body["max_tool_calls"]),
    own: ownRequest(reader, endUsersAt(body, ["user"], ["safety_identifier"]), { hosted, listed: body["tools"] }),
  })
}

/** A limit on calls counts tools that a vendor hosts; the only one here is its search. */
const limited = (search: HostedSearch, most: unknown): HostedSearch =>
  typeof most === "number" && Number.isSafeInteger(most) && most > 0
    ? { ...search, maxUses: Math.min(search.maxUses, most) }
    : search

const reasoningFields: FieldTable = {
  ...all(carried, "effort", "mode"),
  ...all(withoutEffect("a summary is asked for where nothing is said"), "summary", "generate_summary"),
  context: withoutEffect("the client's thread is what counts"),
}

interface ThreadMessage extends JsonObject {
  readonly role: unknown
  readonly blocks: ReadonlyArray<JsonObject>
}

/** Items of one reply, and results of its calls, are one message each. */
const merged = (messages: ReadonlyArray<ThreadMessage>): ReadonlyArray<ThreadMessage> => {
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

const itemOf = (reader: FieldReader, item: JsonObject, path: string): ReadonlyArray<ThreadMessage> => {
  const type = item["type"] ?? "message"
  if (typeof type === "string" && toolItems.has(type)) return []
  if (isOpenaiOwn(type)) {
    return [{ role: "assistant", blocks: [reader.exactly(sealedBlock("openai", item), path)] }]
  }
  const fields = typeof type === "string" && Object.hasOwn(itemFields, type) ? itemFields[type] : undefined
  if (fields === undefined) {
    if (type === "item_reference")
      reader.refuse(`${path}.type`, "nothing is stored: send the item itself, as SDKs do with store: false")
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
  // Reasoning that nobody signed is of no use to a vendor.
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
          return partOf(reader, reader.object(part, at), at)
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

const toolFields: FieldTable = {
  ...all(carried, "type", "name", "description", "parameters", "strict"),
  ...all(withoutEffect("all tools are given at once"), "defer_loading", "allowed_callers"),
  output_schema: withoutEffect("results are the client's"),
}

/** Tools that a thread brings along. */
const toolsIn = (items: ReadonlyArray<unknown>): ReadonlyArray<FoundTool> =>
  items.flatMap((item, index) => {
    if (!isObject(item) || !Array.isArray(item["tools"])) return []
    if (item["type"] !== "additional_tools" && item["type"] !== "tool_search_output") return []
    return item["tools"].map((tool: unknown, at) => ({ tool, place: `input.${index}.tools.${at}` }))
  })

/** A tool, and where it stands in the body. */
interface FoundTool {
  readonly tool: unknown
  readonly place: string
}

/** @param found in the thread */
const toolsOf = (reader: FieldReader, listed: ReadonlyArray<unknown>, found: ReadonlyArray<FoundTool>) => {
  const tools: Array<JsonObject> = []
  const hosted = new HostedTools()
  const groups = new Map<string, GroupedTool>()
  const add = (item: unknown, path: string, place: string, at: JsonPath | undefined, namespace?: string) => {
    const tool = reader.object(item, path)
    const { type, description, parameters } = tool
    if (type === "namespace" && namespace === undefined) {
      const group = reader.string(tool["name"], `${path}.name`)
      reader.list(tool["tools"], `${path}.tools`).forEach((inner, index) => {
        const inside = `tools.${index}`
        add(inner, `${path}.${inside}`, `${place}.${inside}`, at && [...at, "tools", index], group)
      })
      return
    }
    const vendorTool = clientToolOf("openai", type, tool)
    if (vendorTool !== undefined) {
      tools.push(vendorTool)
      return
    }
    if (type !== "function" && type !== "custom") {
      hosted.add(reader.string(type, `${path}.type`), tool, at)
      return
    }
    reader.check(type === "custom" ? textToolFields : toolFields, tool, path)
    const own = reader.string(tool["name"], `${path}.name`)
    const name = namespace === undefined ? own : flatName(namespace, own)
    if (namespace !== undefined) groups.set(name, { namespace, name: own })
    if (tools.some((known) => known["name"] === name)) return
    if (type === "custom") {
      tools.push(textTool(reader, { ...tool, name }, `${path}.format`, (format) => format))
      return
    }
    const inputSchema = schemaIn(reader, parameters, `${place}.parameters`)
    tools.push(present({ name, description, inputSchema, ...strictly(tool["strict"]) }))
  }
  for (const [index, item] of listed.entries()) add(item, `tools.${index}`, `tools.${index}`, ["tools", index])
  for (const [index, { tool, place }] of found.entries()) add(tool, `tools.${listed.length + index}`, place, undefined)
  return { tools, groups, hosted }
}

/** Vendors' names have at most 64 characters. */
const flatName = (namespace: string, name: string): string =>
  `${namespace.replace(/[^a-zA-Z0-9_-]/g, "_")}__${name}`.slice(-64)

const toolChoiceOf = (reader: FieldReader, choice: unknown): ClientToolChoice => {
  if (isAbsent(choice) || typeof choice === "string") {
    return { toolChoice: reader.word(toolChoices, choice, "tool_choice") }
  }
  const { type, name } = reader.object(choice, "tool_choice")
  if (type === "allowed_tools") return allowedTools(reader, choice, "tool_choice")
  reader.checked(all(carried, "type", "name"), choice, "tool_choice")
  if (type !== "function" && type !== "custom") {
    reader.lacks("tool_choice.type", "must be function or allowed_tools")
    return { toolChoice: undefined }
  }
  return { toolChoice: { name } }
}

const verbosityOf = (text: unknown): unknown => (isObject(text) ? text["verbosity"] : undefined)

const outputOf = (reader: FieldReader, text: unknown): JsonObject | "json" | undefined => {
  if (isAbsent(text)) return undefined
  const options = reader.object(text, "text")
  reader.check({ format: carried, verbosity: carried }, options, "text")
  if (isAbsent(options["format"])) return undefined
  const format = reader.checked({ type: carried, ...schemaFields }, options["format"], "text.format")
  return openaiOutput(reader, format["type"], () => format, "text.format", "text.format.schema")
}
