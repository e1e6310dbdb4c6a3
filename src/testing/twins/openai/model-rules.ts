/** Requests that a model refuses, even if its vendor's other models take them. */

import { openaiEffort } from "../../../dialects/openai-chat/models.ts"
import { type JsonObject, objectAt, stringAt } from "../../../dialects/parse/json.ts"
import { type Forming, isLacking, type ModelRule, ruleOf, type Sampling } from "../../../dialects/vendor/model-rules.ts"
import type { ReasoningLevel } from "../../../protocol/exchange.ts"
import { fault, rule } from "../rules.ts"
import type { TwinRule } from "../twin.ts"

const members: Readonly<Partial<Record<Sampling | Forming, ReadonlyArray<string>>>> = {
  temperature: ["temperature"],
  topP: ["top_p"],
  frequencyPenalty: ["frequency_penalty"],
  presencePenalty: ["presence_penalty"],
  parallelToolCalls: ["parallel_tool_calls"],
  stop: ["stop"],
  logprobs: ["logprobs", "top_logprobs"],
  logitBias: ["logit_bias"],
  n: ["n"],
}

const levels: Readonly<Record<string, ReasoningLevel>> = { none: "off", low: "low", medium: "medium", high: "high" }

const ruleIn = (rules: ReadonlyArray<ModelRule>, body: JsonObject): ModelRule | undefined =>
  ruleOf(rules, { model: stringAt(body, "model") ?? "" })

/** The effort of chat completions, or of responses. */
const effortIn = (body: JsonObject): string | undefined =>
  stringAt(body, "reasoning_effort") ?? stringAt(objectAt(body, "reasoning"), "effort")

const effortPath = (body: JsonObject): string =>
  body["reasoning"] === undefined ? "reasoning_effort" : "reasoning.effort"

const lacked =
  (rules: ReadonlyArray<ModelRule>, names: (found: ModelRule) => ReadonlyArray<Sampling | Forming> | undefined) =>
  (body: JsonObject) => {
    const found = ruleIn(rules, body)
    const effort = effortIn(body)
    if (found === undefined || !isLacking(found, effort === undefined ? undefined : (levels[effort] ?? "high")))
      return undefined
    const member = names(found)
      ?.flatMap((name) => members[name] ?? [])
      .find((name) => body[name] !== undefined)
    return member === undefined
      ? undefined
      : fault(member, `Unsupported parameter: '${member}' is not supported with this model.`)
  }

/** @param source of the vendor's documentation */
export const modelRules = (rules: ReadonlyArray<ModelRule>, source: string): ReadonlyArray<TwinRule> => [
  rule("levels of a model", source, (body) => {
    const found = ruleIn(rules, body)
    const effort = effortIn(body)
    const words = found?.levels?.map((level) => openaiEffort(level, stringAt(body, "model") ?? ""))
    return effort === undefined || words === undefined || words.includes(effort)
      ? undefined
      : fault(
          effortPath(body),
          `Unsupported value: '${effort}' is not supported with this model. Supported values are: ${words.join(", ")}.`,
        )
  }),
  rule(
    "sampling of a model",
    source,
    lacked(rules, ({ lacks }) => lacks),
  ),
  rule(
    "answers of a model",
    source,
    lacked(rules, ({ refuses }) => refuses),
  ),
]

/** The older name of the output limit. */
export const olderLimit = (rules: ReadonlyArray<ModelRule>, source: string): TwinRule =>
  rule("limits of a model", source, (body) =>
    ruleIn(rules, body)?.refusesMaxTokens === true && body["max_tokens"] !== undefined
      ? fault(
          "max_tokens",
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        )
      : undefined,
  )
