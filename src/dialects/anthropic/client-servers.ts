/**
 * Servers of tools in an Anthropic request: those of the gateway, which makes the calls, and others, which a vendor calls. Source:
 * https://platform.claude.com/docs/en/agents-and-tools/mcp-connector
 */
import { all, carried, type FieldReader, type FieldTable, isAbsent, present, withoutEffect } from "../client/fields.ts"
import { isObject, type JsonObject, objectAt, objectsAt } from "../parse/json.ts"
import { ServersInRequest, serverAt } from "../vendor/server-tools.ts"

const serverFields: FieldTable = {
  ...all(carried, "type", "url", "name", "tool_configuration"),
  authorization_token: withoutEffect("the gateway knows its caller"),
}
const toolsetFields: FieldTable = {
  ...all(carried, "type", "mcp_server_name", "default_config", "configs"),
  cache_control: withoutEffect("tools of servers come last"),
}

interface Servers {
  readonly servers: ServersInRequest
  /** Whether there is no other server. */
  readonly isOnlyOurs: boolean
}

/** @param origins of the gateway */
export const serversIn = (
  reader: FieldReader,
  body: JsonObject,
  origins: ReadonlyArray<string> | undefined,
): Servers => {
  const servers = new ServersInRequest()
  const listed = isAbsent(body["mcp_servers"]) ? [] : reader.list(body["mcp_servers"], "mcp_servers")
  let isOnlyOurs = true
  for (const [index, item] of listed.entries()) {
    const server = isObject(item) ? serverAt(item["url"], origins) : undefined
    if (!isObject(item) || server === undefined) {
      isOnlyOurs = false
      continue
    }
    const path = `mcp_servers.${index}`
    reader.check(serverFields, item, path)
    const name = reader.string(item["name"], `${path}.name`)
    const toolsets = objectsAt(body, "tools").filter((tool) => isToolset(tool, name))
    for (const toolset of toolsets) reader.check(toolsetFields, toolset, "tools")
    const chosen = toolsets.length === 0 ? configuredIn(item) : chosenIn(toolsets)
    if (chosen !== undefined) servers.add(name, { kind: "mcp", server, ...chosen })
  }
  return { servers, isOnlyOurs }
}

const isToolset = (tool: unknown, name: string): boolean =>
  isObject(tool) && tool["type"] === "mcp_toolset" && tool["mcp_server_name"] === name

export const isToolsetOf = ({ labels }: ServersInRequest, tool: unknown): boolean =>
  [...labels.values()].some((name) => isToolset(tool, name))

interface Chosen {
  readonly allow?: ReadonlyArray<string>
  readonly deny?: ReadonlyArray<string>
}

/** The choice of the older form of the API; undefined if its tools are off. */
const configuredIn = (server: JsonObject): Chosen | undefined => {
  const { enabled, allowed_tools: allowed } = objectAt(server, "tool_configuration") ?? {}
  if (enabled === false) return undefined
  return Array.isArray(allowed) ? { allow: allowed.map(String) } : {}
}

const chosenIn = (toolsets: ReadonlyArray<JsonObject>): Chosen => {
  const configs = toolsets.flatMap((toolset) => Object.entries(objectAt(toolset, "configs") ?? {}))
  const named = (enabled: boolean) =>
    configs.flatMap(([name, config]) => (isObject(config) && config["enabled"] === enabled ? [name] : []))
  const isOff = toolsets.every((toolset) => objectAt(toolset, "default_config")?.["enabled"] === false)
  const denied = named(false)
  return isOff ? { allow: named(true) } : present({ ...(denied.length > 0 && { deny: denied }) })
}
