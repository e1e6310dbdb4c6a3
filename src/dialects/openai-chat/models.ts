/** Parameters that models of vendors with the API `openai-chat` take, where they differ. */
import type { ReasoningLevel } from "../../protocol/exchange.ts"
import { type Forming, type ModelRule, ruleOf, type Sampling } from "../vendor/model-rules.ts"

const penalties = ["frequencyPenalty", "presencePenalty"] as const satisfies ReadonlyArray<Sampling>
const sampling: ReadonlyArray<Sampling> = ["temperature", "topP", ...penalties]
const forming: ReadonlyArray<Forming> = ["stop", "logprobs", "logitBias"]

/** Models that call one tool at a time. */
const oneCall: ReadonlyArray<Sampling> = [...sampling, "parallelToolCalls", "verbosity"]

const threeLevels: ReadonlyArray<ReasoningLevel> = ["low", "medium", "high"]
const noReasoning: ReadonlyArray<ReasoningLevel> = []

/** Models that always reason. */
const reasons = { lacks: sampling, refuses: forming, refusesMaxTokens: true } as const

export const openaiModelDocs = "https://platform.openai.com/docs/guides/reasoning"

/**
 * OpenAI's models. Sources: https://platform.openai.com/docs/guides/reasoning,
 * https://platform.openai.com/docs/guides/latest-model (parameter compatibility) and the pages of the models.
 */
export const openaiModels: ReadonlyArray<ModelRule> = [
  { names: /^o1-(mini|preview)/, levels: noReasoning, ...reasons, lacks: oneCall },
  { names: /^(o1|o3-mini)(-|$)/, levels: threeLevels, ...reasons, lacks: oneCall, refuses: ["logprobs", "logitBias"] },
  { names: /^o[34](-|$)/, levels: threeLevels, ...reasons, lacks: oneCall },
  { names: /^codex-mini/, levels: threeLevels, ...reasons },
  // The models of ChatGPT.
  { names: /^gpt-5-chat/, levels: noReasoning, lacks: ["verbosity"], refusesMaxTokens: true },
  { names: /^gpt-5\.\d+-chat/, levels: ["medium"], ...reasons },
  { names: /^gpt-5-pro/, levels: ["high"], ...reasons },
  { names: /^gpt-5\.\d+-pro/, levels: ["medium", "high", "xhigh"], ...reasons },
  { names: /^gpt-5(\.1)?-codex(?!-max)/, levels: threeLevels, ...reasons },
  { names: /^gpt-5\.\d+-codex/, levels: [...threeLevels, "xhigh"], ...reasons },
  { names: /^gpt-5(-mini|-nano)?(-\d{4}|$)/, levels: ["minimal", ...threeLevels], ...reasons },
  // Models that can be made not to reason then take sampling parameters.
  { names: /^gpt-5\.1(?!\d)/, levels: ["off", ...threeLevels], ...reasons, whereReasoning: "told" },
  { names: /^gpt-5\.[2-4](?!\d)/, levels: ["off", ...threeLevels, "xhigh"], ...reasons, whereReasoning: "told" },
  { names: /^gpt-5\.5(?!\d)/, levels: ["off", ...threeLevels, "xhigh"], ...reasons, whereReasoning: "unless off" },
  {
    names: /^gpt-5\.6(?!\d)/,
    levels: ["off", ...threeLevels, "xhigh", "max"],
    ...reasons,
    whereReasoning: "unless off",
  },
  {
    names: /^gpt-4o(-mini)?-search/,
    levels: noReasoning,
    lacks: oneCall,
    refuses: [...forming, "n"],
  },
  { names: /^(gpt-4|gpt-3\.5|chatgpt-4o)/, levels: noReasoning, lacks: ["verbosity"] },
]

export const openaiWords: Readonly<Record<ReasoningLevel, string>> = {
  off: "none",
  minimal: "minimal",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  max: "xhigh",
}

/**
 * OpenAI's name of a level.
 * @param model as its maker names it
 */
export const openaiEffort = (level: ReasoningLevel, model: string): string =>
  level === "max" && ruleOf(openaiModels, { model })?.levels?.includes("max") === true ? "max" : openaiWords[level]

/**
 * The names of levels that a model takes; undefined if it is not known.
 * @param model as its maker names it
 */
export const openaiEfforts = (model: string): ReadonlyArray<string> | undefined =>
  ruleOf(openaiModels, { model })?.levels?.map((level) => openaiEffort(level, model))

export const xaiModelDocs = "https://docs.x.ai/docs/guides/reasoning"

/** Models of xAI that reason answer these with errors. */
const grokReasons = { lacks: penalties, refuses: ["stop"], offIsUnsaid: true } as const

/** xAI's models: https://docs.x.ai/developers/model-capabilities/text/reasoning. A name without a number may be any model. */
export const xaiModels: ReadonlyArray<ModelRule> = [
  { names: /non-reasoning/, levels: noReasoning },
  { names: /grok-3-mini/, levels: ["low", "high"], ...grokReasons },
  { names: /multi-agent|grok-4\.[67]/, levels: [...threeLevels, "xhigh"], ...grokReasons },
  { names: /grok-4\.5/, levels: threeLevels, ...grokReasons },
  { names: /grok-4\.3/, levels: ["off", ...threeLevels], ...grokReasons, whereReasoning: "unless off" },
  { names: /grok-(4(?!\.[89])|code)(?!\d)/, levels: noReasoning, ...grokReasons },
  { names: /grok-[23](?!\d)/, levels: noReasoning },
  { names: /^/, levels: ["low", "high"], offIsUnsaid: true },
]

/** The names of levels that a model of xAI's takes. */
export const xaiEfforts = (model: string): ReadonlyArray<string> | undefined =>
  ruleOf(xaiModels, { model })?.levels?.map((level) => openaiWords[level])

export const kimiModelDocs = "https://platform.kimi.ai/docs/api/models-overview"

/** Moonshot's models whose sampling is fixed. */
export const kimiModels: ReadonlyArray<ModelRule> = [
  { names: /^kimi-(k2\.[5-9]|k[3-9]|for-coding|latest)/, lacks: sampling, refuses: ["n"] },
]
