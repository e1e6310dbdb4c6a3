/**
 * The vendors with the API `openai-chat`, one record each: its address, its documentation, its name in price files and its
 * differences in requests. One decoder reads the replies of all.
 */
import type { ChatProfileName } from "../../protocol/catalogue/vendor.ts"
import { sameAs } from "../vendor/extras.ts"
import { hashedIds } from "../vendor/tool-loops.ts"
import { type ChatVendor, only, openai, penalties, plain } from "./chat-profile.ts"
import { kimiModelDocs, kimiModels, openaiWords, xaiEfforts, xaiModelDocs, xaiModels } from "./models.ts"
import {
  deepseekEfforts,
  effort,
  effortIfOn,
  qwenBudgets,
  templateSwitch,
  thinkingSwitch,
  threeEfforts,
} from "./reasoning-fields.ts"

/** Members that SDKs of OpenAI's send to label, keep or route a request. */
const labels = ["store", "metadata", "safety_identifier", "prompt_cache_retention", "modalities"] as const

export const chatProfiles: Readonly<Record<ChatProfileName, ChatVendor>> = {
  openai: {
    documentation: "https://platform.openai.com/docs/api-reference/chat",
    baseUrl: "https://api.openai.com/v1",
    ...openai,
  },
  /** Only the path and the header differ. */
  azure: {
    documentation: "https://learn.microsoft.com/azure/ai-foundry/openai/reference",
    baseUrl: "https://my-resource.openai.azure.com",
    ...openai,
  },
  /** Any other server with this API. */
  generic: {
    documentation: "https://platform.openai.com/docs/api-reference/chat",
    baseUrl: "https://HOST/v1",
    ...plain,
    videos: true,
    takesAll: true,
  },
  /** The reasoning of a turn with tool calls must be given back. */
  deepseek: {
    documentation: "https://api-docs.deepseek.com",
    baseUrl: "https://api.deepseek.com",
    variable: "DEEPSEEK_API_KEY",
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
  /** DashScope's compatible mode, in Singapore; keys of Beijing are for https://dashscope.aliyuncs.com/compatible-mode/v1. */
  qwen: {
    documentation: "https://help.aliyun.com/zh/model-studio",
    baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    variable: "DASHSCOPE_API_KEY",
    priceName: "dashscope",
    ...plain,
    thinksFreelyOnly: true,
    extras: only("seed", "presencePenalty", "topK", "logprobs", "n"),
    videos: true,
    reasoning: (level, _, budget) => ({
      enable_thinking: level !== "off",
      ...(level !== "off" && { thinking_budget: budget ?? qwenBudgets[level] }),
    }),
  },
  moonshot: {
    documentation: "https://platform.moonshot.ai/docs",
    baseUrl: "https://api.moonshot.ai/v1",
    variable: "MOONSHOT_API_KEY",
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
  /** The vendor refuses unknown fields and call ids, and sends usage without a request for it. */
  mistral: {
    documentation: "https://docs.mistral.ai/api",
    baseUrl: "https://api.mistral.ai/v1",
    variable: "MISTRAL_API_KEY",
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
  /** Fields that it refuses: https://console.groq.com/docs/openai and https://console.groq.com/docs/api-reference. */
  groq: {
    documentation: "https://console.groq.com/docs/reasoning",
    baseUrl: "https://api.groq.com/openai/v1",
    variable: "GROQ_API_KEY",
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
  /** Models differ in their levels, and those without refuse the field. */
  xai: {
    documentation: "https://docs.x.ai/docs/guides/reasoning",
    baseUrl: "https://api.x.ai/v1",
    variable: "XAI_API_KEY",
    ...plain,
    extras: only("seed", ...penalties, "logprobs", "n"),
    maxTokens: "max_completion_tokens",
    reasoning: effort(openaiWords),
    efforts: xaiEfforts,
    models: { rules: xaiModels, source: xaiModelDocs },
  },
  openrouter: {
    documentation: "https://openrouter.ai/docs/use-cases/reasoning-tokens",
    baseUrl: "https://openrouter.ai/api/v1",
    variable: "OPENROUTER_API_KEY",
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
  ollama: {
    documentation: "https://docs.ollama.com/api/openai-compatibility",
    baseUrl: "http://127.0.0.1:11434/v1",
    ...plain,
    extras: only("seed", ...penalties, "logprobs"),
    reasoning: effort(threeEfforts),
  },
  vllm: {
    documentation: "https://docs.vllm.ai/en/latest/features/reasoning_outputs",
    baseUrl: "http://127.0.0.1:8000/v1",
    ...plain,
    videos: true,
    reasoning: templateSwitch,
    reasoningBack: "reasoning_content",
  },
  zai: {
    documentation: "https://docs.z.ai/guides/capabilities/thinking",
    baseUrl: "https://api.z.ai/api/paas/v4",
    variable: "ZAI_API_KEY",
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
  cerebras: {
    documentation: "https://inference-docs.cerebras.ai/capabilities/reasoning",
    baseUrl: "https://api.cerebras.ai/v1",
    variable: "CEREBRAS_API_KEY",
    ...plain,
    extras: only("seed", ...penalties, "logprobs", "logitBias", "serviceTier", "prediction"),
    maxTokens: "max_completion_tokens",
    reasoning: effort(threeEfforts),
  },
  /** Usage comes with every chunk. */
  perplexity: {
    documentation: "https://docs.perplexity.ai/api-reference",
    baseUrl: "https://api.perplexity.ai",
    variable: "PERPLEXITY_API_KEY",
    ...plain,
    extras: only(...penalties, "topK"),
    asksForUsage: false,
    lacksJsonMode: true,
    reasoning: effort(threeEfforts),
  },
  /** Hybrid models have a switch, gpt-oss has levels. */
  together: {
    documentation: "https://docs.together.ai/docs/inference/chat/reasoning",
    baseUrl: "https://api.together.xyz/v1",
    variable: "TOGETHER_API_KEY",
    priceName: "together_ai",
    ...plain,
    extras: { ...only("seed", ...penalties, "topK", "minP", "logitBias", "n"), logprobs: sameAs("logprobs") },
    reasoning: (level) => ({ reasoning: { enabled: level !== "off" }, ...effortIfOn(level) }),
  },
  fireworks: {
    documentation: "https://docs.fireworks.ai/guides/reasoning",
    baseUrl: "https://api.fireworks.ai/inference/v1",
    variable: "FIREWORKS_API_KEY",
    priceName: "fireworks_ai",
    ...plain,
    extras: only("seed", ...penalties, "topK", "minP", "logprobs", "logitBias", "serviceTier", "prediction", "n"),
    reasoning: effort(threeEfforts),
    reasoningBack: "reasoning_content",
  },
  nvidia: {
    documentation: "https://docs.api.nvidia.com/nim/reference/llm-apis",
    baseUrl: "https://integrate.api.nvidia.com/v1",
    variable: "NVIDIA_API_KEY",
    priceName: "nvidia_nim",
    ...plain,
    extras: only("seed", ...penalties),
    // Templates have one name or the other.
    reasoning: (level) => ({ chat_template_kwargs: { enable_thinking: level !== "off", thinking: level !== "off" } }),
  },
  sambanova: {
    documentation: "https://docs.sambanova.ai/docs/en/features/openai-compatibility",
    baseUrl: "https://api.sambanova.ai/v1",
    variable: "SAMBANOVA_API_KEY",
    ...plain,
    extras: only("topK"),
    reasoning: templateSwitch,
  },
  /** Requests are passed on to the provider of the model. */
  huggingface: {
    documentation: "https://huggingface.co/docs/inference-providers",
    baseUrl: "https://router.huggingface.co/v1",
    variable: "HF_TOKEN",
    ...plain,
    extras: only("seed", ...penalties, "logprobs", "logitBias"),
    reasoning: effortIfOn,
  },
  /** The API has no field for reasoning. */
  github: {
    documentation: "https://docs.github.com/rest/models/inference",
    baseUrl: "https://models.github.ai/inference",
    // A machine's GITHUB_TOKEN is usually for something else.
    variable: "GITHUB_MODELS_TOKEN",
    ...plain,
    extras: only("seed", ...penalties),
  },
  cloudflare: {
    documentation: "https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility",
    baseUrl: "https://api.cloudflare.com/client/v4/accounts/ID/ai/v1",
    ...plain,
    extras: only("seed", ...penalties),
    reasoning: effortIfOn,
  },
  novita: {
    documentation: "https://novita.ai/docs/api-reference/model-apis-llm-create-chat-completion",
    baseUrl: "https://api.novita.ai/openai/v1",
    variable: "NOVITA_API_KEY",
    ...plain,
    extras: only("seed", ...penalties, "topK", "minP", "logprobs", "logitBias", "n"),
    reasoning: (level) => ({ enable_thinking: level !== "off", separate_reasoning: true }),
  },
  lmstudio: {
    documentation: "https://lmstudio.ai/docs/developer/openai-compat",
    baseUrl: "http://127.0.0.1:1234/v1",
    ...plain,
    lacksJsonMode: true,
    extras: only("seed", ...penalties, "topK", "logitBias"),
    reasoning: effortIfOn,
  },
  llamacpp: {
    documentation: "https://github.com/ggml-org/llama.cpp/tree/master/tools/server",
    baseUrl: "http://127.0.0.1:8080/v1",
    ...plain,
    extras: only("seed", ...penalties, "topK", "minP", "logprobs", "logitBias", "n"),
    reasoning: templateSwitch,
    reasoningBack: "reasoning_content",
  },
  /** Claude's own field, `thinking`, is not sent. */
  databricks: {
    documentation: "https://docs.databricks.com/aws/machine-learning/model-serving/query-reason-models",
    baseUrl: "https://WORKSPACE/serving-endpoints",
    ...plain,
    extras: only("topK", "logprobs", "n"),
    reasoning: effortIfOn,
  },
  /** The API has no field for reasoning. */
  watsonx: {
    documentation: "https://www.ibm.com/docs/en/watsonx/saas?topic=generation-inferencing-gateway-models",
    baseUrl: "https://REGION.ml.cloud.ibm.com/ml/gateway/v1",
    ...plain,
    extras: only("seed", ...penalties, "logprobs", "n"),
  },
}
