/**
 * Servers of tools of the gateway in a request for a response: it makes the calls itself. Source:
 * https://platform.openai.com/docs/guides/tools-connectors-mcp
 */
import { argumentsIn } from "../client/client-parts.ts"
import { all, carried, type FieldReader, type FieldTable, isAbsent, withoutEffect } from "../client/fields.ts"
import { isObject, type JsonObject, objectAt, stringAt } from "../parse/json.ts"
import { type ServersInRequest, serverAt } from "../vendor/server-tools.ts"

const toolFields: FieldTable = {
  ...all(carried, "type", "server_label", "server_url", "allowed_tools", "require_approval"),
  ...all(withoutEffect("the gateway knows its caller"), "authorization", "headers"),
  ...all(withoutEffect("all tools are given at once"), "server_description", "defer_loading", "allowed_callers"),
}

/** Adds a server of the gateway. @returns whether the tool is one @param origins of the gateway */
export const addServer = (
  reader: FieldReader,
  servers: ServersInRequest,
  tool: unknown,
  path: string,
  origins: ReadonlyArray<string> | undefined,
): boolean => {
  if (!isObject(tool) || tool["type"] !== "mcp") return false
  const server = serverAt(tool["server_url"], origins)
  if (server === undefined) return false
  reader.check(toolFields, tool, path)
  const label = reader.string(tool["server_label"], `${path}.server_label`)
  const allow = namesIn(tool["allowed_tools"])
  servers.add(label, {
    kind: "mcp",
    server,
    ...(allow !== undefined && { allow }),
    approval: approvalOf(tool["require_approval"]),
  })
  return true
}

/** A list of names, or an object that has one. */
const namesIn = (value: unknown): ReadonlyArray<string> | undefined => {
  if (Array.isArray(value)) return value.map(String)
  const { tool_names: names } = isObject(value) ? value : {}
  return Array.isArray(names) ? names.map(String) : undefined
}

/** The API asks for approval where nothing is said. */
const approvalOf = (value: unknown): NonNullable<ServersInRequest["tools"][number]["approval"]> => {
  if (!isObject(value)) return value === "never" ? "never" : "always"
  const always = namesIn(objectAt(value, "always"))
  const never = namesIn(objectAt(value, "never"))
  if (always === undefined && never === undefined) return "always"
  return { ...(always !== undefined && { always }), ...(never !== undefined && { never }) }
}

const callPrefix = "mcp_"
const requestPrefix = "mcpr_"

/** The id of an item, from the call's. */
export const callItemId = (id: string): string => callPrefix + id
export const requestItemId = (id: string): string => requestPrefix + id

const callIdOf = (prefix: string, id: unknown): string => {
  const text = String(id)
  return text.startsWith(prefix) ? text.slice(prefix.length) : text
}

interface ThreadMessage extends JsonObject {
  readonly role: unknown
  readonly blocks: ReadonlyArray<JsonObject>
}

/** A call of a server's tool that the gateway has made, or that waits for approval; undefined if it is another item. */
export const callAtServer = (
  reader: FieldReader,
  servers: ServersInRequest,
  item: JsonObject,
  path: string,
): ReadonlyArray<ThreadMessage> | undefined => {
  switch (item["type"]) {
    case "mcp_list_tools":
      return servers.nameOf(item["server_label"], "") === undefined ? undefined : []
    case "mcp_call": {
      const name = servers.nameOf(item["server_label"], item["name"])
      if (name === undefined) return undefined
      const isApproved = !isAbsent(item["approval_request_id"])
      const id = callIdOf(callPrefix, item["id"])
      servers.approved.delete(id)
      const called = isApproved ? [] : [callOf(reader, item, name, id, path)]
      return [...called, { role: "tool", blocks: [resultOf(item, id)] }]
    }
    case "mcp_approval_request": {
      const { server_label: label } = item
      const name = servers.nameOf(label, item["name"])
      if (name === undefined) return undefined
      const id = callIdOf(requestPrefix, item["id"])
      servers.made.add(id)
      servers.asked.set(id, {
        label: String(label),
        name: String(item["name"]),
        args: stringAt(item, "arguments") ?? "{}",
      })
      return [callOf(reader, item, name, id, path)]
    }
    case "mcp_approval_response": {
      const id = callIdOf(requestPrefix, item["approval_request_id"])
      const asked = servers.asked.get(id)
      if (asked === undefined) return undefined
      const approve = item["approve"] === true
      if (approve) servers.approved.set(id, asked)
      const reason = stringAt(item, "reason")
      return [{ role: "tool", blocks: [{ t: "approval", id, approve, ...(reason !== undefined && { reason }) }] }]
    }
    default:
      return undefined
  }
}

const callOf = (reader: FieldReader, item: JsonObject, name: string, id: string, path: string): ThreadMessage => ({
  role: "assistant",
  blocks: [{ t: "tool_call", id, name, input: argumentsIn(reader, item["arguments"] ?? "{}", `${path}.arguments`) }],
})

const resultOf = ({ output, error }: JsonObject, id: string): JsonObject => ({
  t: "tool_result",
  id,
  v: typeof output === "string" ? output : typeof error === "string" ? error : JSON.stringify(error ?? ""),
  ...(!isAbsent(error) && { isError: true }),
})
