/**
 * Converse towards clients: a request becomes one of twp/1.
 * Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
 */
import type { Result } from "effect"
import type { ClientRequest } from "../client/client-api.ts"
import { stopsOf, strictly } from "../client/client-parts.ts"
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
  refused,
  withoutEffect,
} from "../client/fields.ts"
import { isObject, type JsonObject, parseObject } from "../parse/json.ts"
import { blocksIn, marksLast } from "./converse-blocks.ts"

export const converseFields: FieldTable = {
  ...all(carried, "messages", "system", "inferenceConfig", "toolConfig", "outputConfig"),
  additionalModelRequestFields: carried,
  requestMetadata: withoutEffect("it labels a request for its vendor"),
  additionalModelResponseFieldPaths: withoutEffect("a reply has the fields of the API"),
  performanceConfig: neutral({ latency: "standard" }),
  serviceTier: neutral({ type: "default" }),
  guardrailConfig: refused("policies are the gateway's own"),
  promptVariables: refused("prompts are not kept: send the messages"),
}

const inferenceFields = all(carried, "maxTokens", "temperature", "topP", "stopSequences")
const modelFields = all(carried, "thinking", "top_k", "anthropic_beta")
const toolFields = all(carried, "name", "description", "inputSchema", "strict")

/** The model, and whether it is a stream, are said by the path. */
export const decodeConverse = ({ model, stream, ...body }: JsonObject): Result.Result<ClientRequest, FieldRefusal> => {
  const reader = new FieldReader()
  reader.check(converseFields, body, "")
  const system = blocksIn(reader, reader.optionalList(body["system"], "system"), "system")
  const messages = reader.list(body["messages"], "messages").flatMap((message, index) => {
    const path = `messages.${index}`
    const { role, content } = reader.checked(all(carried, "role", "content"), message, path)
    if (role !== "user" && role !== "assistant") reader.refuse(`${path}.role`, "must be user or assistant")
    const blocks = blocksIn(reader, reader.list(content, `${path}.content`), `${path}.content`)
    return blocks.length === 0 ? [] : [{ role, blocks }]
  })
  const config = reader.optionalObject(body["inferenceConfig"], "inferenceConfig")
  reader.check(inferenceFields, config, "inferenceConfig")
  const more = reader.optionalObject(body["additionalModelRequestFields"], "additionalModelRequestFields")
  reader.check(modelFields, more, "additionalModelRequestFields")
  const offered = reader.optionalObject(body["toolConfig"], "toolConfig")
  reader.check(all(carried, "tools", "toolChoice"), offered, "toolConfig")
  const tools = toolsIn(reader, reader.optionalList(offered["tools"], "toolConfig.tools"))
  const exchange = present({
    model,
    thread: system.length === 0 ? messages : [{ role: "system", blocks: system }, ...messages],
    tools: tools.length === 0 ? undefined : tools,
    params: presentIfAny({
      maxTokens: config["maxTokens"],
      temperature: config["temperature"],
      topP: config["topP"],
      stop: stopsOf(config["stopSequences"]),
      topK: more["top_k"],
      toolChoice: tools.length === 0 ? undefined : choiceOf(reader, offered["toolChoice"]),
      output: outputOf(reader, body["outputConfig"]),
      ...thinkingOf(reader, more["thinking"]),
    }),
    stream,
  })
  const context = { model: reader.string(model, "model"), includesUsage: true }
  return reader.result({ exchange, context })
}

const toolsIn = (reader: FieldReader, listed: ReadonlyArray<unknown>): ReadonlyArray<JsonObject> => {
  const tools: Array<JsonObject> = []
  for (const [index, item] of listed.entries()) {
    const path = `toolConfig.tools.${index}`
    const tool = reader.checked(all(carried, "toolSpec", "cachePoint"), item, path)
    if (marksLast(reader, tools, tool, path)) continue
    const { name, description, inputSchema, strict } = reader.checked(toolFields, tool["toolSpec"], `${path}.toolSpec`)
    const { json } = reader.object(inputSchema, `${path}.toolSpec.inputSchema`)
    tools.push(present({ name, description, inputSchema: json, ...strictly(strict) }))
  }
  return tools
}

const choiceOf = (reader: FieldReader, value: unknown): unknown => {
  if (isAbsent(value)) return undefined
  const choice = reader.checked(all(carried, "auto", "any", "tool"), value, "toolConfig.toolChoice")
  if (isObject(choice["tool"])) return { name: choice["tool"]["name"] }
  return isAbsent(choice["any"]) ? "auto" : "required"
}

/** Claude's thinking, in the fields of Anthropic's API. */
const thinkingOf = (reader: FieldReader, value: unknown): JsonObject => {
  if (isAbsent(value)) return {}
  const path = "additionalModelRequestFields.thinking"
  const { type, budget_tokens } = reader.checked(all(carried, "type", "budget_tokens"), value, path)
  switch (type) {
    case "disabled":
      return { reasoning: "off" }
    case "adaptive":
      return { reasoning: "high" }
    case "enabled":
      return { reasoningBudget: budget_tokens }
    default:
      reader.refuse(`${path}.type`, "must be adaptive, enabled or disabled")
      return {}
  }
}

/** The schema of an answer is a text. */
const outputOf = (reader: FieldReader, value: unknown): JsonObject | undefined => {
  if (isAbsent(value)) return undefined
  const { textFormat } = reader.checked(all(carried, "textFormat"), value, "outputConfig")
  const { type, structure } = reader.object(textFormat, "outputConfig.textFormat")
  const { jsonSchema } = reader.optionalObject(structure, "outputConfig.textFormat.structure")
  const { schema: text } = reader.optionalObject(jsonSchema, "outputConfig.textFormat.structure.jsonSchema")
  const schema = typeof text === "string" ? parseObject(text) : undefined
  if (type !== "json_schema" || schema === undefined) {
    reader.refuse("outputConfig.textFormat", "must be a json_schema whose schema is the text of a JSON Schema")
    return undefined
  }
  return { schema, strict: true }
}
