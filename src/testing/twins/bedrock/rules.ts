/** Requests that Converse refuses, beyond their shape, from the top down. */
import { effortOf, versionOf } from "../../../dialects/anthropic/thinking.ts"
import { choicesOf } from "../../../dialects/bedrock/families.ts"
import { type JsonObject, objectAt, objectsAt, stringAt } from "../../../dialects/parse/json.ts"
import { Effort } from "../../../protocol/exchange.ts"
import { isOwnSignature } from "../anthropic/reply.ts"
import { type Check, fault, firstOf, listed, repeated, rule } from "../rules.ts"
import type { TwinCall, TwinRule } from "../twin.ts"

const docs = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html"
const toolDocs = "https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use-inference-call.html"
const choiceDocs = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolChoice.html"
const claudeDocs = "https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html"

const messagesOf = (body: JsonObject) => objectsAt(body, "messages")

const inContent = (message: JsonObject | undefined, name: string): ReadonlyArray<JsonObject> =>
  objectsAt(message, "content").flatMap((block) => listed(objectAt(block, name)))

const idsIn = (message: JsonObject | undefined, name: string): ReadonlyArray<string> =>
  inContent(message, name).map((block) => stringAt(block, "toolUseId") ?? "")

/** The model that a path names. */
export const modelIn = (path: string): string => decodeURIComponent(/model\/([^/]+)/.exec(path)?.[1] ?? "")

const startsWithUser: Check = (body) =>
  messagesOf(body)[0]?.["role"] === "user"
    ? undefined
    : fault(
        "messages",
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
      )

const alternates: Check = (body) =>
  firstOf(messagesOf(body), ({ role }, at) =>
    at > 0 && messagesOf(body)[at - 1]?.["role"] === role
      ? fault(
          "messages",
          "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.",
        )
      : undefined,
  )

const textHasWords: Check = (body) =>
  firstOf(messagesOf(body), (message, at) => {
    const blocks = objectsAt(message, "content")
    if (blocks.length === 0) {
      return fault(
        "messages",
        `The content field in the Message object at messages.${at} is empty. Add a ContentBlock object to the content field and try again.`,
      )
    }
    const blank = blocks.findIndex((block) => stringAt(block, "text")?.trim() === "")
    return blank === -1
      ? undefined
      : fault(
          "messages",
          `The text field in the ContentBlock object at messages.${at}.content.${blank} is blank. Add text to the text field, and try again.`,
        )
  })

const uniqueIds: Check = (body) => {
  const id = repeated(messagesOf(body).flatMap((message) => idsIn(message, "toolUse")))
  return id === undefined ? undefined : fault("messages", `messages: \`tool_use\` ids must be unique: ${id}`)
}

const callsHaveResults: Check = (body) =>
  firstOf(messagesOf(body), (message, at) => {
    const results = idsIn(messagesOf(body)[at + 1], "toolResult")
    const missing = idsIn(message, "toolUse").filter((id) => !results.includes(id))
    return missing.length === 0
      ? undefined
      : fault(
          "messages",
          `Expected toolResult blocks at messages.${at + 1}.content for the following Ids: ${missing.join(", ")}`,
        )
  })

const resultsHaveCalls: Check = (body) =>
  firstOf(messagesOf(body), (message, at) => {
    const calls = idsIn(messagesOf(body)[at - 1], "toolUse")
    const results = idsIn(message, "toolResult")
    return results.length > calls.length || results.some((id) => !calls.includes(id))
      ? fault(
          "messages",
          `The number of toolResult blocks at messages.${at}.content exceeds the number of toolUse blocks of previous turn.`,
        )
      : undefined
  })

const callsNeedTools: Check = (body) => {
  const uses = messagesOf(body).some((message) =>
    ["toolUse", "toolResult"].some((name) => inContent(message, name).length > 0),
  )
  return uses && objectAt(body, "toolConfig") === undefined
    ? fault("toolConfig", "The toolConfig field must be defined when using toolUse and toolResult content blocks.")
    : undefined
}

const toolSchemas: Check = (body) =>
  firstOf(objectsAt(objectAt(body, "toolConfig"), "tools"), (tool, at) => {
    const schema = objectAt(objectAt(objectAt(tool, "toolSpec"), "inputSchema"), "json")
    if (schema === undefined) return undefined
    if (schema["type"] !== "object") {
      return fault(
        "toolConfig",
        `The value at toolConfig.tools.${at}.toolSpec.inputSchema.json.type must be one of the following: object.`,
      )
    }
    return ["oneOf", "allOf", "anyOf"].some((name) => name in schema)
      ? fault(
          "toolConfig",
          `tools.${at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`,
        )
      : undefined
  })

