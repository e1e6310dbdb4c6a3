/** How Claude is asked to think, wherever it runs. */
import type { ReasoningLevel } from "../../protocol/exchange.ts"
import type { VendorRequest } from "../dialect.ts"

type Asked = Pick<VendorRequest, "model" | "reasoning" | "reasoningBudget" | "maxTokens">

/** Fields of the body, and the effort where the model takes one. */
export interface Thinking {
  readonly fields: object
  readonly effort?: string
}

type Level = Exclude<ReasoningLevel, "off">

const thinkingBudgets: Readonly<Record<Level, number>> = {
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  max: 32_768,
}

const efforts: Readonly<Record<Level, string>> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  max: "max",
}

/**
 * Models from 4.6 on choose their own amount of thinking, by effort; those of family 5 refuse a budget. Older models
 * take a budget between 1024 and `max_tokens`, exclusive; if there is no room, they answer without thinking. Source:
 * https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
 */
export function encodeThinking({ model, reasoning, reasoningBudget, maxTokens }: Asked): Thinking | undefined {
  if (reasoning === undefined || reasoning === "off") return undefined
  const version = versionOf(model)
  if (version >= 4.6) {
    // Later models return their thinking only if asked.
    const display = version > 4.6 ? { display: "summarized" } : {}
    return { fields: { thinking: { type: "adaptive", ...display } }, effort: efforts[reasoning] }
  }
  if (maxTokens <= 1024) return undefined
  const budget = Math.max(1024, reasoningBudget ?? thinkingBudgets[reasoning])
  return { fields: { thinking: { type: "enabled", budget_tokens: Math.min(budget, maxTokens - 1) } } }
}

/** e.g. 4.5 for `claude-sonnet-4-5-20250929`, 3.7 for `claude-3-7-sonnet`; 0 for a name without a number. */
export const versionOf = (model: string): number => {
  const [, major, minor = "0"] = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d)(?!\d))?(?!\d)/.exec(model) ?? []
  return major === undefined ? 0 : Number(`${major}.${minor}`)
}
