/** The twin of OpenAI's responses. */
import { type JsonObject, objectAt, objectsAt, stringAt } from "../../../dialects/parse/json.ts"
import { shapeFault } from "../shape.ts"
import { promptTokens } from "../tokens.ts"
import { brokenRule, type Twin, type TwinAsked } from "../twin.ts"
import { brokenRefusal, shapeRefusal } from "./faults.ts"
import { responseFrames, wholeResponse } from "./responses-reply.ts"
import { ResponsesBody } from "./responses-request.ts"
import { responsesRules } from "./responses-rules.ts"

/** A picture at high detail: https://platform.openai.com/docs/guides/images-vision */
const pictureTokens = 765

const choiceOf = (body: JsonObject): TwinAsked["choice"] => {
  const choice = body["tool_choice"]
  if (choice === "none" || choice === "required") return choice
  const name = stringAt(objectAt(body, "tool_choice"), "name")
  return name === undefined ? "auto" : { name }
}

const ofModel = new Set(["function_call", "custom_tool_call", "reasoning"])

const isOfModel = (item: JsonObject): boolean =>
  item["role"] === "assistant" || ofModel.has(stringAt(item, "type") ?? "")

const textsOf = (item: JsonObject): ReadonlyArray<string> =>
  ["content", "output"].flatMap((name) => {
    const text = stringAt(item, name)
    return text === undefined ? objectsAt(item, name).flatMap((part) => stringAt(part, "text") ?? []) : [text]
  })

/** A function, or a tool that takes a text. */
const toolIn = (tool: JsonObject): TwinAsked["tools"] => {
  const name = stringAt(tool, "name")
  if (name === undefined) return []
  if (tool["type"] === "custom") return [{ name, schema: {}, takesText: true }]
  return tool["type"] === "function" ? [{ name, schema: objectAt(tool, "parameters") ?? {} }] : []
}

const instructing = new Set(["system", "developer"])

export const responsesTwin: Twin = {
  dialect: "openai-responses",
  rules: responsesRules,
  refuse: (call) => {
    const fault = shapeFault(ResponsesBody, call.body)
    if (fault !== undefined) return shapeRefusal(call.body, fault, false)
    const broken = brokenRule(responsesRules, call)
    return broken && brokenRefusal(broken)
  },
  asked: ({ body }) => {
    const text = stringAt(body, "input")
    const items = text === undefined ? objectsAt(body, "input") : [{ role: "user", content: text }]
    const turn = items
      .slice(items.findLastIndex(isOfModel) + 1)
      .filter((item) => !instructing.has(stringAt(item, "role") ?? ""))
    return {
      model: stringAt(body, "model") ?? "",
      texts: turn.flatMap(textsOf),
      hasResults: turn.some((item) => /_output$/.test(stringAt(item, "type") ?? "")),
      calls: items.filter(({ type }) => type === "function_call" || type === "custom_tool_call").length,
      tools: objectsAt(body, "tools").flatMap(toolIn),
      choice: choiceOf(body),
      inTokens: promptTokens([body["instructions"], body["input"], body["tools"]], pictureTokens),
    }
  },
  whole: wholeResponse,
  frames: responseFrames,
}
