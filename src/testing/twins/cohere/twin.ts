/** The twin of Cohere's chat. Source: https://docs.cohere.com/reference/chat, https://docs.cohere.com/reference/errors */
import { stringAt } from "../../../dialects/parse/json.ts"
import { askedInChat } from "../openai/chat-twin.ts"
import { shapeFault } from "../shape.ts"
import { brokenRule, type Twin, type TwinRefusal } from "../twin.ts"
import { chatFrames, wholeChat } from "./reply.ts"
import { ChatBody } from "./request.ts"
import { cohereRules } from "./rules.ts"

const refusal = (rule: string, message: string, status = 400): TwinRefusal => ({
  rule,
  status,
  body: { id: "twin", message },
})

const choices = new Map<string | undefined, "none" | "required">([
  ["NONE", "none"],
  ["REQUIRED", "required"],
])

export const cohereTwin: Twin = {
  dialect: "cohere",
  rules: cohereRules,
  refuse: (call) => {
    const fault = shapeFault(ChatBody, call.body)
    if (fault !== undefined) {
      const path = fault.path.join(".")
      return fault.why === "unknown"
        ? refusal("shape", `unknown field: parameter '${path}' is not a valid field`, 422)
        : refusal(
            "shape",
            `invalid request: parameter '${path}' is ${fault.why === "missing" ? "required" : "invalid"}`,
          )
    }
    const broken = brokenRule(cohereRules, call)
    return broken && refusal(broken.rule, broken.message)
  },
  // Messages and tools have the form of chat completions; the choice has values of its own.
  asked: ({ body }) => ({ ...askedInChat(body), choice: choices.get(stringAt(body, "tool_choice")) ?? "auto" }),
  whole: wholeChat,
  frames: chatFrames,
}
