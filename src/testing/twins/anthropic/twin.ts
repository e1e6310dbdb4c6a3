/** The twin of Anthropic's messages. Source: https://platform.claude.com/docs/en/api/messages, /en/api/errors */
import { type JsonObject, objectAt, objectsAt, stringAt } from "../../../dialects/parse/json.ts"
import { type ShapeFault, shapeFault, valueAt } from "../shape.ts"
import { promptTokens } from "../tokens.ts"
import { brokenRule, type Twin, type TwinAsked, type TwinRefusal } from "../twin.ts"
import { messageFrames, wholeMessage } from "./reply.ts"
import { MessagesBody } from "./request.ts"
import { anthropicRules } from "./rules.ts"

/** A picture of the usual size: https://platform.claude.com/docs/en/build-with-claude/vision */
const pictureTokens = 1568

const refusal = (rule: string, path: string, message: string): TwinRefusal => ({
  rule,
  status: 400,
  body: {
    type: "error",
    error: { type: "invalid_request_error", message: path === "" ? message : `${path}: ${message}` },
    request_id: "req_011twin",
  },
})

/** A path has the type of each element of a list, which says how the element was read. */
const pathIn = (body: JsonObject, path: ShapeFault["path"]): string =>
  path
    .flatMap((key, at) => {
      const value = valueAt(body, path.slice(0, at + 1))
      if (typeof key !== "number" || at === path.length - 1 || path[at - 1] === "messages") return [key]
      const type: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "type") : undefined
      return typeof type === "string" ? [key, type] : path[at - 1] === "tools" ? [key, "custom"] : [key]
    })
    .join(".")

const inWords = (body: JsonObject, { path, why }: ShapeFault): string => {
  switch (why) {
    case "unknown":
      return "Extra inputs are not permitted"
    case "missing":
      return "Field required"
    case "type":
      return "Input should be a valid value of its type"
    case "value":
      return `Input should be a valid value, found ${JSON.stringify(valueAt(body, path))?.slice(0, 80)}`
  }
}

const choiceOf = (body: JsonObject): TwinAsked["choice"] => {
  const choice = objectAt(body, "tool_choice")
  switch (stringAt(choice, "type")) {
    case "none":
      return "none"
    case "any":
      return "required"
    case "tool":
      return { name: stringAt(choice, "name") ?? "" }
    default:
      return "auto"
  }
}

const textsIn = (content: unknown): ReadonlyArray<string> => {
  if (typeof content === "string") return [content]
  if (!Array.isArray(content)) return []
  return content.flatMap((block: unknown) => {
    if (typeof block !== "object" || block === null) return []
    const text: unknown = Reflect.get(block, "text")
    return typeof text === "string" ? [text] : textsIn(Reflect.get(block, "content"))
  })
}

export const anthropicTwin: Twin = {
  dialect: "anthropic",
  rules: anthropicRules,
  refuse: (call) => {
    const fault = shapeFault(MessagesBody, call.body)
    if (fault !== undefined) return refusal("shape", pathIn(call.body, fault.path), inWords(call.body, fault))
    const broken = brokenRule(anthropicRules, call)
    return broken && refusal(broken.rule, broken.path, broken.message)
  },
  asked: ({ body }) => {
    const messages = objectsAt(body, "messages")
    const turn = messages.slice(messages.findLastIndex((message) => message["role"] === "assistant") + 1)
    return {
      model: stringAt(body, "model") ?? "",
      texts: turn.flatMap(({ role, content }) => (role === "system" ? [] : textsIn(content))),
      hasResults: turn.some((message) => objectsAt(message, "content").some(({ type }) => type === "tool_result")),
      calls: messages.flatMap((message) => objectsAt(message, "content")).filter(({ type }) => type === "tool_use")
        .length,
      tools: objectsAt(body, "tools").map((tool) => ({
        name: stringAt(tool, "name") ?? "",
        schema: objectAt(tool, "input_schema") ?? {},
      })),
      choice: choiceOf(body),
      inTokens: promptTokens([body["system"], body["messages"], body["tools"]], pictureTokens),
    }
  },
  whole: wholeMessage,
  frames: messageFrames,
}
