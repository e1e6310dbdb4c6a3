/**
 * Differences in the requests of vendors with the API `openai-chat`; one decoder reads the replies of all.
 * Each profile names the documentation that it follows.
 */
import type { ChatProfileName } from "../../protocol/catalogue/vendor.ts"
import type { ReasoningDisplay, ReasoningLevel } from "../../protocol/exchange.ts"
import { type ExtraWords, sameAs } from "../vendor/extras.ts"
import type { ModelRule } from "../vendor/model-rules.ts"
import { type CallIds, hashedIds } from "../vendor/tool-loops.ts"
import {
  kimiModelDocs,
  kimiModels,
  openaiEffort,
  openaiEfforts,
  openaiModelDocs,
  openaiModels,
  openaiWords,
  xaiEfforts,
  xaiModelDocs,
  xaiModels,
} from "./models.ts"

export interface ChatProfile {
  /** Whether it has tools that take a text. */
  readonly takesTexts?: boolean
  /** The field that limits the output tokens. */
  readonly maxTokens: "max_completion_tokens" | "max_tokens"
  /** Fields that ask for a level of reasoning. */
  readonly reasoning: (level: ReasoningLevel, model: string, budget?: number, display?: ReasoningDisplay) => object
  /** Whether the model's reasoning stays hidden, always or if asked for. */
  readonly hidesReasoning?: true
  /** Whether the level of reasoning is also the effort of a model that reasons. */
  readonly reasonsByEffort?: true
  /** The values of `reasoning_effort` for a model, if the vendor refuses others. */
  readonly efforts?: (model: string) => ReadonlyArray<string> | undefined
  /** Parameters that its models take, where they differ, and the documentation that says so. */
  readonly models?: { readonly rules: ReadonlyArray<ModelRule>; readonly source: string }
  /** The field of an assistant message that returns reasoning; if absent, reasoning is omitted. */
  readonly reasoningBack?: "reasoning_content" | "reasoning_details"
  /** Whether a reply that is sent back may have only its text, calls and reasoning: other members are refused. */
  readonly refusesEchoes?: true
  /** Whether usage of a stream must be requested; other vendors always send it, or refuse the field. */
  readonly asksForUsage: boolean
  /** The way to cache a prefix: by a routing key, or by marks on blocks. */
  readonly cache?: "key" | "marks"
  /** The value of a tool choice that requires some tool call. */
  readonly requiredChoice: "required" | "any"
  /** The form of a document: data in a `file` part, also by URL, or Mistral's `document_url`. */
  readonly documents: "data" | "data-or-url" | "document_url"
  /** Whether the vendor cannot answer by a JSON Schema; it may support JSON without one. */
  readonly lacksOutput?: true
  /** Optional parameters that it supports. */
  readonly extras: ExtraWords
  /** Whether videos are taken, in a `video_url` part. */
  readonly videos?: true
  /** Whether the vendor stores files, which are sent by their id. */
  readonly keepsFiles?: true
  /** The vendor whose own options it takes. */
  readonly options?: "openai" | "openrouter" | "groq"
  /** Whether it is an unknown server: it gets all fields of the API. */
  readonly takesAll?: true
  /** The ids of calls that the vendor takes. */
  readonly callIds: CallIds
  /** Whether JSON without a schema cannot be asked for. */
  readonly lacksJsonMode?: true
  /** Whether the model cannot think where a tool is forced. */
  readonly thinksFreelyOnly?: true
  /** Whether the model always chooses its tools itself: it can neither be made to call one nor to call none. */
  readonly choosesTools?: true
  /** Whether a loop of tools that thinks needs its reasoning back. */
  readonly loopsNeedReasoning?: true
  /** Whether a thread ends with its user, or with results. */
  readonly endsWithUser?: true
  /** The most sequences that stop a reply, and the documentation that says so. */
  readonly mostStops?: { readonly most: number; readonly source: string }
  /** Members of OpenAI's requests that change no answer, and that the vendor refuses. */
  readonly refusedMembers?: ReadonlyArray<string>
  /** The most sequences that stop a reply, and the most tools. */
  readonly most?: { readonly stops: number; readonly tools: number }
}