const choices: TwinRule["check"] = ({ path, body }) => {
  const choice = objectAt(objectAt(body, "toolConfig"), "toolChoice") ?? {}
  const known = choicesOf({ model: modelIn(path) })
  const name = (["any", "tool"] as const).find((each) => each in choice && known?.includes(each) === false)
  return name === undefined
    ? undefined
    : fault(
        "toolConfig",
        `This model doesn't support the toolConfig.toolChoice.${name} field. Remove toolConfig.toolChoice.${name} and try again.`,
      )
}

const isClaude = ({ path }: TwinCall): boolean => /anthropic\.claude/.test(modelIn(path))

const ofClaude = (name: string, check: TwinRule["check"]): TwinRule => ({
  name,
  source: claudeDocs,
  check: (call) => (isClaude(call) ? check(call) : undefined),
})

const thinkingOf = (body: JsonObject): string | undefined =>
  stringAt(objectAt(objectAt(body, "additionalModelRequestFields"), "thinking"), "type")

const forcedWhileThinking: Check = (body) => {
  const choice = objectAt(objectAt(body, "toolConfig"), "toolChoice") ?? {}
  return thinkingOf(body) === "enabled" && ("any" in choice || "tool" in choice)
    ? fault("", "Thinking may not be enabled when tool_choice forces tool use.")
    : undefined
}

const thinkingComesFirst: Check = (body) => {
  const before = messagesOf(body).at(-2)
  const isLoop = idsIn(messagesOf(body).at(-1), "toolResult").length > 0
  const [first] = objectsAt(before, "content")
  return thinkingOf(body) === "enabled" && isLoop && first !== undefined && !("reasoningContent" in first)
    ? fault("", "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.")
    : undefined
}

const signatures: Check = (body) =>
  firstOf(messagesOf(body), (message, at) =>
    firstOf(inContent(message, "reasoningContent"), (reasoning) => {
      const signature = stringAt(objectAt(reasoning, "reasoningText"), "signature")
      return signature === undefined || isOwnSignature(signature)
        ? undefined
        : fault("", `messages.${at}.content.0: Invalid \`signature\` in \`thinking\` block`)
    }),
  )

const samplersIn = (body: JsonObject): ReadonlyArray<string> =>
  ["temperature", "topP"].filter((name) => objectAt(body, "inferenceConfig")?.[name] !== undefined)

const noSampler: TwinRule["check"] = ({ path, body }) => {
  const [name] = samplersIn(body)
  return versionOf(modelIn(path)) >= 4.7 && name !== undefined
    ? fault("", `\`${name}\` is deprecated for this model.`)
    : undefined
}

const oneSampler: TwinRule["check"] = ({ path, body }) =>
  versionOf(modelIn(path)) >= 4.1 && samplersIn(body).length === 2
    ? fault("", "`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
    : undefined

const moreOf = (body: JsonObject) => objectAt(body, "additionalModelRequestFields")

const efforts: TwinRule["check"] = ({ path, body }) => {
  const effort = Effort.literals.find((each) => each === objectAt(moreOf(body), "output_config")?.["effort"])
  return effort === undefined || effortOf(modelIn(path), effort) === effort
    ? undefined
    : fault("", "This model does not support the effort parameter.")
}

const samplingWhileThinking: Check = (body) =>
  thinkingOf(body) !== undefined && (samplersIn(body).length > 0 || moreOf(body)?.["top_k"] !== undefined)
    ? fault("", "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")
    : undefined

export const bedrockRules: ReadonlyArray<TwinRule> = [
  rule("a user begins", docs, startsWithUser),
  rule("turns alternate", docs, alternates),
  rule("no blank text", docs, textHasWords),
  rule("ids of calls differ", docs, uniqueIds),
  rule("results directly after their calls", toolDocs, callsHaveResults),
  rule("results of calls only", toolDocs, resultsHaveCalls),
  rule("calls need tools", toolDocs, callsNeedTools),
  rule("schemas of tools", toolDocs, toolSchemas),
  { name: "choices of a model", source: choiceDocs, check: choices },
  ofClaude("no forced tool beside a thinking budget", ({ body }) => forcedWhileThinking(body)),
  ofClaude("a tool loop begins with its thinking", ({ body }) => thinkingComesFirst(body)),
  ofClaude("signatures of thinking", ({ body }) => signatures(body)),
  ofClaude("efforts of a model", efforts),
  ofClaude("sampling beside thinking", ({ body }) => samplingWhileThinking(body)),
  ofClaude("no sampling from 4.7 on", noSampler),
  ofClaude("temperature or top_p", oneSampler),
]
