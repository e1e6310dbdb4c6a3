/** Chat completions that are carried to a vendor with the same API. */
import { Result } from "effect"
import { extraNames } from "../../protocol/extra-params.ts"
import { cut, type JsonEdit, set } from "../../protocol/json/json-edit.ts"
import type { SentBody } from "../carry/carried-request.ts"
import { commonEdits, lackedEdits, limitEdit, type ParamPlaces, paramEdits } from "../carry/carry.ts"
import { type Carry, lacksOutput, type VendorRequest } from "../chat-dialect.ts"
import { isAbsent } from "../client/fields.ts"
import { isObject } from "../parse/json.ts"
import { encodeExtras } from "../vendor/extras.ts"
import { makersName } from "../vendor/family.ts"
import { lackedBy, ruleOf } from "../vendor/model-rules.ts"
import type { EncodeRefusal, WireRequest } from "../wire.ts"
import type { ChatProfile } from "./chat-profile.ts"
import { choiceRefusal } from "./requirements.ts"
import { findRefusal } from "./vendor-request.ts"

const places: ParamPlaces = {
  temperature: [["temperature"]],
  topP: [["top_p"]],
  stop: [["stop"]],
  seed: [["seed"], ["random_seed"]],
  frequencyPenalty: [["frequency_penalty"]],
  presencePenalty: [["presence_penalty"]],
  topK: [["top_k"]],
  minP: [["min_p"]],
  logprobs: [["top_logprobs"], ["logprobs"]],
  logitBias: [["logit_bias"]],
  verbosity: [["verbosity"]],
  serviceTier: [["service_tier"]],
  prediction: [["prediction"]],
  stopTokens: [["stop_token_ids"]],
  n: [["n"]],
  parallelToolCalls: [["parallel_tool_calls"]],
}

/** Parameters that the vendor, or the model, does not have. */
const lacked = (
  request: VendorRequest,
  { extras, models, takesAll }: ChatProfile,
): ReadonlyArray<keyof typeof places> => [
  ...(takesAll === true ? [] : extraNames.filter((name) => extras[name] === undefined)),
  ...lackedBy(models?.rules ?? [], request),
]

/** @param wire the request with a body */
export const carryChat = (
  profile: ChatProfile,
  wire: <Body extends string | Uint8Array>(request: VendorRequest, body: Body) => WireRequest<Body>,
): Carry => ({
  api: "openai-chat",
  encode: (request, sent) => {
    if (profile.takesTexts !== true && profile.takesAll !== true && usesTexts(request)) return undefined
    const refusal = refusalOf(request, sent, profile)
    if (refusal !== undefined) return Result.fail(refusal)
    return Result.succeed(wire(request, sent.edited(editsOf(request, sent, profile))))
  },
})

/** Whether it has tools that take a text, or calls of them. */
const usesTexts = ({ thread, textTools = [] }: VendorRequest): boolean =>
  textTools.length > 0 ||
  thread.some(({ blocks }) => blocks.some((block) => block.t === "tool_call" && block.text !== undefined))

const refusalOf = (request: VendorRequest, { head }: SentBody, profile: ChatProfile): EncodeRefusal | undefined => {
  const format = head["response_format"]
  const wantsSchema = isObject(format) && format["type"] === "json_schema"
  if (wantsSchema && profile.lacksOutput === true) return lacksOutput
  const extras = encodeExtras(request.extras, profile.extras)
  return (
    findRefusal(request, profile) ??
    choiceRefusal(profile)(request) ??
    (Result.isFailure(extras) ? extras.failure : undefined)
  )
}

const editsOf = (request: VendorRequest, sent: SentBody, profile: ChatProfile): ReadonlyArray<JsonEdit> => {
  const { head, asked } = sent
  return [
    set(request.model, "model"),
    ...limitEdits(request, sent, profile),
    ...lackedEdits(sent, lacked(request, profile), places),
    ...paramEdits(request, asked, places),
    ...commonEdits(request, sent, { toolChoice: "tool_choice", parallel: "parallel_tool_calls" }),
    ...reasoningEdits(request, sent, profile),
    ...(profile.refusesEchoes === true ? (sent.own.places?.["echoes"] ?? []).map((path) => cut(...path)) : []),
    ...ownWords(sent, profile),
    ...usageEdits(request, sent, profile),
    ...(isAbsent(head["store"]) || head["store"] === false ? [] : [set(false, "store")]),
    ...(profile.refusedMembers ?? []).filter((name) => Object.hasOwn(head, name)).map((name) => cut(name)),
    ...tierEdits(sent, profile),
    ...(head["tool_choice"] === "required" && profile.requiredChoice !== "required"
      ? [set(profile.requiredChoice, "tool_choice")]
      : []),
    ...(head["tool_choice"] === "none" && profile.choosesTools === true
      ? [cut("tool_choice"), cut("tools"), cut("parallel_tool_calls")]
      : []),
  ]
}

