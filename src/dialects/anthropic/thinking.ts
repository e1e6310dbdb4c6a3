/** The request for thinking, for Claude on every platform. */
import type { Effort, ReasoningLevel } from "../../protocol/exchange.ts"
import type { VendorRequest } from "../chat-dialect.ts"
import { makersName } from "../vendor/family.ts"

type Asked = Pick<
  VendorRequest,
  "model" | "family" | "reasoning" | "reasoningBudget" | "reasoningDisplay" | "maxTokens"
>

/** Fields of the body, and the effort where the model thinks by it. */
export interface Thinking {
  readonly fields: object
  readonly effort?: Effort
}

type Level = Exclude<ReasoningLevel, "off">

const thinkingBudgets: Readonly<Record<Level, number>> = {
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 24_576,
  max: 32_768,
}

const efforts: Readonly<Record<Level, Effort>> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  max: "max",
}

/**
 * The effort that a model gets: Opus 4.5 and models from 4.6 on take one, `max` came with 4.6, and `xhigh` with 4.7. Source:
 * https://platform.claude.com/docs/en/build-with-claude/effort
 */
export const effortOf = (model: string, effort: Effort | undefined): Effort | undefined => {
  const version = versionOf(model)
  const isEarly = /opus-4-5/.test(model)
  if (effort === undefined || (version < 4.6 && version > 0 && !isEarly)) return undefined
  if (isEarly) return effort === "xhigh" || effort === "max" ? "high" : effort
  return effort === "xhigh" && version > 0 && version < 4.7 ? "high" : effort
}

/**
 * Models from 4.6 on choose their own amount of thinking, by effort; those of family 5 refuse a budget. Older models
 * take a budget between 1024 and `max_tokens`, exclusive; if there is no room, they answer without thinking. Source:
 * https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
 */
export function encodeThinking(asked: Asked): Thinking | undefined {
  const { reasoning, reasoningBudget, reasoningDisplay, maxTokens } = asked
  if (reasoning === undefined || reasoning === "off") return undefined
  const version = claudeVersion(asked)
  if (version >= 4.6) {
    // Later models return their thinking only if asked.
    const display = reasoningDisplay === "omitted" ? omitted : version > 4.6 ? { display: "summarized" } : {}
    return { fields: { thinking: { type: "adaptive", ...display } }, effort: efforts[reasoning] }
  }
  if (maxTokens <= 1024) return undefined
  const budget = Math.max(1024, reasoningBudget ?? thinkingBudgets[reasoning])
  const display = reasoningDisplay === "omitted" && version >= 4 ? omitted : {}
  return { fields: { thinking: { type: "enabled", budget_tokens: Math.min(budget, maxTokens - 1), ...display } } }
}

const omitted = { display: "omitted" }

/** The version of the model of a request, by the name that its maker gave it. */
export const claudeVersion = (request: Pick<VendorRequest, "model" | "family">): number =>
  versionOf(makersName(request))

/** e.g. 4.5 for `claude-sonnet-4-5-20250929`, 3.7 for `claude-3-7-sonnet`; 0 for a name without a number. */
export const versionOf = (model: string): number => {
  const [, major, minor = "0"] = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d)(?!\d))?(?!\d)/.exec(model) ?? []
  return major === undefined ? 0 : Number(`${major}.${minor}`)
}