type Levels = Readonly<Record<ReasoningLevel, string>>

/** For vendors with three levels, or three and none. */
const threeEfforts: Levels = {
  off: "none",
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
}

const effort = (levels: Levels) => (level: ReasoningLevel) => ({ reasoning_effort: levels[level] })
/** The values for vendors whose levels cannot be turned off. */
const effortIfOn = (level: ReasoningLevel) => (level === "off" ? {} : { reasoning_effort: threeEfforts[level] })
/** A variable of the model's own template. */
const templateSwitch = (level: ReasoningLevel) => ({ chat_template_kwargs: { enable_thinking: level !== "off" } })
const thinkingSwitch = (level: ReasoningLevel) => ({ thinking: { type: level === "off" ? "disabled" : "enabled" } })

/** All parameters in the form that most vendors share. */
const words = {
  seed: sameAs("seed"),
  frequencyPenalty: sameAs("frequency_penalty"),
  presencePenalty: sameAs("presence_penalty"),
  topK: sameAs("top_k"),
  minP: sameAs("min_p"),
  logprobs: (value) => ({ logprobs: true, ...(value > 0 && { top_logprobs: value }) }),
  logitBias: sameAs("logit_bias"),
  verbosity: sameAs("verbosity"),
  serviceTier: sameAs("service_tier"),
  prediction: (content) => ({ prediction: { type: "content", content } }),
  stopTokens: sameAs("stop_token_ids"),
  n: sameAs("n"),
} satisfies ExtraWords

type Word = keyof typeof words

const only = (...names: ReadonlyArray<Word>): ExtraWords => Object.fromEntries(names.map((name) => [name, words[name]]))

const penalties = ["frequencyPenalty", "presencePenalty"] as const

/** Members that SDKs of OpenAI's send to label, keep or route a request. */
const labels = ["store", "metadata", "safety_identifier", "prompt_cache_retention", "modalities"] as const

/**
 * The profile that all vendors understand. An unknown server gets the request unchanged: a profile of the model removes
 * parameters.
 */
const plain: ChatProfile = {
  maxTokens: "max_tokens",
  reasoning: () => ({}),
  asksForUsage: true,
  requiredChoice: "required",
  documents: "data",
  extras: words,
  // OpenAI's limit, with which others are compatible. Their own ids may be longer, and are not unique.
  callIds: hashedIds(/^[\s\S]{1,40}$/, 29, "call_"),
}

/** https://platform.openai.com/docs/api-reference/chat */
const openai: ChatProfile = {
  takesTexts: true,
  ...plain,
  maxTokens: "max_completion_tokens",
  reasoning: (level, model) => ({ reasoning_effort: openaiEffort(level, model) }),
  efforts: openaiEfforts,
  models: { rules: openaiModels, source: openaiModelDocs },
  reasonsByEffort: true,
  hidesReasoning: true,
  cache: "key",
  extras: only("seed", ...penalties, "logprobs", "logitBias", "verbosity", "serviceTier", "prediction", "n"),
  options: "openai",
  keepsFiles: true,
  most: { stops: 4, tools: 128 },
}

