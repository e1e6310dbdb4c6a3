/** Requests that vendors of chat completions refuse, beyond their shape, from the top down. */

import {
  kimiModelDocs,
  kimiModels,
  openaiModelDocs,
  openaiModels,
  xaiModelDocs,
  xaiModels,
} from "../../../dialects/openai-chat/models.ts"
import { type JsonObject, objectAt, objectsAt, stringAt } from "../../../dialects/parse/json.ts"
import { type Check, fault, firstOf, repeated, rule } from "../rules.ts"
import type { TwinRule } from "../twin.ts"
import { tooLong } from "./faults.ts"
import { modelRules, olderLimit } from "./model-rules.ts"
import { parametersFault, strictFault } from "./schemas.ts"

const chatDocs = "https://platform.openai.com/docs/api-reference/chat/create"
const toolDocs = "https://platform.openai.com/docs/guides/function-calling"
const outputDocs = "https://platform.openai.com/docs/guides/structured-outputs"

const messagesOf = (body: JsonObject) => objectsAt(body, "messages")

const callsOf = (message: JsonObject): ReadonlyArray<string> =>
  objectsAt(message, "tool_calls").map((call) => stringAt(call, "id") ?? "")

const someMessage: Check = (body) =>
  messagesOf(body).length > 0
    ? undefined
    : fault(
        "messages",
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      )

const contentOrCalls: Check = (body) =>
  firstOf(messagesOf(body), (message, at) => {
    const { content } = message
    if (Array.isArray(content) && content.length === 0) {
      return fault(`messages[${at}].content`, `Invalid 'messages[${at}].content': empty array.`)
    }
    const isSilent = (content === null || content === undefined) && callsOf(message).length === 0
    return message["role"] === "assistant" && isSilent && message["refusal"] === undefined
      ? fault(`messages[${at}].content`, "Invalid value for 'content': expected a string, got null.")
      : undefined
  })

const idsThat =
  (fits: RegExp, refuse: (path: string, id: string) => ReturnType<Check>): Check =>
  (body) =>
    firstOf(messagesOf(body), (message, at) => {
      const place = callsOf(message).findIndex((id) => !fits.test(id))
      if (place !== -1) {
        return refuse(`messages[${at}].tool_calls[${place}].id`, callsOf(message)[place] ?? "")
      }
      const id = stringAt(message, "tool_call_id")
      return id === undefined || fits.test(id) ? undefined : refuse(`messages[${at}].tool_call_id`, id)
    })

const uniqueIds: Check = (body) => {
  const id = repeated(messagesOf(body).flatMap(callsOf))
  return id === undefined ? undefined : fault("messages", `Duplicate value for 'tool_calls[].id': ${id}`)
}

/** Results come one after the other, directly after the message with their calls. */
const callsHaveResults: Check = (body) => {
  const messages = messagesOf(body)
  return firstOf(messages, (message, at) => {
    const calls = callsOf(message)
    if (calls.length === 0) return undefined
    const after = messages.slice(at + 1)
    const end = after.findIndex(({ role }) => role !== "tool")
    const results = (end === -1 ? after : after.slice(0, end)).map((result) => stringAt(result, "tool_call_id"))
    const missing = calls.filter((id) => !results.includes(id))
    return missing.length === 0
      ? undefined
      : fault(
          `messages[${at + 1}].role`,
          `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${missing.join(", ")}`,
        )
  })
}

const resultsHaveCalls: Check = (body) => {
  let open: ReadonlyArray<string> = []
  return firstOf(messagesOf(body), (message, at) => {
    if (message["role"] !== "tool") {
      open = callsOf(message)
      return undefined
    }
    const id = stringAt(message, "tool_call_id") ?? ""
    if (open.includes(id)) return undefined
    return fault(
      `messages[${at}].role`,
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    )
  })
}

const toolSchemas: Check = (body) =>
  firstOf(objectsAt(body, "tools"), (tool, at) => {
    const fn = objectAt(tool, "function")
    const parameters = objectAt(fn, "parameters")
    const wrong = parameters && parametersFault(parameters)
    return wrong === undefined
      ? undefined
      : fault(`tools[${at}].function.parameters`, `Invalid schema for function '${stringAt(fn, "name")}': ${wrong}`)
  })

