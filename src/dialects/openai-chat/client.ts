/** OpenAI's chat completions towards clients. */
import { CarriedEvents } from "../carry/carried-reply.ts"
import type { ClientApi } from "../client/client-api.ts"
import { carriedCompletion, chunkRules } from "./carried-reply.ts"
import { ChatEvents, chatCompletion, chatError } from "./client-reply.ts"
import { chatFields, decodeChatRequest } from "./client-request.ts"

export const chatApi: ClientApi = {
  name: "OpenAI chat completions",
  carried: { dialect: "openai-chat", prompt: ["messages", "tools"], whole: carriedCompletion },
  fields: chatFields,
  decode: decodeChatRequest,
  events: (context) => new CarriedEvents(new ChatEvents(context), () => chunkRules(context)),
  whole: chatCompletion,
  error: chatError,
  requestIdHeader: "x-request-id",
  fieldNames: [
    ["thread", "messages"],
    ["params.maxTokens", "max_completion_tokens"],
    ["params.topP", "top_p"],
    ["params.toolChoice", "tool_choice"],
    ["params.parallelToolCalls", "parallel_tool_calls"],
    ["params.output", "response_format.json_schema"],
    ["params.frequencyPenalty", "frequency_penalty"],
    ["params.presencePenalty", "presence_penalty"],
    ["params.topK", "top_k"],
    ["params.minP", "min_p"],
    ["params.logitBias", "logit_bias"],
    ["params.serviceTier", "service_tier"],
    ["params.stopTokens", "stop_token_ids"],
    ["params.vendorOptions.openai.promptCacheOptions", "prompt_cache_options"],
    ["params.vendorOptions.openrouter.provider", "provider"],
    ["params.vendorOptions.groq.reasoningFormat", "reasoning_format"],
    ["params.vendorOptions.groq.searchSettings", "search_settings"],
    ["params.logprobs", "top_logprobs"],
    ["params.", ""],
    ["cache.key", "prompt_cache_key"],
  ],
}
