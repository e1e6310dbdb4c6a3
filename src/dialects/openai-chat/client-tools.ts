/** The tools of chat completions, and the choice among them. */
import {
  allowedTools,
  type ClientToolChoice,
  marked,
  markFields,
  markOf,
  schemaIn,
  strictly,
  textTool,
  textToolFields,
  toolChoices,
} from "../client/client-parts.ts"
import { all, carried, type FieldReader, type FieldTable, isAbsent, present } from "../client/fields.ts"
import { type JsonObject, objectAt } from "../parse/json.ts"
import { HostedTools } from "../vendor/hosted-tools.ts"

const toolFields: FieldTable = {
  ...all(carried, "type", "function", "cache_control"),
}

const functionFields: FieldTable = {
  ...all(carried, "name", "description", "parameters", "strict"),
}

const choiceFields = all(carried, "type", "function", "custom", "allowed_tools")

export const toolsOf = (reader: FieldReader, value: unknown, choice: unknown) => {
  const tools: Array<JsonObject> = []
  const hosted = new HostedTools(reader, choice, { isCounted: false })
  for (const [index, item] of reader.optionalList(value, "tools").entries()) {
    const path = `tools.${index}`
    const tool = reader.object(item, path)
    if (tool["type"] === "custom") {
      const custom = reader.checked(textToolFields, tool["custom"], `${path}.custom`)
      tools.push(textTool(reader, custom, `${path}.custom.format`, (format) => objectAt(format, "grammar") ?? format))
      continue
    }
    // Some clients leave the type of a function out.
    if (!isAbsent(tool["type"]) && tool["type"] !== "function") {
      hosted.add(reader.string(tool["type"], `${path}.type`), tool, `${path}.type`, ["tools", index])
      continue
    }
    reader.check(toolFields, tool, path)
    const fn = reader.object(tool["function"], `${path}.function`)
    reader.check(functionFields, fn, `${path}.function`)
    const { name, description, parameters } = fn
    const inputSchema = schemaIn(reader, parameters, `${path}.function.parameters`)
    const cacheable = markOf(reader, tool, path, markFields)
    tools.push(marked(present({ name, description, inputSchema, ...strictly(fn["strict"]) }), cacheable))
  }
  return { tools, hosted }
}

export const toolChoiceOf = (reader: FieldReader, choice: unknown): ClientToolChoice => {
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
