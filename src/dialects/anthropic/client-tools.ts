/** The tools of an Anthropic request, and the choice among them. */
import type { JsonPath } from "../../protocol/json/json-edit.ts"
import { marked, markOf, strictly } from "../client/client-parts.ts"
import {
  all,
  carried,
  type FieldReader,
  type FieldTable,
  isAbsent,
  own,
  present,
  withoutEffect,
} from "../client/fields.ts"
import { isObject, type JsonObject } from "../parse/json.ts"
import { HostedTools } from "../vendor/hosted-tools.ts"
import { clientToolOf } from "../vendor/vendor-tools.ts"
import { markFields } from "./client-blocks.ts"

const toolFields: FieldTable = {
  ...all(carried, "type", "name", "description", "input_schema", "cache_control"),
  ...all(withoutEffect("it tunes its vendor's own handling of a tool"), "input_examples"),
  strict: carried,
  ...all(withoutEffect("all tools are given at once"), "defer_loading", "eager_input_streaming"),
  allowed_callers: own(["direct"]),
}

const choiceFields = all(carried, "type", "name", "disable_parallel_tool_use")

export const choiceOf = (reader: FieldReader, value: unknown): JsonObject => {
  if (isAbsent(value)) return {}
  const choice = reader.checked(choiceFields, value, "tool_choice")
  const { disable_parallel_tool_use: isSingle } = choice
  const words = { auto: "auto", any: "required", none: "none" }
  const toolChoice =
    choice["type"] === "tool" ? { name: choice["name"] } : reader.word(words, choice["type"], "tool_choice.type")
  return { toolChoice, ...(typeof isSingle === "boolean" && { parallelToolCalls: !isSingle }) }
}

/** Tools that a thread defines on its way: all tools are given at once. */
export const toolsIn = (messages: unknown): ReadonlyArray<FoundTool> => {
  if (!Array.isArray(messages)) return []
  return messages.flatMap((message: unknown, at) => {
    const content = isObject(message) ? message["content"] : undefined
    if (!Array.isArray(content)) return []
    return content.flatMap((block: unknown, index) => {
      const { type, tool } = isObject(block) ? block : {}
      if (type !== "tool_addition" || !isObject(tool) || tool["type"] !== "tool_definition") return []
      const place = `messages.${at}.content.${index}.tool.definition`
      return [{ tool: tool["definition"], place, whole: ["messages", at, "content", index] }]
    })
  })
}

/** A tool, and its position in the body. */
interface FoundTool {
  readonly tool: unknown
  readonly place: string
  /** The part of the body that is removed with it. */
  readonly whole: JsonPath
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
  const own = listed.map((tool, index) => ({ tool, place: `tools.${index}`, whole: ["tools", index] }))
  for (const [index, item] of [...own, ...found].entries()) {
    const path = `tools.${index}`
    const tool = reader.object(item.tool, path)
    const { type, name, description, input_schema: schema } = tool
    if (!isAbsent(type) && type !== "custom") {
      const own = clientToolOf("anthropic", type, tool)
      if (own !== undefined) {
        tools.push(own)
        continue
      }
      hosted.add(reader.string(type, `${path}.type`), tool, `${item.place}.type`, item.whole)
      continue
    }
    reader.check(toolFields, tool, path)
    const inputSchema = reader.exactly(schema, `${item.place}.input_schema`)
    const cacheable = markOf(reader, tool, path, markFields)
    tools.push(marked(present({ name, description, inputSchema, ...strictly(tool["strict"]) }), cacheable))
  }
  return { tools, hosted }
}
