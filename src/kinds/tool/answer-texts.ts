/** The texts of a server's answer, with others in their places. Pure. */
import { isObject } from "../../dialects/parse/json.ts"
import type { EditText } from "../../policies/reply/reply-blocks.ts"
import { editJsonText, type JsonEdit, type JsonPath, set } from "../../protocol/json/json-edit.ts"
import type { ResponseMessage } from "../../protocol/mcp/message.ts"

/** Members that hold a word of the protocol, or bytes in Base64. */
const unread: ReadonlySet<string> = new Set(["type", "role", "mimeType", "resultType", "data", "blob"])

/** Content of these types has bytes in `data`; elsewhere it is a text like others. */
const withBytes: ReadonlySet<unknown> = new Set(["image", "audio"])

/** @param json the message @param answer the same, parsed */
export const editAnswer = (json: string, answer: ResponseMessage, edit: EditText): string => {
  const edits: Array<JsonEdit> = []
  const change = (text: string, path: JsonPath) => {
    const made = edit(text, "toolResults", false)
    if (made !== text) edits.push(set(made, ...path))
  }
  const walk = (value: unknown, path: JsonPath): void => {
    if (typeof value === "string") change(value, path)
    // A mark is a text, also in the place of a number.
    else if (typeof value === "number") change(String(value), path)
    else if (Array.isArray(value)) {
      for (const [at, each] of value.entries()) walk(each, [...path, at])
    } else if (isObject(value)) {
      for (const [name, each] of Object.entries(value)) {
        if (typeof each !== "string" || !isUnread(name, value, path)) walk(each, [...path, name])
      }
    }
  }
  if ("result" in answer) walk(answer.result, ["result"])
  else {
    change(answer.error.message, ["error", "message"])
    walk(answer.error.data, ["error", "data"])
  }
  return edits.length === 0 ? json : editJsonText(json, edits)
}

/** Whether a member is no text that a tool has written. */
const isUnread = (name: string, owner: Readonly<Record<string, unknown>>, path: JsonPath): boolean => {
  if (!unread.has(name) || path.includes("structuredContent") || path[0] === "error") return false
  return name !== "data" || withBytes.has(owner["type"])
}
