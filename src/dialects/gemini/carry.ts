/** Calls of generateContent that are carried to Gemini, and to Gemini on Vertex AI. */
import { Result } from "effect"
import { cut, type JsonEdit, type JsonPath, set } from "../../protocol/json/json-edit.ts"
import type { SentBody } from "../carry/carried-request.ts"
import { commonEdits, limitEdit, losesReasoning, type ParamPlaces, paramEdits } from "../carry/carry.ts"
import type { Carry, VendorRequest } from "../chat-dialect.ts"
import { isAbsent } from "../client/fields.ts"
import { isObject } from "../parse/json.ts"
import { encodeExtras } from "../vendor/extras.ts"
import { makersName } from "../vendor/family.ts"
import { geminiBypass } from "../vendor/signature.ts"
import type { WireRequest } from "../wire.ts"
import { nameIn } from "./client-reader.ts"
import { isOld, needsSignatures } from "./requirements.ts"
import { thinkingBudget, thinkingLevel, words } from "./vendor-request.ts"

/** @param wire the request with a body */
export const carryGenerate = (
  wire: <Body extends string | Uint8Array>(request: VendorRequest, body: Body) => WireRequest<Body>,
): Carry => ({
  api: "gemini",
  encode: (request, sent) => {
    const { serviceTier: _tier, vendorOptions: _options, ...extras } = request.extras ?? {}
    return Result.map(encodeExtras(extras, words), () => wire(request, sent.edited(editsOf(request, sent))))
  },
})

const editsOf = (request: VendorRequest, sent: SentBody): ReadonlyArray<JsonEdit> => {
  const { head, asked } = sent
  const config = nameIn(head, "generationConfig")
  const inConfig = (name: string): JsonPath => [config, nameIn(head[config], name)]
  const places: ParamPlaces = {
    temperature: [inConfig("temperature")],
    topP: [inConfig("topP")],
    stop: [inConfig("stopSequences")],
    seed: [inConfig("seed")],
    frequencyPenalty: [inConfig("frequencyPenalty")],
    presencePenalty: [inConfig("presencePenalty")],
    topK: [inConfig("topK")],
    logprobs: [inConfig("logprobs"), inConfig("responseLogprobs")],
    n: [inConfig("candidateCount")],
    serviceTier: [[nameIn(head, "serviceTier")]],
  }
  const unsigned = sent.own.places?.["unsigned"] ?? []
  return [
    // Signatures of other vendors are taken out where none are needed.
    ...unsigned.map((path) => (needsSignatures(makersName(request)) ? set(geminiBypass, ...path) : cut(...path))),
    // The model is in the path.
    ...(isAbsent(head["model"]) ? [] : [cut("model")]),
    ...limitEdit(request, asked, inConfig("maxOutputTokens")),
    ...paramEdits(request, asked, places),
    ...commonEdits(request, sent, { toolChoice: nameIn(head, "toolConfig") }),
    ...(losesReasoning(request, sent)
      ? [cut(...inConfig("thinkingConfig"))]
      : thinkingEdits(request, sent, head[config], inConfig("thinkingConfig"))),
  ]
}

/** Thinking by a level or by a budget, in the form that the model takes. A name without a number keeps the client's form. */
const thinkingEdits = (
  request: VendorRequest,
  { asked }: SentBody,
  config: unknown,
  path: JsonPath,
): ReadonlyArray<JsonEdit> => {
  const thinking = isObject(config) ? config[String(path.at(-1))] : undefined
  const { reasoning, reasoningBudget } = request
  if (!isObject(thinking) || reasoning === undefined) return []
  const name = makersName(request)
  const level = [...path, nameIn(thinking, "thinkingLevel")]
  const budget = [...path, nameIn(thinking, "thinkingBudget")]
  const hasLevel = !isAbsent(thinking[String(level.at(-1))])
  const hasBudget = !isAbsent(thinking[String(budget.at(-1))])
  if (isOld(name)) {
    const fitted = set(thinkingBudget(request, reasoning), ...budget)
    if (hasLevel) return hasBudget ? [cut(...level)] : [cut(...level), fitted]
    return reasoningBudget === asked.reasoningBudget ? [] : [fitted]
  }
  // A budget beside a level is refused, as is one of no tokens.
  const isRefused = needsSignatures(name) && hasBudget && (hasLevel || reasoningBudget === 0)
  const isOther = hasLevel && reasoning !== asked.reasoning
  return [
    ...(isRefused ? [cut(...budget)] : []),
    ...(isOther || (isRefused && !hasLevel) ? [set(thinkingLevel(reasoning, name), ...level)] : []),
  ]
}
