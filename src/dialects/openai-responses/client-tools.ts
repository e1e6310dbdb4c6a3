/** The tools of a request for a response, in groups or not, and the choice among them. */

import type { GroupedTool } from "../client/client-api.ts"
import {
  allowedTools,
  type ClientToolChoice,
  schemaIn,
  strictly,
  textTool,
  textToolFields,
  toolChoices,
} from "../client/client-parts.ts"
import { all, carried, type FieldReader, type FieldTable, isAbsent, present, withoutEffect } from "../client/fields.ts"
import { pathOf } from "../parse/exact-places.ts"
import { isObject, type JsonObject } from "../parse/json.ts"
import { HostedTools } from "../vendor/hosted-tools.ts"
import { clientToolOf } from "../vendor/vendor-tools.ts"

const toolFields: FieldTable = {
  ...all(carried, "type", "name", "description", "parameters", "strict"),
  ...all(withoutEffect("all tools are given at once"), "defer_loading", "allowed_callers"),
  output_schema: withoutEffect("results are the client's"),
}

/** Tools that a thread defines. */
export const toolsIn = (items: ReadonlyArray<unknown>): ReadonlyArray<FoundTool> =>
  items.flatMap((item, index) => {
    if (!isObject(item) || !Array.isArray(item["tools"])) return []
    return item["tools"].map((tool: unknown, at) => ({ tool, place: `input.${index}.tools.${at}` }))
  })

/** A tool, and its position in the body. */
interface FoundTool {
  readonly tool: unknown
  readonly place: string
}

/** @param found in the thread */
export const toolsOf = (
  reader: FieldReader,
  listed: ReadonlyArray<unknown>,
  found: ReadonlyArray<FoundTool>,
  choice: unknown,
) => {
  const tools: Array<JsonObject> = []
  const hosted = new HostedTools(reader, choice)
  const groups = new Map<string, GroupedTool>()
  const named = new Set<string>()
  const add = (item: unknown, path: string, place: string, namespace?: string) => {
    const tool = reader.object(item, path)
    const { type, description, parameters } = tool
    if (type === "namespace" && namespace === undefined) {
      const group = reader.string(tool["name"], `${path}.name`)
      reader.list(tool["tools"], `${path}.tools`).forEach((inner, index) => {
        const inside = `tools.${index}`
        add(inner, `${path}.${inside}`, `${place}.${inside}`, group)
      })
      return
    }
    const vendorTool = clientToolOf("openai", type, tool)
    if (vendorTool !== undefined) {
      tools.push(vendorTool)
      return
    }
    if (type !== "function" && type !== "custom") {
      hosted.add(reader.string(type, `${path}.type`), tool, `${place}.type`, pathOf(place))
      return
    }
    reader.check(type === "custom" ? textToolFields : toolFields, tool, path)
    const own = reader.string(tool["name"], `${path}.name`)
    const name = namespace === undefined ? own : flatName(namespace, own)
    if (namespace !== undefined) groups.set(name, { namespace, name: own })
    if (named.has(name)) return
    named.add(name)
    if (type === "custom") {
      tools.push(textTool(reader, { ...tool, name }, `${path}.format`, (format) => format))
      return
    }
    const inputSchema = schemaIn(reader, parameters, `${place}.parameters`)
    tools.push(present({ name, description, inputSchema, ...strictly(tool["strict"]) }))
  }
  for (const [index, item] of listed.entries()) add(item, `tools.${index}`, `tools.${index}`)
  for (const [index, { tool, place }] of found.entries()) add(tool, `tools.${listed.length + index}`, place)
  return { tools, groups, hosted }
}

/** Vendors' names have at most 64 characters. */
export const flatName = (namespace: string, name: string): string =>
  `${namespace.replace(/[^a-zA-Z0-9_-]/g, "_")}__${name}`.slice(-64)

export const toolChoiceOf = (reader: FieldReader, choice: unknown): ClientToolChoice => {
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
