/** The twin of Gemini's generateContent. Source: https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/troubleshooting */
import { isObject, type JsonObject, objectAt, objectsAt, stringAt } from "../../../dialects/parse/json.ts"
import { listed } from "../rules.ts"
import { type ShapeFault, shapeFault, valueAt } from "../shape.ts"
import { promptTokens } from "../tokens.ts"
import { brokenRule, type Twin, type TwinAsked, type TwinRefusal } from "../twin.ts"
import { generateFrames, wholeGenerate } from "./reply.ts"
import { GenerateBody, inCamelCase } from "./request.ts"
import { geminiRules, modelIn } from "./rules.ts"

/** https://ai.google.dev/gemini-api/docs/tokens */
const pictureTokens = 258

const refusal = (rule: string, message: string, field: string): TwinRefusal => ({
  rule,
  status: 400,
  body: {
    error: {
      code: 400,
      message,
      status: "INVALID_ARGUMENT",
      ...(field !== "" && {
        details: [
          {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            fieldViolations: [{ field, description: message }],
          },
        ],
      }),
    },
  },
})

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const pathText = (path: ShapeFault["path"]): string =>
  path.reduce<string>(
    (text, key) => (typeof key === "number" ? `${text}[${key}]` : text === "" ? snake(key) : `${text}.${snake(key)}`),
    "",
  )

const shapeRefusal = (body: JsonObject, { path, why }: ShapeFault): TwinRefusal => {
  const owner = pathText(path.slice(0, -1))
  const name = String(path.at(-1) ?? "")
  const field = pathText(path)
  if (why === "unknown") {
    const place = owner === "" ? "" : ` at '${owner}'`
    return refusal("shape", `Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`, field)
  }
  if (why === "missing")
    return refusal("shape", `* GenerateContentRequest.${field}: required field is not specified\n`, field)
  return refusal("shape", `Invalid value at '${field}', ${JSON.stringify(valueAt(body, path))?.slice(0, 80)}`, field)
}

const choiceOf = (body: JsonObject): TwinAsked["choice"] => {
  const choice = objectAt(objectAt(body, "toolConfig"), "functionCallingConfig")
  const names: unknown = choice?.["allowedFunctionNames"]
  const [name]: ReadonlyArray<unknown> = Array.isArray(names) ? names : []
  if (choice?.["mode"] === "NONE") return "none"
  if (choice?.["mode"] !== "ANY") return "auto"
  return typeof name === "string" ? { name } : "required"
}

const textsOf = (content: JsonObject): ReadonlyArray<string> =>
  objectsAt(content, "parts").flatMap((part) => {
    const response = objectAt(objectAt(part, "functionResponse"), "response")
    if (response === undefined) return stringAt(part, "text") ?? []
    return stringAt(response, "output") ?? stringAt(response, "error") ?? JSON.stringify(response)
  })

const spelt = (body: JsonObject): JsonObject => {
  const same = inCamelCase(body)
  return isObject(same) ? same : body
}

export const geminiTwin: Twin = {
  dialect: "gemini",
  rules: geminiRules,
  refuse: (call) => {
    const body = spelt(call.body)
    const fault = shapeFault(GenerateBody, body)
    if (fault !== undefined) return shapeRefusal(body, fault)
    const broken = brokenRule(geminiRules, { ...call, body: JSON.parse(JSON.stringify(body)) })
    return broken && refusal(broken.rule, broken.message, broken.path)
  },
  asked: ({ body: sent, path }) => {
    const body = spelt(sent)
    const contents = objectsAt(body, "contents")
    const turn = contents.slice(contents.findLastIndex(({ role }) => role === "model") + 1)
    return {
      model: modelIn(path),
      texts: turn.flatMap(textsOf),
      hasResults: turn.some((content) => objectsAt(content, "parts").some((part) => "functionResponse" in part)),
      calls: contents.flatMap((content) => objectsAt(content, "parts")).filter((part) => "functionCall" in part).length,
      tools: objectsAt(body, "tools")
        .flatMap((tool) => objectsAt(tool, "functionDeclarations"))
        .map((each) => ({
          name: stringAt(each, "name") ?? "",
          schema: [...listed(objectAt(each, "parametersJsonSchema")), ...listed(objectAt(each, "parameters"))][0] ?? {},
        })),
      choice: choiceOf(body),
      inTokens: promptTokens([body["systemInstruction"], body["contents"], body["tools"]], pictureTokens),
    }
  },
  whole: wholeGenerate,
  frames: generateFrames,
}
