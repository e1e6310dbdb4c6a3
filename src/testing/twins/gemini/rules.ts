/** Requests that Gemini refuses, beyond their shape, from the top down. */
import { budgetsOf, budgetWithin, geminiModels, thinkingDocs } from "../../../dialects/gemini/models.ts"
import { type JsonObject, objectAt, objectsAt, stringAt } from "../../../dialects/parse/json.ts"
import { ruleOf } from "../../../dialects/vendor/model-rules.ts"
import { type Check, fault, firstOf, listed, repeated, rule } from "../rules.ts"
import type { TwinCall, TwinRule } from "../twin.ts"
import { isOwnSignature } from "./signature.ts"

const docs = "https://ai.google.dev/api/generate-content"
const callDocs = "https://ai.google.dev/gemini-api/docs/function-calling"
const signatureDocs = "https://ai.google.dev/gemini-api/docs/thought-signatures"

const contentsOf = (body: JsonObject) => objectsAt(body, "contents")
const partsOf = (content: JsonObject | undefined) => objectsAt(content, "parts")

/**
 * Contents with those of the model that follow each other as one: Google's SDKs send each piece of a streamed step as a content
 * of its own.
 */
const turnsOf = (body: JsonObject): ReadonlyArray<JsonObject> => {
  const turns: Array<JsonObject> = []
  for (const content of contentsOf(body)) {
    const before = turns.at(-1)
    if (before?.["role"] !== "model" || content["role"] !== "model") turns.push(content)
    else turns[turns.length - 1] = { ...before, parts: [...partsOf(before), ...partsOf(content)] }
  }
  return turns
}

const inParts = (content: JsonObject | undefined, name: string): ReadonlyArray<JsonObject> =>
  partsOf(content).flatMap((part) => listed(objectAt(part, name)))

/** The model that a path names. */
export const modelIn = (path: string): string => decodeURIComponent(/models\/([^:/?]+)/.exec(path)?.[1] ?? "")

/** Models up to 2.5 think by a budget, sign nothing that must come back, and have no schema beside functions. */
const isOld = ({ path }: Pick<TwinCall, "path">): boolean => /gemini-[12]/.test(modelIn(path))

const someContents: Check = (body) =>
  contentsOf(body).length > 0
    ? undefined
    : fault("contents", "* GenerateContentRequest.contents: contents is not specified\n")

const someParts: Check = (body) =>
  firstOf(contentsOf(body), (content, at) => {
    const path = `GenerateContentRequest.contents[${at}].parts`
    if (partsOf(content).length === 0) return fault(path, `* ${path}: contents.parts must not be empty.\n`)
    const isEmpty = partsOf(content).some((part) =>
      Object.keys(part).every((name) => ["thought", "thoughtSignature", "videoMetadata"].includes(name)),
    )
    return isEmpty
      ? fault(path, `* ${path}.data: required oneof field 'data' must have one initialized field\n`)
      : undefined
  })

const roles: Check = (body) =>
  firstOf(contentsOf(body), ({ role }) =>
    role === undefined || role === "user" || role === "model" || role === "function"
      ? undefined
      : fault("contents", "Please use a valid role: user, model."),
  )

const endsWithUser: Check = (body) =>
  contentsOf(body).at(-1)?.["role"] === "model"
    ? fault("contents", "Please ensure that multiturn requests ends with a user role or a function response.")
    : undefined

const callsFollowUsers: Check = (body) =>
  firstOf(turnsOf(body), (content, at) => {
    if (inParts(content, "functionCall").length === 0) return undefined
    const before = turnsOf(body)[at - 1]
    return before !== undefined && before["role"] !== "model"
      ? undefined
      : fault(
          "contents",
          "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        )
  })

const resultsFollowCalls: Check = (body) =>
  firstOf(turnsOf(body), (content, at) => {
    if (inParts(content, "functionResponse").length === 0) return undefined
    return inParts(turnsOf(body)[at - 1], "functionCall").length > 0
      ? undefined
      : fault("contents", "Please ensure that function response turn comes immediately after a function call turn.")
  })

const asManyResults: Check = (body) =>
  firstOf(turnsOf(body), (content, at) => {
    const calls = inParts(content, "functionCall").length
    return calls === 0 || inParts(turnsOf(body)[at + 1], "functionResponse").length === calls
      ? undefined
      : fault(
          "contents",
          "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
        )
  })

const plainResults: Check = (body) =>
  firstOf(contentsOf(body), (content) =>
    firstOf(inParts(content, "functionResponse"), (result) => {
      const names = inParts({ parts: result["parts"] }, "inlineData").map((data) => stringAt(data, "displayName"))
      const unknown = refsIn(result["response"]).find((ref) => !names.includes(ref))
      return unknown === undefined
        ? undefined
        : fault(
            "contents",
            `The referenced name \`${unknown}\` does not match to any display_name in function_response.parts.`,
          )
    }),
  )

/** Names of parts, wherever they stand in a result. */
const refsIn = (value: unknown): ReadonlyArray<string> => {
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, each]) =>
    name === "$ref" && typeof each === "string" ? [each] : refsIn(each),
  )
}

const isOfUser = (content: JsonObject): boolean =>
  content["role"] !== "model" && inParts(content, "functionResponse").length === 0

/** The first call of each step since the user spoke last. */
const signedCalls: TwinRule["check"] = (call) => {
  if (isOld(call)) return undefined
  const contents = turnsOf(call.body)
  const start = contents.findLastIndex(isOfUser) + 1
  return firstOf(contents.slice(start), (content, at) => {
    const first = partsOf(content).find((part) => objectAt(part, "functionCall") !== undefined)
    if (first === undefined || stringAt(first, "thoughtSignature") !== undefined) return undefined
    const name = stringAt(objectAt(first, "functionCall"), "name")
    return fault(
      "contents",
      `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${start + at + 1}. Please refer to ${signatureDocs} for more details.`,
    )
  })
}

