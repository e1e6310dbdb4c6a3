/**
 * How vendors that speak `openai-chat` differ in what they are asked; what they answer is read by one reader for all.
 * Each profile names the documentation that it follows.
 */
import type { VendorProfile } from "../../protocol/catalogue.ts"
import type { ReasoningLevel } from "../../protocol/exchange.ts"

export interface ChatProfile {
  /** The field that bounds the answer. */
  readonly maxTokens: "max_completion_tokens" | "max_tokens"
  /** Fields that ask for a level of reasoning. */
  readonly reasoning: (level: ReasoningLevel) => object
  /** Where an assistant message gives reasoning back; where absent it stays behind. */
  readonly reasoningBack?: "reasoning_content" | "reasoning_details"
  /** Whether usage of a stream must be asked for; the others always tell it, or refuse the field. */
  readonly asksForUsage: boolean
  /** How a prefix is cached on demand: by a key for routing, or by marks on the blocks. */
  readonly cache?: "key" | "marks"
  /** The word for a tool choice that must call some tool. */
  readonly requiredChoice: "required" | "any"
  /** How a document travels: as data in a `file` part, there by URL too, or in Mistral's `document_url`. */
  readonly documents: "data" | "data-or-url" | "document_url"
  /** The form of tool call ids where a vendor refuses others' ids. */
  readonly callIds?: "nine-alphanumerics"
}

type Levels = Readonly<Record<ReasoningLevel, string>>

const openaiEfforts: Levels = {
  off: "none",
  minimal: "minimal",
  low: "low",
  medium: "medium",
  high: "high",
  max: "xhigh",
}
/** For vendors with three levels, or three and none. */
const threeEfforts: Levels = { off: "none", minimal: "low", low: "low", medium: "medium", high: "high", max: "high" }

const effort = (levels: Levels) => (level: ReasoningLevel) => ({ reasoning_effort: levels[level] })
const thinkingSwitch = (level: ReasoningLevel) => ({ thinking: { type: level === "off" ? "disabled" : "enabled" } })

/** What all understand. */
const plain: ChatProfile = {
  maxTokens: "max_tokens",
  reasoning: () => ({}),
  asksForUsage: true,
  requiredChoice: "required",
  documents: "data",
}

/** https://platform.openai.com/docs/api-reference/chat */
const openai: ChatProfile = {
  ...plain,
  maxTokens: "max_completion_tokens",
  reasoning: effort(openaiEfforts),
  cache: "key",
}

export const chatProfiles: Readonly<Record<VendorProfile, ChatProfile>> = {
  openai,
  /** https://learn.microsoft.com/azure/ai-foundry/openai/reference; what differs is the way to it. */
  azure: openai,
  /** Any other server that speaks it. */
  generic: plain,
  /** https://api-docs.deepseek.com; the reasoning of a turn with tool calls must be given back. */
  deepseek: { ...plain, reasoning: thinkingSwitch, reasoningBack: "reasoning_content" },
  /** https://help.aliyun.com/zh/model-studio (DashScope's compatible mode) */
  qwen: {
    ...plain,
    reasoning: (level) => ({
      enable_thinking: level !== "off",
      ...(level !== "off" && { thinking_budget: qwenBudgets[level] }),
    }),
  },
  /** https://platform.moonshot.ai/docs */
  moonshot: { ...plain, reasoning: thinkingSwitch, reasoningBack: "reasoning_content" },
  /** https://docs.mistral.ai/api; refuses fields and call ids that it does not know, and tells usage unasked. */
  mistral: {
    ...plain,
    asksForUsage: false,
    reasoning: (level) => ({ reasoning_effort: level === "off" ? "none" : "high" }),
    cache: "key",
    requiredChoice: "any",
    documents: "document_url",
    callIds: "nine-alphanumerics",
  },
  /** https://console.groq.com/docs/reasoning */
  groq: {
    ...plain,
    maxTokens: "max_completion_tokens",
    reasoning: (level) => ({ reasoning_effort: threeEfforts[level], reasoning_format: "parsed" }),
  },
  /** https://docs.x.ai/docs/guides/reasoning; two levels, and models that cannot reason refuse the field. */
  xai: {
    ...plain,
    maxTokens: "max_completion_tokens",
    reasoning: (level) => (level === "off" ? {} : { reasoning_effort: xaiEfforts[level] }),
  },
  /** https://openrouter.ai/docs/use-cases/reasoning-tokens */
  openrouter: {
    ...plain,
    reasoning: (level) => ({ reasoning: level === "off" ? { enabled: false } : { effort: openaiEfforts[level] } }),
    reasoningBack: "reasoning_details",
    cache: "marks",
    documents: "data-or-url",
  },
  /** https://docs.ollama.com/api/openai-compatibility */
  ollama: { ...plain, reasoning: effort(threeEfforts) },
  /** https://docs.vllm.ai/en/latest/features/reasoning_outputs */
  vllm: {
    ...plain,
    reasoning: (level) => ({ chat_template_kwargs: { enable_thinking: level !== "off" } }),
    reasoningBack: "reasoning_content",
  },
  /** https://docs.z.ai/guides/capabilities/thinking */
  zai: {
    ...plain,
    // Reasoning that is given back is to be kept.
    reasoning: (level) => ({ thinking: { clear_thinking: false, type: level === "off" ? "disabled" : "enabled" } }),
    reasoningBack: "reasoning_content",
  },
  /** https://inference-docs.cerebras.ai/capabilities/reasoning */
  cerebras: { ...plain, maxTokens: "max_completion_tokens", reasoning: effort(threeEfforts) },
  /** https://docs.perplexity.ai/api-reference; usage comes with every chunk. */
  perplexity: { ...plain, asksForUsage: false, reasoning: effort(threeEfforts) },
}

const qwenBudgets: Readonly<Record<Exclude<ReasoningLevel, "off">, number>> = {
  minimal: 512,
  low: 2048,
  medium: 8192,
  high: 16_384,
  max: 38_912,
}

const xaiEfforts: Readonly<Record<Exclude<ReasoningLevel, "off">, string>> = {
  minimal: "low",
  low: "low",
  medium: "low",
  high: "high",
  max: "high",
}
