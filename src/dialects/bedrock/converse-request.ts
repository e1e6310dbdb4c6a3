/**
 * Converse towards clients: a request becomes one of twp/1.
 * Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
 */
import { Result } from "effect"
import type { ReasoningLevel } from "../../protocol/exchange.ts"
import { reasoningOf } from "../anthropic/client-thinking.ts"
import type { ClientRequest } from "../client/client-api.ts"
import { openaiEfforts, stopsOf, strictly, tierOf } from "../client/client-parts.ts"
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
import { betasIn } from "./betas.ts"
import { blocksIn, isCachePoint, markLast } from "./converse-blocks.ts"
import { type MemberReaders, readMember } from "./converse-members.ts"

export const converseFields: FieldTable = {
  ...all(carried, "messages", "system", "inferenceConfig", "toolConfig", "outputConfig", "serviceTier"),
  additionalModelRequestFields: carried,
  requestMetadata: withoutEffect("it labels a request for its vendor"),
  additionalModelResponseFieldPaths: withoutEffect("a reply has the fields of the API"),
  performanceConfig: neutral({ latency: "standard" }),
  guardrailConfig: refused("policies are the gateway's own"),
  promptVariables: refused("prompts are not kept: send the messages"),
}

const inferenceFields = all(carried, "maxTokens", "temperature", "topP", "stopSequences")
/** Fields of Claude, Nova, gpt-oss and Qwen: each family has its own for reasoning. */
const modelFields: FieldTable = {
  ...all(carried, "thinking", "output_config", "top_k", "inferenceConfig"),
  ...all(carried, "reasoning_config", "reasoningConfig", "reasoning_effort"),
  anthropic_beta: withoutEffect("it switches features of its vendor"),
}
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
    return blocks.length === 0 ? [] : reader.placedMessages([{ role, blocks }], path)
  })
  const config = reader.optionalObject(body["inferenceConfig"], "inferenceConfig")
  reader.check(inferenceFields, config, "inferenceConfig")
  const fields = reader.optionalObject(body[more], more)
  reader.check(modelFields, fields, more)
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
      topK: topKOf(reader, fields),
      toolChoice: choiceOf(reader, offered["toolChoice"], tools.length > 0),
      output: outputOf(reader, body["outputConfig"]),
      serviceTier: isAbsent(body["serviceTier"])
        ? undefined
        : tierOf(reader.checked(all(carried, "type"), body["serviceTier"], "serviceTier")["type"]),
      ...reasoningIn(reader, fields),
    }),
    stream,
  })
  const context = { model: reader.string(model, "model"), includesUsage: true, features: betasIn(fields) }
  return Result.flatMap(reader.result({ exchange, context }), (read) => reader.carriedResult(read))
}

const toolsIn = (reader: FieldReader, listed: ReadonlyArray<unknown>): ReadonlyArray<JsonObject> => {
  const tools: Array<JsonObject> = []
  for (const [index, item] of listed.entries()) {
    const path = `toolConfig.tools.${index}`
    const tool = reader.object(item, path)
    if (isCachePoint(tool)) markLast(reader, tools, tool, path)
    else tools.push(...(readMember(reader, toolReaders, tool, path) ?? []))
  }
  return tools
}

const toolReaders: MemberReaders<ReadonlyArray<JsonObject>> = {
  toolSpec: (reader, value, path) => {
    const { name, description, inputSchema, strict } = reader.checked(toolFields, value, path)
    const schema = reader.checked(all(carried, "json"), inputSchema, `${path}.inputSchema`)
    const json = reader.exactly(reader.object(schema["json"], `${path}.inputSchema.json`), `${path}.inputSchema.json`)
    return [present({ name, description, inputSchema: json, ...strictly(strict) })]
  },
  systemTool: (reader, _, path) => {
    reader.refuse(path, "is not supported: tools that a vendor runs are not available")
    return []
  },
}

const choiceOf = (reader: FieldReader, value: unknown, hasTools: boolean): unknown => {
  if (isAbsent(value)) return undefined
  const path = "toolConfig.toolChoice"
  const choice = readMember(reader, choiceReaders, reader.object(value, path), path)
  if (hasTools) return choice
  if (choice !== "auto") reader.refuse(path, "needs tools")
  return undefined
}

const choiceReaders: MemberReaders<unknown> = {
  auto: () => "auto",
  any: () => "required",
  tool: (reader, value, path) => ({
    name: reader.string(reader.checked(all(carried, "name"), value, path)["name"], `${path}.name`),
  }),
}

const more = "additionalModelRequestFields"

const topKOf = (reader: FieldReader, { top_k, inferenceConfig }: JsonObject): unknown =>
  isAbsent(inferenceConfig)
    ? top_k
    : reader.checked(all(carried, "topK"), inferenceConfig, `${more}.inferenceConfig`)["topK"]

/** Reasoning in the fields of a model's family. */
const reasoningIn = (reader: FieldReader, fields: JsonObject): JsonObject => {
  const { thinking, output_config, reasoning_config, reasoningConfig, reasoning_effort } = fields
  const { effort } = isAbsent(output_config)
    ? {}
    : reader.checked(all(carried, "effort"), output_config, `${more}.output_config`)
  // The older name of Claude's thinking; Qwen has a level of the same name.
  const isOlder = isAbsent(thinking) && isObject(reasoning_config)
  const names = {
    thinking: `${more}.${isOlder ? "reasoning_config" : "thinking"}`,
    effort: `${more}.output_config.effort`,
  }
  const level = reasoning_effort ?? (isOlder ? undefined : reasoning_config)
  const levelName = `${more}.${isAbsent(reasoning_effort) ? "reasoning_config" : "reasoning_effort"}`
  return (
    presentIfAny({
      reasoning: reader.word(openaiEfforts, level, levelName) ?? novaLevel(reader, reasoningConfig),
      ...presentIfAny(reasoningOf(reader, { thinking: isOlder ? reasoning_config : thinking, effort }, names)),
    }) ?? {}
  )
}

const novaLevel = (reader: FieldReader, value: unknown): ReasoningLevel | undefined => {
  if (isAbsent(value)) return undefined
  const path = `${more}.reasoningConfig`
  const { type, maxReasoningEffort } = reader.checked(all(carried, "type", "maxReasoningEffort"), value, path)
  const isOn = reader.word({ enabled: true, disabled: false }, type, `${path}.type`)
  if (isOn !== true) return "off"
  return reader.word(openaiEfforts, maxReasoningEffort, `${path}.maxReasoningEffort`) ?? "medium"
}

/** The schema of an answer is a text. */
const outputOf = (reader: FieldReader, value: unknown): JsonObject | undefined => {
  if (isAbsent(value)) return undefined
  const path = "outputConfig.textFormat"
  const { textFormat } = reader.checked(all(carried, "textFormat"), value, "outputConfig")
  if (isAbsent(textFormat)) return undefined
  const { type, structure } = reader.checked(all(carried, "type", "structure"), textFormat, path)
  const { jsonSchema } = reader.checked(all(carried, "jsonSchema"), structure, `${path}.structure`)
  const described = reader.checked(schemaFields, jsonSchema, `${path}.structure.jsonSchema`)
  const { schema: text, name } = described
  const schema = typeof text === "string" ? parseObject(text) : undefined
  if (type !== "json_schema" || schema === undefined) {
    reader.refuse(path, "must be a json_schema whose schema is the text of a JSON Schema")
    return undefined
  }
  return present({ name, schema, strict: true })
}

const schemaFields: FieldTable = {
  ...all(carried, "schema", "name"),
  description: withoutEffect("a schema describes itself"),
}
