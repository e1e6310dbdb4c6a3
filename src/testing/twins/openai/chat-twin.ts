/** Twins of OpenAI's chat completions, and of vendors with the same API. */
import type { Schema } from "effect"
import { type JsonObject, objectAt, objectsAt, stringAt } from "../../../dialects/parse/json.ts"
import { shapeFault } from "../shape.ts"
import { promptTokens } from "../tokens.ts"
import { brokenRule, type Twin, type TwinAsked, type TwinRule } from "../twin.ts"
import { chatFrames, wholeChat } from "./chat-reply.ts"
import {
  ChatBody,
  DeepSeekBody,
  GenericBody,
  GroqBody,
  MistralBody,
  MoonshotBody,
  QwenBody,
  XaiBody,
  ZaiBody,
} from "./chat-request.ts"
import {
  deepseekRules,
  genericRules,
  groqRules,
  mistralRules,
  moonshotRules,
  openaiChatRules,
  qwenRules,
  xaiRules,
  zaiRules,
} from "./chat-rules.ts"
import { brokenRefusal, shapeRefusal } from "./faults.ts"

/** A picture at high detail: https://platform.openai.com/docs/guides/images-vision */
const pictureTokens = 765

/** A function, or a tool that takes a text. */
const toolIn = (tool: JsonObject): TwinAsked["tools"][number] => {
  const custom = stringAt(objectAt(tool, "custom"), "name")
  if (custom !== undefined) return { name: custom, schema: {}, takesText: true }
  const fn = objectAt(tool, "function")
  return { name: stringAt(fn, "name") ?? "", schema: objectAt(fn, "parameters") ?? {} }
}

const choiceOf = ({ tool_choice: choice }: JsonObject): TwinAsked["choice"] => {
  if (choice === "none") return "none"
  if (choice === "required" || choice === "any") return "required"
  const named = objectAt({ choice }, "choice")
  const name = stringAt(objectAt(named, "function") ?? objectAt(named, "custom"), "name")
  return name === undefined ? "auto" : { name }
}

const instructing = new Set(["system", "developer"])

const textsOf = (message: JsonObject): ReadonlyArray<string> => {
  const { content } = message
  if (typeof content === "string") return [content]
  return objectsAt(message, "content").flatMap((part) => stringAt(part, "text") ?? [])
}

/** The question of a request of this API. */
export const askedInChat = (body: JsonObject): TwinAsked => {
  const messages = objectsAt(body, "messages")
  const turn = messages
    .slice(messages.findLastIndex((message) => message["role"] === "assistant") + 1)
    .filter((message) => !instructing.has(stringAt(message, "role") ?? ""))
  return {
    model: stringAt(body, "model") ?? "",
    texts: turn.flatMap(textsOf),
    hasResults: turn.some((message) => message["role"] === "tool"),
    calls: messages.reduce((sum, message) => sum + objectsAt(message, "tool_calls").length, 0),
    tools: objectsAt(body, "tools").map(toolIn),
    choice: choiceOf(body),
    inTokens: promptTokens([body["messages"], body["tools"]], pictureTokens),
  }
}

const chatTwin = (
  shape: Schema.Decoder<unknown>,
  rules: ReadonlyArray<TwinRule>,
  tellsUsage: NonNullable<Twin["tellsUsage"]>,
): Twin => ({
  dialect: "openai-chat",
  rules,
  refuse: (call) => {
    const fault = shapeFault(shape, call.body)
    if (fault !== undefined) return shapeRefusal(call.body, fault, true)
    const broken = brokenRule(rules, call)
    return broken && brokenRefusal(broken)
  },
  asked: ({ body }) => askedInChat(body),
  whole: wholeChat,
  frames: chatFrames,
  tellsUsage,
})

const whereAsked: NonNullable<Twin["tellsUsage"]> = ({ body }) =>
  objectAt(body, "stream_options")?.["include_usage"] === true

/** OpenAI's own. */
export const openaiTwin: Twin = chatTwin(ChatBody, openaiChatRules, whereAsked)

/** Vendors with the same API, by their profile. */
export const chatTwins = {
  openai: openaiTwin,
  generic: chatTwin(GenericBody, genericRules, whereAsked),
  deepseek: chatTwin(DeepSeekBody, deepseekRules, whereAsked),
  moonshot: chatTwin(MoonshotBody, moonshotRules, whereAsked),
  qwen: chatTwin(QwenBody, qwenRules, whereAsked),
  groq: chatTwin(GroqBody, groqRules, whereAsked),
  xai: chatTwin(XaiBody, xaiRules, whereAsked),
  zai: chatTwin(ZaiBody, zaiRules, whereAsked),
  mistral: chatTwin(MistralBody, mistralRules, () => true),
} as const
