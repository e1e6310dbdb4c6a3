/**
 * OpenAI's chat completions as clients send them. Source: https://platform.openai.com/docs/api-reference/chat/create
 */
import type { Result } from "effect"
import type { ClientRequest, HostedSearch } from "../client-api.ts"
import {
  allowedTools,
  argumentsIn,
  type ClientToolChoice,
  detailIn,
  fileMimeOf,
  HostedTools,
  imageMimeOf,
  keptFile,
  logprobsOf,
  markOf,
  onlyAllowed,
  openaiEfforts,
  openaiOutput,
  plainText,
  schemaIn,
  searchOf,
  sourceOf,
  stopsOf,
  strictly,
  textBlock,
  textTool,
  textToolFields,
  tierOf,
  toolChoices,
  unless,
  videoMimeOf,
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
import { isObject, type JsonObject, objectAt, objectsAt } from "../json.ts"
import { soundOf } from "../openai-sound.ts"
import { endUsersAt, ownRequest } from "../own-request.ts"

/** Parameters that not every vendor has; most requests have none. */
const extraFields = [
  "seed",
  "random_seed",
  "frequency_penalty",
  "presence_penalty",
  "top_k",
  "min_p",
  "logprobs",
  "top_logprobs",
  "logit_bias",
  "verbosity",
  "service_tier",
  "prediction",
  "stop_token_ids",
  "n",
  "prompt_cache_options",
  "provider",
  "reasoning_format",
  "search_settings",
] as const
const isExtra: ReadonlySet<string> = new Set(extraFields)

export const chatFields: FieldTable = {
  ...all(
    carried,
    "model",
    "messages",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "stop",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "reasoning_effort",
    "prompt_cache_key",
  ),
  ...all(withoutEffect("it labels a request for its vendor"), "user", "safety_identifier", "metadata"),
  ...all(withoutEffect("the catalogue says what vendors may keep"), "prompt_cache_retention"),
  web_search_options: carried,
  store: own(false),
  // Some of other vendors with this API.
  ...all(carried, "thinking", "reasoning", ...extraFields),
  include_reasoning: carried,
  separate_reasoning: withoutEffect("reasoning comes apart from the answer"),
  clear_thinking: withoutEffect("reasoning that is sent back is kept"),
  cache_control: withoutEffect("the end of the thread is a cache breakpoint already"),
  usage: neutral({ include: true }, { include: false }),
  ...all(
    refused("a vendor bills it beside its tokens, or at the price of another model"),
    "models",
    "route",
    "plugins",
    "search_parameters",
    "search_options",
    "enable_search",
  ),
  modalities: neutral(["text"]),
  audio: refused("replies have no sound"),
  moderation: own(),
  function_call: refused("send tool_choice"),
  functions: refused("send tools"),
}

const streamOptionFields: FieldTable = {
  include_usage: carried,
  include_obfuscation: withoutEffect("frames are not padded"),
}
const messageFields: FieldTable = {
  ...all(carried, "role", "content", "tool_calls", "tool_call_id", "refusal", "reasoning_content", "reasoning"),
  cache_control: carried,
  reasoning_details: withoutEffect("it repeats what the reply said"),
  name: withoutEffect("twp/1 does not name authors"),
  ...all(withoutEffect("it repeats what the reply said"), "annotations", "id", "parsed"),
  ...all(refused("replies have no sound"), "audio"),
  prefix: own(false),
  function_call: refused("send tool_calls"),
}
const callFields: FieldTable = {
  ...all(carried, "id", "type", "function", "custom", "index"),
  cache_control: withoutEffect("a breakpoint is at the end of a text or of a result"),
}
const toolFields: FieldTable = {
  ...all(carried, "type", "function"),
  cache_control: withoutEffect("the end of the thread is a cache breakpoint already"),
}
const functionFields: FieldTable = {
  ...all(carried, "name", "description", "parameters", "strict"),
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

/** Remembers where messages give reasoning back: not every vendor takes it. */
class ChatFieldReader extends FieldReader {
  readonly reasoning: Array<string> = []
}

const imageFields: FieldTable = {
  ...all(carried, "url", "detail"),
  format: withoutEffect("a picture says its own format"),
}
const calledFields = all(carried, "name", "arguments")
const fileFields = all(carried, "file_id", "filename", "file_data")
const markFields = all(carried, "type", "ttl")
type Mark = ReturnType<typeof markOf>
const choiceFields = all(carried, "type", "function", "custom", "allowed_tools")
const thinkingFields: FieldTable = {
  ...all(carried, "type", "budget_tokens"),
  clear_thinking: withoutEffect("reasoning that is sent back is kept"),
}
const reasoningFields: FieldTable = {
  ...all(carried, "effort", "max_tokens", "enabled", "exclude"),
  summary: withoutEffect("reasoning comes apart from the answer"),
}
export const schemaFields: FieldTable = {
  ...all(carried, "name", "schema", "strict"),
  description: withoutEffect("a schema describes itself"),
}

export const decodeChatRequest = (body: JsonObject): Result.Result<ClientRequest, FieldRefusal> => {
  const reader = new ChatFieldReader()
  reader.check(chatFields, body, "")
  const { stream_options: streamOptions } = body
  const options = reader.optionalObject(streamOptions, "stream_options")
  reader.check(streamOptionFields, options, "stream_options")
  const { tools: offered, hosted } = toolsOf(reader, body["tools"])
  const { omittedTools } = hosted
  const choice = toolChoiceOf(reader, body["tool_choice"])
  const tools = onlyAllowed(offered, choice.allowed)
  const search = optionalSearch(reader, body["web_search_options"])
  if (!isAbsent(body["web_search_options"])) {
    if (search === undefined) omittedTools.push("web_search")
    hosted.paid.push({ type: "web_search", path: ["web_search_options"], isSearch: search !== undefined })
  }
  const hasTools = tools.length > 0
  const exchange = present({
    model: body["model"],
    thread: reader.list(body["messages"], "messages").flatMap((message, index) => {
      const path = `messages.${index}`
      return messageOf(reader, reader.object(message, path), path)
    }),
    tools: hasTools ? tools : undefined,
    params: presentIfAny({
      maxTokens: body["max_completion_tokens"] ?? body["max_tokens"],
      temperature: body["temperature"],
      topP: body["top_p"],
      stop: typeof body["stop"] === "string" ? [body["stop"]] : stopsOf(body["stop"]),
      ...reasoningOf(reader, body),
      reasoningDisplay: displayOf(body),
      toolChoice: hasTools ? choice.toolChoice : undefined,
      parallelToolCalls: hasTools ? body["parallel_tool_calls"] : undefined,
      output: outputOf(reader, body["response_format"]),
      ...extrasOf(reader, body),
    }),
    cache: isAbsent(body["prompt_cache_key"]) ? undefined : { key: body["prompt_cache_key"] },
    stream: body["stream"],
  })
  const model = reader.string(body["model"], "model")
  const includesUsage = options["include_usage"] === true
  const endUsers = endUsersAt(body, ["user"], ["safety_identifier"])
  const own = ownRequest(reader, endUsers, { hosted, listed: body["tools"] }, { reasoning: reader.reasoning })
  return reader.carriedResult({ exchange, context: { model, includesUsage }, omittedTools, search, own })
}

const extrasOf = (reader: FieldReader, body: JsonObject): JsonObject | undefined => {
  for (const name in body) if (isExtra.has(name)) return readExtras(reader, body)
  return undefined
}

const readExtras = (reader: FieldReader, body: JsonObject): JsonObject => ({
  seed: body["seed"] ?? body["random_seed"],
  frequencyPenalty: unless(body["frequency_penalty"], 0),
  presencePenalty: unless(body["presence_penalty"], 0),
  // 0 and -1 stand for all tokens.
  topK: unless(body["top_k"], 0, -1),
  minP: unless(body["min_p"], 0),
  logprobs: logprobsOf(reader, body["logprobs"], body["top_logprobs"], { asked: "logprobs", top: "top_logprobs" }),
  logitBias: body["logit_bias"],
  verbosity: body["verbosity"],
  serviceTier: tierOf(body["service_tier"]),
  prediction: predictionOf(reader, body["prediction"]),
  stopTokens: stopsOf(body["stop_token_ids"]),
  n: unless(body["n"], 1),
  vendorOptions: presentIfAny({
    openai: presentIfAny({ promptCacheOptions: body["prompt_cache_options"] }),
    openrouter: presentIfAny({ provider: body["provider"] }),
    groq: presentIfAny({
      reasoningFormat: unless(body["reasoning_format"], "parsed"),
      searchSettings: body["search_settings"],
    }),
  }),
})

const predictionOf = (reader: FieldReader, value: unknown): string | undefined => {
  if (isAbsent(value)) return undefined
  const { type, content } = reader.checked(all(carried, "type", "content"), value, "prediction")
  if (type !== "content") reader.refuse("prediction.type", "must be content")
  return plainText(reader, content, "prediction.content")
}

const optionalSearch = (reader: FieldReader, options: unknown): HostedSearch | undefined =>
  isAbsent(options) ? undefined : searchOf("web_search", reader.object(options, "web_search_options"))

const messageOf = (reader: ChatFieldReader, message: JsonObject, path: string): ReadonlyArray<JsonObject> => {
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
      // A breakpoint is at the end of a result.
      const cacheable = objectsAt(message, "content")
        .map((part, at) => markOf(reader, part, `${path}.content.${at}`, markFields))
        .findLast((each) => each !== false)
      return [
        { role: "tool", blocks: [present({ t: "tool_result", id, v, cacheable: cacheable ?? (mark || undefined) })] },
      ]
    }
    default:
      reader.refuse(`${path}.role`, "must be system, developer, user, assistant or tool")
      return []
  }
}

