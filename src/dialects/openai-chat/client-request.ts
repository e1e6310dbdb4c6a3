/**
 * OpenAI's chat completions as clients send them. Source: https://platform.openai.com/docs/api-reference/chat/create
 */

import type { Result } from "effect"
import { endUsersAt, ownRequest } from "../carry/own-request.ts"
import type { ClientRequest } from "../client/client-api.ts"
import {
  logprobsOf,
  onlyAllowed,
  openaiEfforts,
  openaiOutput,
  plainText,
  stopsOf,
  tierOf,
  unless,
} from "../client/client-parts.ts"
import {
  all,
  carried,
  type FieldReader,
  type FieldRefusal,
  type FieldTable,
  isAbsent,
  neutral,
  own,
  present,
  presentIfAny,
  refused,
  withoutEffect,
} from "../client/fields.ts"
import { isObject, type JsonObject } from "../parse/json.ts"
import { ChatFieldReader, messageOf } from "./client-messages.ts"
import { toolChoiceOf, toolsOf } from "./client-tools.ts"

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
  // Parameters of other vendors with this API.
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
  const { tools: offered, hosted } = toolsOf(reader, body["tools"], body["tool_choice"])
  const choice = toolChoiceOf(reader, body["tool_choice"])
  const tools = onlyAllowed(offered, choice.allowed)
  if (!isAbsent(body["web_search_options"])) {
    const search = reader.object(body["web_search_options"], "web_search_options")
    hosted.add("web_search", search, "web_search_options", ["web_search_options"])
  }
  const hasTools = tools.length > 0
  const exchange = present({
    model: body["model"],
    thread: reader.list(body["messages"], "messages").flatMap((message, index) => {
      const path = `messages.${index}`
      return reader.placedMessages(messageOf(reader, reader.object(message, path), path), path)
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
  const places = { reasoning: reader.reasoning, echoes: reader.echoes }
  const own = ownRequest(reader, endUsers, { hosted, listed: body["tools"] }, places)
  return reader.carriedResult({ exchange, context: { model, includesUsage }, own })
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

/** OpenRouter's field for the reasoning that is shown. */
const displayOf = ({ include_reasoning: isIncluded, reasoning }: JsonObject): string | undefined =>
  isIncluded === false || (isObject(reasoning) && reasoning["exclude"] === true) ? "omitted" : undefined

/** OpenAI's effort, or the field of other vendors with its API. */
const reasoningOf = (reader: FieldReader, body: JsonObject): JsonObject => {
  const { thinking, reasoning, reasoning_effort: effort } = body
  // "default" is Groq's name for the model's own level.
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