export const chatProfiles: Readonly<Record<ChatProfileName, ChatProfile>> = {
  openai,
  /** https://learn.microsoft.com/azure/ai-foundry/openai/reference; only the path and the header differ. */
  azure: openai,
  /** Any other server with this API. */
  generic: { ...plain, videos: true, takesAll: true },
  /** https://api-docs.deepseek.com; the reasoning of a turn with tool calls must be given back. */
  deepseek: {
    ...plain,
    thinksFreelyOnly: true,
    loopsNeedReasoning: true,
    extras: only(...penalties, "logprobs"),
    lacksOutput: true,
    reasoning: (level) => ({
      ...thinkingSwitch(level),
      ...(level !== "off" && { reasoning_effort: deepseekEfforts[level] }),
    }),
    reasoningBack: "reasoning_content",
  },
  /** https://help.aliyun.com/zh/model-studio (DashScope's compatible mode) */
  qwen: {
    ...plain,
    thinksFreelyOnly: true,
    extras: only("seed", "presencePenalty", "topK", "logprobs", "n"),
    videos: true,
    reasoning: (level, _, budget) => ({
      enable_thinking: level !== "off",
      ...(level !== "off" && { thinking_budget: budget ?? qwenBudgets[level] }),
    }),
  },
  /** https://platform.moonshot.ai/docs */
  moonshot: {
    ...plain,
    thinksFreelyOnly: true,
    loopsNeedReasoning: true,
    extras: only(...penalties, "n"),
    videos: true,
    lacksOutput: true,
    reasoning: thinkingSwitch,
    reasoningBack: "reasoning_content",
    models: { rules: kimiModels, source: kimiModelDocs },
    mostStops: { most: 5, source: "https://platform.moonshot.ai/docs/api/chat" },
  },
  /** https://docs.mistral.ai/api; refuses unknown fields and call ids, and sends usage without a request for it. */
  mistral: {
    ...plain,
    refusesEchoes: true,
    refusedMembers: [...labels, "user", "stream_options"],
    extras: { ...only(...penalties, "prediction", "n"), seed: sameAs("random_seed") },
    asksForUsage: false,
    reasoning: (level) => ({ reasoning_effort: level === "off" ? "none" : "high" }),
    efforts: () => ["none", "high"],
    cache: "key",
    requiredChoice: "any",
    documents: "document_url",
    callIds: hashedIds(/^[a-zA-Z0-9]{9}$/, 9),
    endsWithUser: true,
  },
  /** https://console.groq.com/docs/reasoning and, of what it refuses, https://console.groq.com/docs/openai and /docs/api-reference */
  groq: {
    ...plain,
    refusesEchoes: true,
    refusedMembers: labels,
    mostStops: { most: 4, source: "https://console.groq.com/docs/api-reference" },
    extras: only("seed", ...penalties, "serviceTier"),
    options: "groq",
    maxTokens: "max_completion_tokens",
    hidesReasoning: true,
    reasoning: (level, _model, _budget, display) => ({
      reasoning_effort: threeEfforts[level],
      reasoning_format: display === "omitted" ? "hidden" : "parsed",
    }),
  },
  /** https://docs.x.ai/docs/guides/reasoning; models differ in their levels, and those without refuse the field. */
  xai: {
    ...plain,
    extras: only("seed", ...penalties, "logprobs", "n"),
    maxTokens: "max_completion_tokens",
    reasoning: effort(openaiWords),
    efforts: xaiEfforts,
    models: { rules: xaiModels, source: xaiModelDocs },
  },
  /** https://openrouter.ai/docs/use-cases/reasoning-tokens */
  openrouter: {
    ...plain,
    extras: only("seed", ...penalties, "topK", "minP", "logprobs", "logitBias", "verbosity", "prediction"),
    videos: true,
    options: "openrouter",
    hidesReasoning: true,
    reasoning: (level, _model, _budget, display) => {
      if (level === "off") return { reasoning: { enabled: false } }
      return { reasoning: { effort: openaiWords[level], ...(display === "omitted" && { exclude: true }) } }
    },
    reasoningBack: "reasoning_details",
    cache: "marks",
    documents: "data-or-url",
  },
  /** https://docs.ollama.com/api/openai-compatibility */
  ollama: { ...plain, extras: only("seed", ...penalties, "logprobs"), reasoning: effort(threeEfforts) },
  /** https://docs.vllm.ai/en/latest/features/reasoning_outputs */
  vllm: {
    ...plain,
    videos: true,
    reasoning: templateSwitch,
    reasoningBack: "reasoning_content",
  },
  /** https://docs.z.ai/guides/capabilities/thinking */
  zai: {
    ...plain,
    choosesTools: true,
    mostStops: { most: 1, source: "https://docs.z.ai/api-reference/llm/chat-completion" },
    extras: {},
    videos: true,
    lacksOutput: true,
    // Keep reasoning that is returned.
    reasoning: (level) => ({ thinking: { clear_thinking: false, type: level === "off" ? "disabled" : "enabled" } }),
    reasoningBack: "reasoning_content",
  },
  /** https://inference-docs.cerebras.ai/capabilities/reasoning */
  cerebras: {
    ...plain,
    extras: only("seed", ...penalties, "logprobs", "logitBias", "serviceTier", "prediction"),
    maxTokens: "max_completion_tokens",
    reasoning: effort(threeEfforts),
  },
  /** https://docs.perplexity.ai/api-reference; usage comes with every chunk. */
  perplexity: {
    ...plain,
    extras: only(...penalties, "topK"),
    asksForUsage: false,
    lacksJsonMode: true,
    reasoning: effort(threeEfforts),
  },
  /** https://docs.together.ai/docs/inference/chat/reasoning; hybrid models have a switch, gpt-oss has levels. */
  together: {
    ...plain,
    extras: { ...only("seed", ...penalties, "topK", "minP", "logitBias", "n"), logprobs: sameAs("logprobs") },
    reasoning: (level) => ({ reasoning: { enabled: level !== "off" }, ...effortIfOn(level) }),
  },
  /** https://docs.fireworks.ai/guides/reasoning */
  fireworks: {
    ...plain,
    extras: only("seed", ...penalties, "topK", "minP", "logprobs", "logitBias", "serviceTier", "prediction", "n"),
    reasoning: effort(threeEfforts),
    reasoningBack: "reasoning_content",
  },
  /** https://docs.api.nvidia.com/nim/reference/llm-apis */
  nvidia: {
    ...plain,
    extras: only("seed", ...penalties),
    // Templates have one name or the other.
    reasoning: (level) => ({ chat_template_kwargs: { enable_thinking: level !== "off", thinking: level !== "off" } }),
  },
  /** https://docs.sambanova.ai/docs/en/features/openai-compatibility */
  sambanova: { ...plain, extras: only("topK"), reasoning: templateSwitch },
  /** https://huggingface.co/docs/inference-providers; passes what it gets to the provider. */
  huggingface: { ...plain, extras: only("seed", ...penalties, "logprobs", "logitBias"), reasoning: effortIfOn },
  /** https://docs.github.com/rest/models/inference; has no field for reasoning. */
  github: { ...plain, extras: only("seed", ...penalties) },
  /** https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility */
  cloudflare: { ...plain, extras: only("seed", ...penalties), reasoning: effortIfOn },
  /** https://novita.ai/docs/api-reference/model-apis-llm-create-chat-completion */
  novita: {
    ...plain,
    extras: only("seed", ...penalties, "topK", "minP", "logprobs", "logitBias", "n"),
    reasoning: (level) => ({ enable_thinking: level !== "off", separate_reasoning: true }),
  },
  /** https://lmstudio.ai/docs/developer/openai-compat */
  lmstudio: {
    ...plain,
    lacksJsonMode: true,
    extras: only("seed", ...penalties, "topK", "logitBias"),
    reasoning: effortIfOn,
  },
  /** https://github.com/ggml-org/llama.cpp/tree/master/tools/server */
  llamacpp: {
    ...plain,
    extras: only("seed", ...penalties, "topK", "minP", "logprobs", "logitBias", "n"),
    reasoning: templateSwitch,
    reasoningBack: "reasoning_content",
  },
  /** https://docs.databricks.com/aws/machine-learning/model-serving/query-reason-models; Claude is not asked to reason. */
  databricks: { ...plain, extras: only("topK", "logprobs", "n"), reasoning: effortIfOn },
  /** https://www.ibm.com/docs/en/watsonx/saas?topic=generation-inferencing-gateway-models; no field for reasoning. */
  watsonx: { ...plain, extras: only("seed", ...penalties, "logprobs", "n") },
}

/** https://api-docs.deepseek.com/guides/thinking_mode; it reads other words, too, as these. */
const deepseekEfforts: Readonly<Record<Exclude<ReasoningLevel, "off">, string>> = {
  minimal: "low",
  low: "low",
  medium: "high",
  high: "high",
  xhigh: "high",
  max: "max",
}

const qwenBudgets: Readonly<Record<Exclude<ReasoningLevel, "off">, number>> = {
  minimal: 512,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 24_576,
  max: 38_912,
}
