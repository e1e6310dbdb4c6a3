/** Requests that OpenAI's responses refuse, beyond their shape, from the top down. */

import { openaiModelDocs, openaiModels } from "../../../dialects/openai-chat/models.ts"
import { type JsonObject, objectAt, objectsAt, stringAt } from "../../../dialects/parse/json.ts"
import { type Check, fault, firstOf, repeated, rule } from "../rules.ts"
import type { TwinRule } from "../twin.ts"
import { tooLong } from "./faults.ts"
import { modelRules } from "./model-rules.ts"
import { parametersFault, strictFault } from "./schemas.ts"
import { isOwnSeal } from "./seal.ts"

const docs = "https://platform.openai.com/docs/api-reference/responses/create"
const toolDocs = "https://platform.openai.com/docs/guides/function-calling"
const outputDocs = "https://platform.openai.com/docs/guides/structured-outputs"
const reasoningDocs = "https://platform.openai.com/docs/guides/reasoning"

const itemsOf = (body: JsonObject): ReadonlyArray<JsonObject> =>
  typeof body["input"] === "string" ? [] : objectsAt(body, "input")

const isCall = ({ type }: JsonObject): boolean => type === "function_call" || type === "custom_tool_call"
const isResult = ({ type }: JsonObject): boolean =>
  type === "function_call_output" || type === "custom_tool_call_output"
const idOf = (item: JsonObject): string => stringAt(item, "call_id") ?? ""

const someInput: Check = (body) =>
  body["input"] === "" || (Array.isArray(body["input"]) && body["input"].length === 0)
    ? fault("input", "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.")
    : undefined

const callIds: Check = (body) =>
  firstOf(itemsOf(body), (item, at) => {
    const { length } = idOf(item)
    return length > 64 ? tooLong(`input[${at}].call_id`, "string", 64, length) : undefined
  })

const uniqueIds: Check = (body) => {
  const id = repeated(itemsOf(body).filter(isCall).map(idOf))
  return id === undefined ? undefined : fault("input", `Duplicate item found with call_id ${id}.`)
}

/** Checks that an output comes after its call, and that each call has one. */
const callsHaveResults: Check = (body) => {
  const items = itemsOf(body)
  return firstOf(items, (item, at) => {
    if (!isCall(item)) return undefined
    const isAnswered = items.slice(at + 1).some((each) => isResult(each) && idOf(each) === idOf(item))
    return isAnswered ? undefined : fault("input", `No tool output found for function call ${idOf(item)}.`)
  })
}

const resultsHaveCalls: Check = (body) => {
  const items = itemsOf(body)
  return firstOf(items, (item, at) => {
    if (!isResult(item) || stringAt(body, "previous_response_id") !== undefined) return undefined
    const isAsked = items.slice(0, at).some((each) => isCall(each) && idOf(each) === idOf(item))
    return isAsked
      ? undefined
      : fault("input", `No tool call found for function call output with call_id ${idOf(item)}.`)
  })
}

const functionsOf = (body: JsonObject) => objectsAt(body, "tools").filter(({ type }) => type === "function")

const toolSchemas: Check = (body) =>
  firstOf(functionsOf(body), (tool, at) => {
    const parameters = objectAt(tool, "parameters")
    const wrong = parameters && parametersFault(parameters)
    return wrong === undefined
      ? undefined
      : fault(`tools[${at}].parameters`, `Invalid schema for function '${stringAt(tool, "name")}': ${wrong}`)
  })

/** Functions are strict unless a request says otherwise. */
const strictTools: Check = (body) =>
  firstOf(functionsOf(body), (tool, at) => {
    const parameters = objectAt(tool, "parameters")
    const wrong = tool["strict"] === false || parameters === undefined ? undefined : strictFault(parameters)
    return wrong === undefined
      ? undefined
      : fault(`tools[${at}].parameters`, `Invalid schema for function '${stringAt(tool, "name")}': ${wrong}`)
  })

const fewTools: Check = (body) => {
  const { length } = objectsAt(body, "tools")
  return length > 128 ? tooLong("tools", "array", 128, length) : undefined
}

const choiceNeedsTools: Check = (body) => {
  const choice = body["tool_choice"]
  const isForced = choice === "required" || (typeof choice === "object" && choice !== null)
  return isForced && objectsAt(body, "tools").length === 0
    ? fault("tool_choice", "Tool choice 'required' must be specified with 'tools' parameter.")
    : undefined
}

const format = (body: JsonObject) => objectAt(objectAt(body, "text"), "format")

const strictOutput: Check = (body) => {
  const asked = format(body)
  const schema = objectAt(asked, "schema")
  const wrong = asked?.["strict"] === true && schema !== undefined ? strictFault(schema) : undefined
  return wrong === undefined
    ? undefined
    : fault("text.format.schema", `Invalid schema for response_format '${stringAt(asked, "name")}': ${wrong}`)
}

const jsonIsSaid: Check = (body) =>
  format(body)?.["type"] === "json_object" && !/json/i.test(JSON.stringify(body["input"]))
    ? fault(
        "input",
        "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
      )
    : undefined

/** An item that is not stored cannot be named, and comes sealed. */
const seals: Check = (body) =>
  firstOf(itemsOf(body), (item, at) => {
    if (item["type"] === "item_reference") {
      return fault(
        "input",
        `Item with id '${stringAt(item, "id")}' not found. Items are not persisted when \`store\` is set to false.`,
      )
    }
    const sealed = stringAt(item, "encrypted_content")
    return sealed === undefined || isOwnSeal(sealed)
      ? undefined
      : fault(
          `input[${at}]`,
          "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
        )
  })

/** Reasoning is followed by the item that it led to. */
const reasoningLeads: Check = (body) => {
  const items = itemsOf(body)
  return firstOf(items, (item, at) => {
    const next = items[at + 1]
    if (item["type"] !== "reasoning") return undefined
    const leads = next !== undefined && !isResult(next) && (next["role"] === undefined || next["role"] === "assistant")
    return leads
      ? undefined
      : fault(
          "input",
          `Item '${stringAt(item, "id") ?? ""}' of type 'reasoning' was provided without its required following item.`,
        )
  })
}

export const responsesRules: ReadonlyArray<TwinRule> = [
  rule("some input", docs, someInput),
  rule("ids of calls", docs, callIds),
  rule("ids of calls differ", docs, uniqueIds),
  rule("results directly after their calls", toolDocs, callsHaveResults),
  rule("results of calls only", toolDocs, resultsHaveCalls),
  rule("schemas of tools", toolDocs, toolSchemas),
  rule("strict schemas of tools", outputDocs, strictTools),
  rule("128 tools", toolDocs, fewTools),
  rule("a choice needs tools", toolDocs, choiceNeedsTools),
  rule("strict schemas of output", outputDocs, strictOutput),
  rule("JSON mode says JSON", outputDocs, jsonIsSaid),
  ...modelRules(openaiModels, openaiModelDocs),
  rule("sealed reasoning is its own", reasoningDocs, seals),
  rule("reasoning leads to an item", reasoningDocs, reasoningLeads),
]
