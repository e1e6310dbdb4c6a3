/** Anthropic's messages as clients send them. Source: https://docs.anthropic.com/en/api/messages */

import type { Result } from "effect"
import { endUsersAt, ownRequest } from "../carry/own-request.ts"
import type { ClientRequest, RequestPlace } from "../client/client-api.ts"
import { stopsOf } from "../client/client-parts.ts"
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
import { type JsonObject, objectAt, objectsAt, stringAt } from "../parse/json.ts"
import { messageOf, textsOf } from "./client-blocks.ts"
import { isToolsetOf, serversIn } from "./client-servers.ts"
import { reasoningOf } from "./client-thinking.ts"
import { choiceOf, toolsIn, toolsOf } from "./client-tools.ts"
import { sentInstructions } from "./instructions.ts"

export const messagesFields: FieldTable = {
  ...all(
    carried,
    "model",
    "messages",
    "system",
    "max_tokens",
    "stream",
    "temperature",
    "top_p",
    "stop_sequences",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "output_format",
    "top_k",
  ),
  metadata: withoutEffect("it labels a request for its vendor"),
  context_management: withoutEffect("the client's thread is what counts"),
  cache_control: withoutEffect("the end of the thread is a cache breakpoint already"),
  mcp_servers: withoutEffect("it belongs to tools that its vendor runs, where it does not name one of the gateway's"),
  betas: withoutEffect("it switches features of its vendor"),
  anthropic_version: withoutEffect("the target says which version of the API it speaks"),
  anthropic_beta: refused("send the header anthropic-beta"),
  diagnostics: withoutEffect("it asks for its vendor's own diagnosis"),
  service_tier: neutral("auto", "standard_only"),
  inference_geo: neutral("global"),
  speed: neutral("standard"),
  container: withoutEffect("it belongs to tools that its vendor runs"),
  fallbacks: refused("targets of a model are the catalogue's"),
  fallback_credit_token: refused("targets of a model are the catalogue's"),
  user_profile_id: refused("profiles of a vendor are not used"),
  workspace_id: refused("workspaces of a vendor are not used"),
  billing_policy: refused("the gateway bills its organisations"),
  compaction: refused("summarise the thread with a message"),
  thread: refused("nothing is stored: send all messages"),
}

const formatFields: FieldTable = { ...all(carried, "type", "schema"), name: withoutEffect("a schema describes itself") }

export const decodeMessagesRequest = (
  body: JsonObject,
  { counts, origins }: RequestPlace,
): Result.Result<ClientRequest, FieldRefusal> => {
  const reader = new FieldReader()
  reader.check(messagesFields, body, "")
  const listed = reader.optionalList(body["tools"], "tools")
  const { servers, isOnlyOurs } = serversIn(reader, body, origins)
  const others = servers.named === undefined ? listed : listed.filter((tool) => !isToolsetOf(servers, tool))
  const { tools: own, hosted } = toolsOf(reader, others, toolsIn(body["messages"]), body["tool_choice"])
  if (!isOnlyOurs) hosted.add("mcp", {}, "mcp_servers", ["mcp_servers"])
  const tools: ReadonlyArray<unknown> = [...own, ...servers.tools]
  const system = isAbsent(body["system"]) ? [] : textsOf(reader, body["system"], "system")
  const thread = reader.list(body["messages"], "messages").flatMap((message, index) => {
    const path = `messages.${index}`
    return messageOf(reader, reader.object(message, path), path, servers)
  })
  const config = reader.optionalObject(body["output_config"], "output_config")
  reader.check(all(carried, "effort", "format", "task_budget"), config, "output_config")
  const hasTools = tools.length > 0
  const exchange = present({
    model: body["model"],
    thread: system.length === 0 ? thread : [{ role: "system", blocks: system }, ...thread],
    tools: hasTools ? tools : undefined,
    params: presentIfAny({
      maxTokens: body["max_tokens"],
      temperature: body["temperature"],
      topP: body["top_p"],
      stop: stopsOf(body["stop_sequences"]),
      ...choiceOf(reader, hasTools ? body["tool_choice"] : undefined),
      ...reasoningOf(reader, { thinking: body["thinking"], effort: config["effort"] }),
      output: isAbsent(config["format"])
        ? outputOf(reader, body["output_format"], "output_format")
        : outputOf(reader, config["format"], "output_config.format"),
      topK: body["top_k"],
      vendorOptions: presentIfAny({ anthropic: presentIfAny({ taskBudget: config["task_budget"] }) }),
    }),
    stream: body["stream"],
  })
  const model = reader.string(body["model"], "model")
  if (isAbsent(body["max_tokens"]) && !counts) reader.refuse("max_tokens", "is required")
  const carriedOn = ownRequest(reader, endUsersAt(body, ["metadata", "user_id"]), { hosted, listed: body["tools"] })
  const instructions = sentInstructions(body)
  return reader.carriedResult({
    exchange,
    context: { model, includesUsage: true, servers: servers.named },
    own: { ...carriedOn, compacts: compacts(body), ...(instructions !== undefined && { instructions }) },
  })
}

const compacts = (body: JsonObject): boolean =>
  objectsAt(objectAt(body, "context_management"), "edits").some((edit) => stringAt(edit, "type")?.startsWith("compact"))

const outputOf = (reader: FieldReader, format: unknown, path: string): JsonObject | undefined => {
  if (isAbsent(format)) return undefined
  const { type, schema } = reader.checked(formatFields, format, path)
  if (type !== "json_schema") {
    reader.lacks(`${path}.type`, "must be json_schema")
    return undefined
  }
  return { schema: reader.exactly(schema, `${path}.schema`), strict: true }
}
