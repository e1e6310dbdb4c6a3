/** Cohere's chat as clients send it, by its API v2. Source: https://docs.cohere.com/reference/chat */
import { Result } from "effect"
import type { ClientRequest } from "../client/client-api.ts"
import { schemaIn, stopsOf, strictly, unless } from "../client/client-parts.ts"
import {
  all,
  carried,
  FieldReader,
  type FieldRefusal,
  type FieldTable,
  isAbsent,
  neutral,
  present,
  presentIfAny,
  withoutEffect,
} from "../client/fields.ts"
import type { JsonObject } from "../parse/json.ts"
import { messageOf } from "./client-messages.ts"
import { documentIn, withDocuments } from "./documents.ts"

/** Fields that both versions of the API have. */
export const sharedFields: FieldTable = {
  ...all(
    carried,
    "model",
    "stream",
    "tools",
    "documents",
    "response_format",
    "temperature",
    "p",
    "k",
    "seed",
    "stop_sequences",
    "max_tokens",
    "frequency_penalty",
    "presence_penalty",
  ),
  safety_mode: { ...neutral("CONTEXTUAL", "OFF"), why: "policies are the gateway's own" },
  raw_prompting: neutral(false),
  return_prompt: neutral(false),
  priority: withoutEffect("requests have one priority"),
}

export const cohereChatFields: FieldTable = {
  ...sharedFields,
  ...all(carried, "messages", "strict_tools", "tool_choice", "logprobs", "thinking"),
  citation_options: withoutEffect("citations are those that the vendor gives"),
}

/** Parameters that both versions of the API have. */
export const paramsOf = (body: JsonObject): JsonObject => ({
  maxTokens: body["max_tokens"],
  temperature: body["temperature"],
  topP: body["p"],
  // 0 stands for all tokens.
  topK: unless(body["k"], 0),
  seed: body["seed"],
  stop: stopsOf(body["stop_sequences"]),
  frequencyPenalty: unless(body["frequency_penalty"], 0),
  presencePenalty: unless(body["presence_penalty"], 0),
})

export const decodeCohereChat = (body: JsonObject): Result.Result<ClientRequest, FieldRefusal> => {
  const reader = new FieldReader()
  reader.check(cohereChatFields, body, "")
  const isStrict = body["strict_tools"] === true
  const tools = reader
    .optionalList(body["tools"], "tools")
    .map((tool, index) => toolOf(reader, tool, `tools.${index}`, isStrict))
  const said = reader.list(body["messages"], "messages").flatMap((message, index) => {
    const path = `messages.${index}`
    return messageOf(reader, reader.object(message, path), path)
  })
  const documents = reader
    .optionalList(body["documents"], "documents")
    .map((document, index) =>
      typeof document === "string" ? document : documentIn(reader, document, `documents.${index}`),
    )
  const thinking = thinkingOf(reader, body["thinking"])
  const exchange = present({
    model: body["model"],
    thread: withDocuments(reader, said, documents),
    tools: tools.length === 0 ? undefined : tools,
    params: presentIfAny({
      ...paramsOf(body),
      logprobs: body["logprobs"] === true ? 0 : undefined,
      toolChoice: tools.length === 0 ? undefined : reader.word(choices, body["tool_choice"], "tool_choice"),
      output: outputOf(reader, body["response_format"]),
      ...thinking,
    }),
    stream: body["stream"],
  })
  const plans = tools.length > 0 && (isAbsent(body["thinking"]) || thinking["reasoning"] === "off")
  const context = { model: reader.string(body["model"], "model"), includesUsage: true, echo: { plans } }
  return Result.flatMap(reader.result({ exchange, context }), (read) => reader.carriedResult(read))
}

const choices = { REQUIRED: "required", NONE: "none" } as const

const toolOf = (reader: FieldReader, value: unknown, path: string, isStrict: boolean): JsonObject => {
  const tool = reader.checked(all(carried, "type", "function"), value, path)
  if (!isAbsent(tool["type"]) && tool["type"] !== "function") reader.refuse(`${path}.type`, "must be function")
  const at = `${path}.function`
  const { name, description, parameters } = reader.checked(
    all(carried, "name", "description", "parameters"),
    tool["function"],
    at,
  )
  return present({
    name,
    description,
    inputSchema: schemaIn(reader, parameters, `${at}.parameters`),
    ...strictly(isStrict),
  })
}

/** The schema is `schema` in the API v1, and `json_schema` in v2, whose clients have either. */
export const outputOf = (reader: FieldReader, format: unknown): JsonObject | "json" | undefined => {
  if (isAbsent(format)) return undefined
  const path = "response_format"
  const { type, ...named } = reader.checked(all(carried, "type", "json_schema", "schema"), format, path)
  const word = reader.word({ text: "text", json_object: "json" } as const, type, `${path}.type`)
  if (word !== "json") return undefined
  const name = isAbsent(named["json_schema"]) ? "schema" : "json_schema"
  const schema = named[name]
  return isAbsent(schema) ? "json" : { schema: reader.exactly(schema, `${path}.${name}`), strict: true }
}

/** Thinking that is asked for without a budget is of the model's usual depth. */
const thinkingOf = (reader: FieldReader, value: unknown): JsonObject => {
  if (isAbsent(value)) return {}
  const { type, token_budget: budget } = reader.checked(all(carried, "type", "token_budget"), value, "thinking")
  const level = reader.word({ enabled: "medium", disabled: "off" }, type, "thinking.type")
  return isAbsent(budget) || level === "off" ? { reasoning: level } : { reasoningBudget: budget }
}
