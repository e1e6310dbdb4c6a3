/** The fields by which vendors with the API `openai-chat` are asked for a level of reasoning. */
import type { ReasoningLevel } from "../../protocol/exchange.ts"

type Levels = Readonly<Record<ReasoningLevel, string>>

/** For vendors with three levels, or three and none. */
export const threeEfforts: Levels = {
  off: "none",
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
}

export const effort = (levels: Levels) => (level: ReasoningLevel) => ({ reasoning_effort: levels[level] })
/** The level, for vendors that have no level for off. */
export const effortIfOn = (level: ReasoningLevel) => (level === "off" ? {} : { reasoning_effort: threeEfforts[level] })
/** A variable of the model's own template. */
export const templateSwitch = (level: ReasoningLevel) => ({
  chat_template_kwargs: { enable_thinking: level !== "off" },
})
export const thinkingSwitch = (level: ReasoningLevel) => ({
  thinking: { type: level === "off" ? "disabled" : "enabled" },
})

/** https://api-docs.deepseek.com/guides/thinking_mode; it reads other words, too, as these. */
export const deepseekEfforts: Readonly<Record<Exclude<ReasoningLevel, "off">, string>> = {
  minimal: "low",
  low: "low",
  medium: "high",
  high: "high",
  xhigh: "high",
  max: "max",
}

export const qwenBudgets: Readonly<Record<Exclude<ReasoningLevel, "off">, number>> = {
  minimal: 512,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 24_576,
  max: 38_912,
}