/**
 * The limit that is held is the only one that a vendor can read. OpenAI accepts both names; other vendors accept one, and an
 * unknown server gets the common one beside the client's.
 */
const limitEdits = (
  request: VendorRequest,
  { head, asked }: SentBody,
  profile: ChatProfile,
): ReadonlyArray<JsonEdit> => {
  const [said = profile.maxTokens, other] = limits.filter((name) => !isAbsent(head[name]))
  const dropped = other === undefined ? [] : [cut(other)]
  const takesOther =
    profile.maxTokens === "max_completion_tokens" &&
    ruleOf(profile.models?.rules ?? [], request)?.refusesMaxTokens !== true
  if (said === profile.maxTokens || takesOther) {
    return [...limitEdit(request, asked, [said]), ...dropped]
  }
  const renamed = set(request.maxTokens, profile.maxTokens)
  return profile.takesAll === true ? [...limitEdit(request, asked, [said]), renamed] : [cut(said), renamed]
}

/** The first one counts. */
const limits = ["max_completion_tokens", "max_tokens"] as const

const reasoningWords = ["reasoning_effort", "thinking", "reasoning"] as const

/** Reasoning in the vendor's own fields stays; reasoning in the fields of another vendor with this API is translated. */
const reasoningEdits = (
  request: VendorRequest,
  { head, own, asked }: SentBody,
  profile: ChatProfile,
): Array<JsonEdit> => {
  const said = reasoningWords.filter((word) => !isAbsent(head[word]))
  // Earlier reasoning is for vendors that take it back.
  const given = profile.reasoningBack === undefined ? (own.places?.["reasoning"] ?? []) : []
  const edits = given.map((path) => cut(...path))
  if (said.length === 0) return edits
  // A level that Weir does not know goes to the vendor, which decides.
  if (request.reasoning === undefined && asked.reasoning === undefined && request.canReason) return edits
  if (request.reasoning === undefined) return [...edits, ...said.map((word) => cut(word))]
  const { reasoning, reasoningBudget, reasoningDisplay } = request
  const model = makersName(request)
  const words = Object.entries(profile.reasoning(reasoning, model, reasoningBudget, reasoningDisplay))
  const efforts = profile.efforts?.(model)
  if (words.length === 0 && efforts === undefined) return edits
  if (said.every((word) => isOwnWord(word, head[word], words, efforts))) return edits
  return [...edits, ...said.map((word) => cut(word)), ...words.map(([word, value]) => set(value, word))]
}

/** Whether the vendor has the parameter, and takes its value. */
const isOwnWord = (
  word: string,
  value: unknown,
  words: ReadonlyArray<readonly [string, unknown]>,
  efforts: ReadonlyArray<string> | undefined,
): boolean =>
  words.some(([known]) => known === word) &&
  (word !== "reasoning_effort" || efforts === undefined || efforts.some((each) => each === value))

/** Options that belong to one vendor, with their owners. */
const owned = {
  prompt_cache_options: "openai",
  provider: "openrouter",
  reasoning_format: "groq",
  search_settings: "groq",
} as const

/** Fields of other vendors with this API are refused by most: an unknown server gets them all. */
const ownWords = ({ head }: SentBody, { options, cache, takesAll }: ChatProfile): ReadonlyArray<JsonEdit> => {
  if (takesAll === true) return []
  const others = Object.entries(owned).filter(([name, owner]) => owner !== options && !isAbsent(head[name]))
  const isKeyed = cache !== "key" && !isAbsent(head["prompt_cache_key"])
  return [...others.map(([name]) => cut(name)), ...(isKeyed ? [cut("prompt_cache_key")] : [])]
}

/** OpenAI's names for the default tier; other vendors have their own names. */
const usualTiers: ReadonlyArray<unknown> = ["default", "standard"]

const tierEdits = ({ head }: SentBody, { options, takesAll }: ChatProfile): ReadonlyArray<JsonEdit> =>
  options !== "openai" && takesAll !== true && usualTiers.includes(head["service_tier"]) ? [cut("service_tier")] : []

const usageEdits = ({ stream }: VendorRequest, { head }: SentBody, { asksForUsage }: ChatProfile) => {
  const { stream_options: options } = head
  if (!stream) return []
  if (asksForUsage) return [set(true, "stream_options", "include_usage")]
  return isAbsent(options) ? [] : [cut("stream_options")]
}