/** Blocks with a breakpoint at the end of the last text: some providers mark a message as a whole. */
const marked = (blocks: ReadonlyArray<JsonObject>, mark: Mark): ReadonlyArray<JsonObject> => {
  if (mark === false) return blocks
  const last = blocks.findLastIndex(({ t }) => t === "text")
  return blocks.map((block, at) => (at === last ? { cacheable: mark, ...block } : block))
}

const contentOf = (reader: FieldReader, message: JsonObject, mark: Mark, path: string): ReadonlyArray<JsonObject> =>
  marked(partsOf(reader, message["content"], `${path}.content`), mark)

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
  const text = isAbsent(content) ? "" : plainText(reader, content, `${path}.content`)
  const said = text + (isAbsent(refusal) ? "" : reader.string(refusal, `${path}.refusal`))
  const thought = isAbsent(reasoning) ? "" : reader.string(reasoning, `${path}.reasoning_content`)
  const called = reader.optionalList(calls, `${path}.tool_calls`)
  const blocks = [
    ...(thought === "" ? [] : [{ t: "reasoning", v: thought }]),
    ...(said === "" ? [] : [textBlock(said)]),
    ...called.map((call, index) => callOf(reader, call, `${path}.tool_calls.${index}`)),
  ]
  // A reply without content says nothing to a model.
  return blocks.length === 0 ? [] : [{ role: "assistant", blocks: marked(blocks, mark) }]
}

