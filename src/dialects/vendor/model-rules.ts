/**
 * The parameters that the models of a vendor take, by the names of their makers. A model that no rule names gets the request
 * unchanged. A level of reasoning becomes the nearest one that the model has; a sampling parameter that it lacks is left out;
 * if it lacks a parameter that changes the form of an answer, the target is skipped.
 */
import type { ReasoningLevel } from "../../protocol/exchange.ts"
import type { ExtraName, ExtraParams } from "../../protocol/extra-params.ts"
import type { VendorRequest } from "../chat-dialect.ts"
import type { EncodeRefusal } from "../wire.ts"
import { isAsked } from "./extras.ts"
import { makersName } from "./family.ts"
import { mends, type Requirement, refuses } from "./requirements.ts"

export interface ModelRule {
  /** The names of the models, without a publisher. The first rule that fits counts. */
  readonly names: RegExp
  /** The levels of reasoning that they take, from the lowest; all if absent, and none if they do not reason. */
  readonly levels?: ReadonlyArray<ReasoningLevel>
  /** Whether they reason by default, if they have no level below their others. */
  readonly offIsUnsaid?: true
  /** Parameters without which the answer has the same form: they are left out. */
  readonly lacks?: ReadonlyArray<Sampling>
  /** Parameters without which the answer would have another form: the target is skipped. */
  readonly refuses?: ReadonlyArray<Forming>
  /** Whether these are lacking only if the model reasons, and in that case, whether it reasons if the request has no level. */
  readonly whereReasoning?: "told" | "unless off"
  /** Whether the older name of the output limit, `max_tokens`, is refused. */
  readonly refusesMaxTokens?: true
}

export type Sampling = "temperature" | "topP" | "parallelToolCalls" | Exclude<ExtraName, Forming>
export type Forming = "stop" | "logprobs" | "logitBias" | "n" | "prediction"

type Rules = ReadonlyArray<ModelRule>
type Named = Pick<VendorRequest, "model" | "family">

export const ruleOf = (rules: Rules, request: Named): ModelRule | undefined => {
  const name = makersName(request)
  return rules.find(({ names }) => names.test(name))
}

/** The parameters that the model of a request does not take as it reasons. */
export const lackedBy = (
  rules: Rules,
  request: Named & Pick<VendorRequest, "reasoning">,
): ReadonlyArray<Sampling | Forming> => {
  const rule = ruleOf(rules, request)
  return rule !== undefined && isLacking(rule, request.reasoning)
    ? [...(rule.lacks ?? []), ...(rule.refuses ?? [])]
    : []
}

const order: ReadonlyArray<ReasoningLevel> = ["off", "minimal", "low", "medium", "high", "xhigh", "max"]

/** The level of a model for one that is asked for: it, or the one below it, or its lowest. */
export const levelFor = (
  asked: ReasoningLevel,
  { levels = order, offIsUnsaid }: Pick<ModelRule, "levels" | "offIsUnsaid">,
): ReasoningLevel | undefined => {
  if (levels.includes(asked)) return asked
  if (asked === "off" && offIsUnsaid === true) return undefined
  const on = levels.filter((level) => level !== "off")
  return on.findLast((level) => order.indexOf(level) <= order.indexOf(asked)) ?? on[0]
}

const withLevel = (request: VendorRequest, rule: ModelRule): VendorRequest => {
  const { reasoning, effort } = request
  const level = reasoning && levelFor(reasoning, rule)
  const word = effort && levelFor(effort, rule)
  if (level === reasoning && word === effort) return request
  return {
    ...request,
    reasoning: level,
    effort: word === "off" || word === "minimal" ? undefined : word,
    // A client that asked for no thoughts gets none.
    ...(reasoning === "off" && level !== undefined && { reasoningDisplay: "omitted" }),
  }
}

/** Whether the model lacks the parameter of its rule. */
export const isLacking = ({ whereReasoning }: ModelRule, reasoning: ReasoningLevel | undefined): boolean =>
  whereReasoning === undefined || (reasoning === undefined ? whereReasoning === "unless off" : reasoning !== "off")

export const withoutSampling = (request: VendorRequest, names: ReadonlyArray<Sampling>): VendorRequest => {
  const { temperature, topP, parallelToolCalls } = request
  const extras: { -readonly [Name in keyof ExtraParams]: ExtraParams[Name] } = { ...request.extras }
  let isChanged = false
  for (const name of names) {
    if (name === "temperature" || name === "topP" || name === "parallelToolCalls") {
      isChanged ||= request[name] !== undefined
      continue
    }
    isChanged ||= extras[name] !== undefined
    delete extras[name]
  }
  if (!isChanged) return request
  return {
    ...request,
    temperature: names.includes("temperature") ? undefined : temperature,
    topP: names.includes("topP") ? undefined : topP,
    parallelToolCalls: names.includes("parallelToolCalls") ? undefined : parallelToolCalls,
    ...(request.extras !== undefined && { extras }),
  }
}

const refusalOf = ({ stop, extras }: VendorRequest, names: ReadonlyArray<Forming>): EncodeRefusal | undefined => {
  const found = names.find((name) => (name === "stop" ? stop.length > 0 : isAsked(name, extras)))
  return found === undefined ? undefined : { capability: found, message: `this model does not support ${found}` }
}

/** Applies the rule of a request's model, or `none` if no rule names it. */
const byRule =
  <A>(rules: Rules, none: (request: VendorRequest) => A, apply: (rule: ModelRule, request: VendorRequest) => A) =>
  (request: VendorRequest): A => {
    const rule = ruleOf(rules, request)
    return rule === undefined ? none(request) : apply(rule, request)
  }

const same = (request: VendorRequest): VendorRequest => request

/** The row of a vendor whose models have different levels of reasoning. */
export const levelRequirement = (rules: Rules, source: string): Requirement => ({
  rule: "levels of a model",
  source,
  ofModel: true,
  meet: mends(byRule(rules, same, (rule, request) => withLevel(request, rule))),
})

/** The rows of a vendor whose models take different parameters. */
export const modelRequirements = (rules: Rules, source: string): ReadonlyArray<Requirement> => [
  levelRequirement(rules, source),
  {
    rule: "sampling of a model",
    source,
    ofModel: true,
    meet: mends(
      byRule(rules, same, (rule, request) =>
        isLacking(rule, request.reasoning) ? withoutSampling(request, rule.lacks ?? []) : request,
      ),
    ),
  },
  {
    rule: "answers of a model",
    source,
    ofModel: true,
    meet: refuses(
      byRule(
        rules,
        () => undefined,
        (rule, request) => (isLacking(rule, request.reasoning) ? refusalOf(request, rule.refuses ?? []) : undefined),
      ),
    ),
  },
]
