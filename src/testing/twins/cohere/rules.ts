/** Requests that Cohere refuses, beyond their shape, from the top down. */
import { type JsonObject, objectAt, objectsAt, stringAt } from "../../../dialects/parse/json.ts"
import { type Check, fault, firstOf, listed, membersOf, repeated, rule } from "../rules.ts"
import type { TwinRule } from "../twin.ts"

const docs = "https://docs.cohere.com/reference/chat"
const toolDocs = "https://docs.cohere.com/docs/tool-use-overview"
const outputDocs = "https://docs.cohere.com/docs/structured-outputs"

const messagesOf = (body: JsonObject) => objectsAt(body, "messages")
const callsOf = (message: JsonObject) => objectsAt(message, "tool_calls").map((call) => stringAt(call, "id") ?? "")

const someMessage: Check = (body) =>
  messagesOf(body).length > 0
    ? undefined
    : fault("messages", "invalid request: message must be at least 1 token long or tool results must be specified.")

const contentOrCalls: Check = (body) =>
  firstOf(messagesOf(body), (message, at) => {
    const { content } = message
    const isEmpty = content === undefined || content === "" || (Array.isArray(content) && content.length === 0)
    return message["role"] === "assistant" && isEmpty && callsOf(message).length === 0
      ? fault("messages", `invalid request: message at index ${at} must have content or tool_calls.`)
      : undefined
  })

const callsHaveResults: Check = (body) =>
  firstOf(messagesOf(body), (message, at) => {
    const calls = callsOf(message)
    const after = messagesOf(body).slice(at + 1)
    const end = after.findIndex(({ role }) => role !== "tool")
    const results = (end === -1 ? after : after.slice(0, end)).map((result) => stringAt(result, "tool_call_id"))
    const missing = calls.filter((id) => !results.includes(id))
    return missing.length === 0
      ? undefined
      : fault("messages", `invalid request: missing tool results for tool call IDs: ${missing.join(", ")}`)
  })

const resultsHaveCalls: Check = (body) => {
  let open: ReadonlyArray<string> = []
  return firstOf(messagesOf(body), (message) => {
    if (message["role"] !== "tool") {
      open = callsOf(message)
      return undefined
    }
    const id = stringAt(message, "tool_call_id") ?? ""
    return open.includes(id)
      ? undefined
      : fault("messages", `invalid request: cannot find tool call with ID ${id} for tool result.`)
  })
}

const uniqueIds: Check = (body) => {
  const id = repeated(messagesOf(body).flatMap(callsOf))
  return id === undefined ? undefined : fault("messages", `invalid request: duplicate tool call ID ${id}.`)
}

const toolSchemas: Check = (body) =>
  firstOf(objectsAt(body, "tools"), (tool) => {
    const fn = objectAt(tool, "function")
    return objectAt(fn, "parameters")?.["type"] === "object"
      ? undefined
      : fault("tools", `invalid request: tool '${stringAt(fn, "name")}' parameters must be of type 'object'.`)
  })

const fewStops: Check = ({ stop_sequences: stops }) =>
  Array.isArray(stops) && stops.length > 5
    ? fault("stop_sequences", "invalid request: a maximum of 5 stop sequences is allowed.")
    : undefined

const format = (body: JsonObject) => objectAt(body, "response_format")

const schemaOrTools: Check = (body) =>
  format(body)?.["type"] === "json_object" && objectsAt(body, "tools").length > 0
    ? fault("response_format", "invalid request: cannot specify both response_format json_object and tools.")
    : undefined

/** Each object requires one member at least. */
const outputSchema: Check = (body) => {
  const schema = objectAt(format(body), "json_schema")
  return schema !== undefined && (schema["type"] !== "object" || lacksRequired(schema))
    ? fault(
        "response_format",
        "invalid request: json_schema must be an object, and each object must have a required field.",
      )
    : undefined
}

const lacksRequired = (schema: JsonObject): boolean => {
  const { required } = schema
  if (schema["type"] === "object" && !(Array.isArray(required) && required.length > 0)) return true
  return [...membersOf(objectAt(schema, "properties")), ...listed(objectAt(schema, "items"))].some(lacksRequired)
}

const choiceNeedsTools: Check = (body) =>
  body["tool_choice"] === "REQUIRED" && objectsAt(body, "tools").length === 0
    ? fault("tool_choice", "invalid request: tool_choice can only be specified if tools are.")
    : undefined

export const cohereRules: ReadonlyArray<TwinRule> = [
  rule("a message at least", docs, someMessage),
  rule("content or calls", docs, contentOrCalls),
  rule("results directly after their calls", toolDocs, callsHaveResults),
  rule("results of calls only", toolDocs, resultsHaveCalls),
  rule("ids of calls differ", toolDocs, uniqueIds),
  rule("schemas of tools", toolDocs, toolSchemas),
  rule("a choice needs tools", toolDocs, choiceNeedsTools),
  rule("five stops", docs, fewStops),
  rule("a schema or tools", outputDocs, schemaOrTools),
  rule("schemas of output", outputDocs, outputSchema),
]