const strictTools: Check = (body) =>
  firstOf(objectsAt(body, "tools"), (tool, at) => {
    const fn = objectAt(tool, "function")
    const parameters = objectAt(fn, "parameters")
    const wrong = fn?.["strict"] === true && parameters !== undefined ? strictFault(parameters) : undefined
    return wrong === undefined
      ? undefined
      : fault(`tools[${at}].function.parameters`, `Invalid schema for function '${stringAt(fn, "name")}': ${wrong}`)
  })

const fewTools: Check = (body) => {
  const { length } = objectsAt(body, "tools")
  return length > 128 ? tooLong("tools", "array", 128, length) : undefined
}

const fewStops: Check = ({ stop }) =>
  Array.isArray(stop) && stop.length > 4 ? tooLong("stop", "array", 4, stop.length) : undefined

const choiceNeedsTools: Check = (body) => {
  if (objectsAt(body, "tools").length > 0) return undefined
  const name = ["tool_choice", "parallel_tool_calls"].find((each) => body[each] !== undefined)
  return name === undefined ? undefined : fault(name, `'${name}' is only allowed when 'tools' are specified.`)
}

const format = (body: JsonObject) => objectAt(body, "response_format")

const strictOutput: Check = (body) => {
  const asked = objectAt(format(body), "json_schema")
  const schema = objectAt(asked, "schema")
  const wrong = asked?.["strict"] === true && schema !== undefined ? strictFault(schema) : undefined
  return wrong === undefined
    ? undefined
    : fault("response_format", `Invalid schema for response_format '${stringAt(asked, "name")}': ${wrong}`)
}

const jsonIsSaid: Check = (body) =>
  format(body)?.["type"] === "json_object" && !/json/i.test(JSON.stringify(body["messages"]))
    ? fault(
        "messages",
        "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
      )
    : undefined