const validSignatures: Check = (body) =>
  firstOf(contentsOf(body), (content) =>
    firstOf(partsOf(content), (part) => {
      const signature = stringAt(part, "thoughtSignature")
      return signature === undefined || isOwnSignature(signature)
        ? undefined
        : fault("contents", "Corrupted thought signature.")
    }),
  )

const declarationsOf = (body: JsonObject) =>
  objectsAt(body, "tools").flatMap((tool) => objectsAt(tool, "functionDeclarations"))

const functionNames: Check = (body) =>
  firstOf(declarationsOf(body), (declaration, at) => {
    const path = `GenerateContentRequest.tools[0].function_declarations[${at}].name`
    return /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(stringAt(declaration, "name") ?? "")
      ? undefined
      : fault(
          path,
          `* ${path}: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.\n`,
        )
  })

const functionsDiffer: Check = (body) => {
  const twice = repeated(declarationsOf(body).map((each) => stringAt(each, "name")))
  return twice === undefined ? undefined : fault("tools", `Duplicate function declaration found: ${twice}`)
}

const choiceNeedsTools: Check = (body) => {
  const mode = stringAt(objectAt(objectAt(body, "toolConfig"), "functionCallingConfig"), "mode")
  return mode === undefined || declarationsOf(body).length > 0
    ? undefined
    : fault("tool_config", "Function calling config is set without function_declarations.")
}

const config = (body: JsonObject) => objectAt(body, "generationConfig")

const fewStops: Check = (body) => {
  const stops: unknown = config(body)?.["stopSequences"]
  return Array.isArray(stops) && stops.length > 5
    ? fault(
        "generation_config.stop_sequences",
        `The number of stop sequences: ${stops.length} exceeds the supported number of 5.`,
      )
    : undefined
}

const schemaNeedsJson: Check = (body) => {
  const { responseJsonSchema, responseSchema, responseMimeType } = config(body) ?? {}
  return (responseJsonSchema ?? responseSchema) === undefined || responseMimeType !== undefined
    ? undefined
    : fault(
        "generation_config.response_mime_type",
        "* GenerateContentRequest.generation_config.response_schema: only allowed when GenerateContentRequest.generation_config.response_mime_type is set\n",
      )
}

const outputOrFunctions: TwinRule["check"] = (call) =>
  isOld(call) && config(call.body)?.["responseMimeType"] === "application/json" && declarationsOf(call.body).length > 0
    ? fault("", "Function calling with a response mime type: 'application/json' is unsupported")
    : undefined

const thinkingIn = (body: JsonObject) => objectAt(config(body), "thinkingConfig")

const thinkingOfModel: TwinRule["check"] = (call) => {
  const { thinkingLevel: level, thinkingBudget: budget } = thinkingIn(call.body) ?? {}
  if (isOld(call) && level !== undefined) return fault("", "Thinking level is not supported for this model.")
  if (level !== undefined && budget !== undefined) {
    return fault("", "You can only set only one of thinking budget and thinking level.")
  }
  const model = modelIn(call.path)
  if (typeof budget !== "number" || budget === -1) return undefined
  const budgets = budgetsOf({ model })
  const isOff = budget === 0 && (budgets === undefined ? !isOld(call) && model.includes("pro") : !budgets.hasOff)
  if (isOff) return fault("", "Budget 0 is invalid. This model only works in thinking mode.")
  return budgets === undefined || budgetWithin(budget, budgets) === budget
    ? undefined
    : fault(
        "",
        `The thinking budget ${budget} is invalid. Please choose a value between ${budgets.least} and ${budgets.most}.`,
      )
}

const levelsOfModel: TwinRule["check"] = (call) => {
  const level = stringAt(thinkingIn(call.body), "thinkingLevel")?.toLowerCase()
  const levels = ruleOf(geminiModels, { model: modelIn(call.path) })?.levels
  return level === undefined || levels === undefined || levels.some((each) => each === level)
    ? undefined
    : fault("", `Thinking level ${level.toUpperCase()} is not supported for this model.`)
}

export const geminiRules: ReadonlyArray<TwinRule> = [
  rule("some contents", docs, someContents),
  rule("some parts", docs, someParts),
  rule("two roles", docs, roles),
  rule("the end of a thread", docs, endsWithUser),
  rule("calls after a user", callDocs, callsFollowUsers),
  rule("results of calls only", callDocs, resultsFollowCalls),
  rule("as many results as calls", callDocs, asManyResults),
  rule("results are not interpreted", callDocs, plainResults),
  { name: "signatures of calls", source: signatureDocs, check: signedCalls },
  rule("signatures are its own", signatureDocs, validSignatures),
  rule("names of functions", callDocs, functionNames),
  rule("names of functions differ", callDocs, functionsDiffer),
  rule("a choice needs tools", callDocs, choiceNeedsTools),
  rule("five stops", docs, fewStops),
  rule("a schema needs JSON", "https://ai.google.dev/gemini-api/docs/structured-output", schemaNeedsJson),
  {
    name: "a schema or functions",
    source: "https://ai.google.dev/gemini-api/docs/structured-output",
    check: outputOrFunctions,
  },
  { name: "levels of a model", source: thinkingDocs, check: levelsOfModel },
  { name: "thinking of a model", source: thinkingDocs, check: thinkingOfModel },
]