const callOf = (reader: FieldReader, value: unknown, path: string): JsonObject => {
  const call = reader.object(value, path)
  reader.check(callFields, call, path)
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
    : reader.list(content, path).map((part, index) => partOf(reader, part, `${path}.${index}`))

const partOf = (reader: FieldReader, value: unknown, path: string): JsonObject => {
  const part = reader.object(value, path)
  reader.check(partFields, part, path)
  switch (part["type"]) {
    case "text":
      return textBlock(reader.string(part["text"], `${path}.text`), markOf(reader, part, path, markFields))
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

const toolsOf = (reader: FieldReader, value: unknown) => {
  const tools: Array<JsonObject> = []
  const hosted = new HostedTools()
  for (const [index, item] of reader.optionalList(value, "tools").entries()) {
    const path = `tools.${index}`
    const tool = reader.object(item, path)
    // Some clients leave the type out.
    if (tool["type"] === "custom") {
      const custom = reader.checked(textToolFields, tool["custom"], `${path}.custom`)
      tools.push(textTool(reader, custom, `${path}.custom.format`, (format) => objectAt(format, "grammar") ?? format))
      continue
    }
    if (!isAbsent(tool["type"]) && tool["type"] !== "function") {
      hosted.add(reader.string(tool["type"], `${path}.type`), tool, ["tools", index])
      continue
    }
    reader.check(toolFields, tool, path)
    const fn = reader.object(tool["function"], `${path}.function`)
    reader.check(functionFields, fn, `${path}.function`)
    const { name, description, parameters } = fn
    const inputSchema = schemaIn(reader, parameters, `${path}.function.parameters`)
    tools.push(present({ name, description, inputSchema, ...strictly(fn["strict"]) }))
  }
  return { tools, hosted }
}

const toolChoiceOf = (reader: FieldReader, choice: unknown): ClientToolChoice => {
  if (isAbsent(choice) || typeof choice === "string") {
    return { toolChoice: reader.word(toolChoices, choice, "tool_choice") }
  }
  const { type, function: fn, custom, allowed_tools: allowed } = reader.checked(choiceFields, choice, "tool_choice")
  if (type === "custom") {
    return { toolChoice: { name: reader.checked({ name: carried }, custom, "tool_choice.custom")["name"] } }
  }
  if (type === "allowed_tools") return allowedTools(reader, allowed, "tool_choice.allowed_tools")
  if (!isAbsent(type) && type !== "function") {
    reader.lacks("tool_choice.type", "must be function or allowed_tools")
    return { toolChoice: undefined }
  }
  return { toolChoice: { name: reader.checked({ name: carried }, fn, "tool_choice.function")["name"] } }
}

/** OpenRouter's words for what is shown of what a model thought. */
const displayOf = ({ include_reasoning: isIncluded, reasoning }: JsonObject): string | undefined =>
  isIncluded === false || (isObject(reasoning) && reasoning["exclude"] === true) ? "omitted" : undefined

/** OpenAI's effort, or how vendors with its API say it. */
const reasoningOf = (reader: FieldReader, body: JsonObject): JsonObject => {
  const { thinking, reasoning, reasoning_effort: effort } = body
  // "default" is Groq's word for the model's own amount.
  if (!isAbsent(effort) && effort !== "default")
    return { reasoning: reader.word(openaiEfforts, effort, "reasoning_effort") }
  if (!isAbsent(thinking)) {
    const { type, budget_tokens: budget } = reader.checked(thinkingFields, thinking, "thinking")
    const level = reader.word({ enabled: "medium", disabled: "off" }, type, "thinking.type")
    return isAbsent(budget) || level === "off" ? { reasoning: level } : { reasoningBudget: budget }
  }
  if (isAbsent(reasoning)) return {}
  const { effort: word, max_tokens: budget, enabled } = reader.checked(reasoningFields, reasoning, "reasoning")
  if (!isAbsent(word)) return { reasoning: reader.word(openaiEfforts, word, "reasoning.effort") }
  if (!isAbsent(budget)) return { reasoningBudget: budget }
  return { reasoning: enabled === false ? "off" : "medium" }
}

const outputOf = (reader: FieldReader, format: unknown): JsonObject | "json" | undefined => {
  if (isAbsent(format)) return undefined
  const { type, json_schema: schema } = reader.checked(all(carried, "type", "json_schema"), format, "response_format")
  const described = () => reader.checked(schemaFields, schema, "response_format.json_schema")
  return openaiOutput(reader, type, described, "response_format", "response_format.json_schema.schema")
}