const usageOfStreams: Check = (body) =>
  body["stream_options"] !== undefined && body["stream"] !== true
    ? fault("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
    : undefined

/** The rules of all vendors of chat completions. */
export const genericRules: ReadonlyArray<TwinRule> = [
  rule("a message at least", chatDocs, someMessage),
  rule("content or calls", chatDocs, contentOrCalls),
  rule("results directly after their calls", toolDocs, callsHaveResults),
  rule("results of calls only", toolDocs, resultsHaveCalls),
  rule("ids of calls differ", toolDocs, uniqueIds),
  rule("schemas of tools", toolDocs, toolSchemas),
  rule("a choice needs tools", toolDocs, choiceNeedsTools),
  rule("JSON mode says JSON", outputDocs, jsonIsSaid),
]

const isForced = ({ tool_choice: choice }: JsonObject): boolean =>
  choice === "required" || choice === "any" || (typeof choice === "object" && choice !== null)

export const openaiChatRules: ReadonlyArray<TwinRule> = [
  ...genericRules,
  rule(
    "ids of calls",
    chatDocs,
    idsThat(/^[\s\S]{1,40}$/, (path, id) => tooLong(path, "string", 40, id.length)),
  ),
  ...modelRules(openaiModels, openaiModelDocs),
  olderLimit(openaiModels, openaiModelDocs),
  rule("strict schemas of tools", outputDocs, strictTools),
  rule("strict schemas of output", outputDocs, strictOutput),
  rule("128 tools", toolDocs, fewTools),
  rule("four stops", chatDocs, fewStops),
  rule("usage of streams", chatDocs, usageOfStreams),
]

const noSchema =
  (message: string): Check =>
  (body) =>
    format(body)?.["type"] === "json_schema" ? fault("response_format", message) : undefined

/** The messages since the user spoke last: a loop of tools. */
const loopOf = (body: JsonObject): ReadonlyArray<readonly [JsonObject, number]> => {
  const messages = messagesOf(body).map((message, at) => [message, at] as const)
  return messages.slice(messages.findLastIndex(([{ role }]) => role === "user") + 1)
}

const loopHasReasoning =
  (thinks: (body: JsonObject) => boolean, say: (at: number) => string): Check =>
  (body) =>
    thinks(body)
      ? firstOf(loopOf(body), ([message, at]) =>
          callsOf(message).length > 0 && (stringAt(message, "reasoning_content") ?? "") === ""
            ? fault(`messages[${at}]`, say(at))
            : undefined,
        )
      : undefined

const thinksBySwitch = (body: JsonObject): boolean => objectAt(body, "thinking")?.["type"] === "enabled"

const deepseekDocs = "https://api-docs.deepseek.com/guides/thinking_mode"

export const deepseekRules: ReadonlyArray<TwinRule> = [
  ...genericRules,
  rule(
    "JSON mode without a schema",
    "https://api-docs.deepseek.com/guides/json_mode",
    noSchema("This response_format type is unavailable now"),
  ),
  rule("no forced tool beside thinking", deepseekDocs, (body) =>
    thinksBySwitch(body) && isForced(body)
      ? fault("tool_choice", "deepseek-reasoner does not support this tool_choice")
      : undefined,
  ),
  rule(
    "a tool loop has its reasoning",
    deepseekDocs,
    loopHasReasoning(
      thinksBySwitch,
      (at) => `Missing \`reasoning_content\` field in the assistant message at message index ${at}.`,
    ),
  ),
]

const kimiDocs = "https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model"

const stopsAtMost =
  (most: number): Check =>
  ({ stop }) =>
    Array.isArray(stop) && stop.length > most ? tooLong("stop", "array", most, stop.length) : undefined

export const moonshotRules: ReadonlyArray<TwinRule> = [
  ...genericRules,
  ...modelRules(kimiModels, kimiModelDocs),
  rule("stops of a vendor", "https://platform.moonshot.ai/docs/api/chat", stopsAtMost(5)),
  rule("no forced tool beside thinking", "https://platform.kimi.ai/docs/guide/kimi-k2-5-quickstart", (body) =>
    thinksBySwitch(body) && isForced(body)
      ? fault("tool_choice", "tool_choice is incompatible with thinking enabled")
      : undefined,
  ),
  rule("JSON mode without a schema", "https://platform.moonshot.ai/docs/api/chat", noSchema("invalid response_format")),
  rule(
    "a tool loop has its reasoning",
    kimiDocs,
    loopHasReasoning(
      thinksBySwitch,
      (at) => `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${at}`,
    ),
  ),
]

export const groqRules: ReadonlyArray<TwinRule> = [
  ...genericRules,
  rule("stops of a vendor", "https://console.groq.com/docs/api-reference", stopsAtMost(4)),
]

export const xaiRules: ReadonlyArray<TwinRule> = [...genericRules, ...modelRules(xaiModels, xaiModelDocs)]

const zaiDocs = "https://docs.z.ai/api-reference/llm/chat-completion"

export const zaiRules: ReadonlyArray<TwinRule> = [
  ...genericRules,
  rule("JSON mode without a schema", zaiDocs, noSchema("response_format.type is invalid")),
  rule("no choice of tools", zaiDocs, ({ tool_choice: choice }) =>
    choice === undefined || choice === "auto" ? undefined : fault("tool_choice", "tool_choice supports auto only"),
  ),
  rule("stops of a vendor", zaiDocs, stopsAtMost(1)),
]

export const qwenRules: ReadonlyArray<TwinRule> = [
  ...genericRules,
  rule(
    "no forced tool beside thinking",
    "https://www.alibabacloud.com/help/en/model-studio/qwen-function-calling",
    (body) =>
      body["enable_thinking"] === true && isForced(body)
        ? fault(
            "tool_choice",
            "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode",
          )
        : undefined,
  ),
]

export const mistralRules: ReadonlyArray<TwinRule> = [
  ...genericRules,
  rule(
    "ids of calls",
    "https://docs.mistral.ai/capabilities/function_calling",
    idsThat(/^[a-zA-Z0-9]{9}$/, (path, id) =>
      fault(path, `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`),
    ),
  ),
  rule("the end of a thread", "https://docs.mistral.ai/api", (body) => {
    const last = messagesOf(body).at(-1)
    return last?.["role"] === "assistant" && last["prefix"] !== true
      ? fault(
          "messages",
          "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
        )
      : undefined
  }),
]
