/** The twin of Amazon Bedrock's Converse. Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html */
import { type JsonObject, objectAt, objectsAt, stringAt } from "../../../dialects/parse/json.ts"
import { listed } from "../rules.ts"
import { shapeFault } from "../shape.ts"
import { promptTokens } from "../tokens.ts"
import { brokenRule, type Twin, type TwinAsked, type TwinRefusal } from "../twin.ts"
import { converseFrames, wholeConverse } from "./reply.ts"
import { ConverseBody } from "./request.ts"
import { bedrockRules, modelIn } from "./rules.ts"

const pictureTokens = 1568

const refusal = (rule: string, message: string): TwinRefusal => ({
  rule,
  status: 400,
  body: { __type: "ValidationException", message },
})

const choiceOf = (body: JsonObject): TwinAsked["choice"] => {
  const choice = objectAt(objectAt(body, "toolConfig"), "toolChoice") ?? {}
  const name = stringAt(objectAt(choice, "tool"), "name")
  if (name !== undefined) return { name }
  return "any" in choice ? "required" : "auto"
}

const textsOf = (message: JsonObject): ReadonlyArray<string> =>
  objectsAt(message, "content").flatMap((block) => [
    ...listed(stringAt(block, "text")),
    ...objectsAt(objectAt(block, "toolResult"), "content").flatMap((each) => listed(stringAt(each, "text"))),
  ])

const has = (message: JsonObject, name: string): boolean => objectsAt(message, "content").some((block) => name in block)

export const bedrockTwin: Twin = {
  dialect: "bedrock",
  rules: bedrockRules,
  contentType: "application/vnd.amazon.eventstream",
  refuse: (call) => {
    const fault = shapeFault(ConverseBody, call.body)
    if (fault !== undefined) {
      const path = fault.path.join(".")
      const why = { unknown: `extraneous key [${path}] is not permitted`, missing: `${path} must not be null` }
      return refusal(
        "shape",
        fault.why in why ? Reflect.get(why, fault.why) : `Value at '${path}' failed to satisfy constraint`,
      )
    }
    const broken = brokenRule(bedrockRules, call)
    return broken && refusal(broken.rule, broken.message)
  },
  asked: ({ body, path }) => {
    const messages = objectsAt(body, "messages")
    const turn = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1)
    return {
      model: modelIn(path),
      texts: turn.flatMap(textsOf),
      hasResults: turn.some((message) => has(message, "toolResult")),
      calls: messages.filter((message) => has(message, "toolUse")).length,
      tools: objectsAt(objectAt(body, "toolConfig"), "tools").flatMap((tool) => {
        const spec = objectAt(tool, "toolSpec")
        return listed(
          spec && { name: stringAt(spec, "name") ?? "", schema: objectAt(objectAt(spec, "inputSchema"), "json") ?? {} },
        )
      }),
      choice: choiceOf(body),
      inTokens: promptTokens([body["system"], body["messages"], body["toolConfig"]], pictureTokens),
    }
  },
  whole: wholeConverse,
  frames: converseFrames,
}
