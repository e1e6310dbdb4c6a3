/** OpenAI's responses towards clients. */
import { CarriedEvents } from "../carry/carried-reply.ts"
import type { ClientApi } from "../client/client-api.ts"
import { chatError } from "../openai-chat/client-reply.ts"
import { carriedResponse, responseRules } from "./carried-reply.ts"
import { ResponsesEvents } from "./client-reply.ts"
import { decodeResponsesRequest, responsesFields } from "./client-request.ts"
import { wholeResponse } from "./response-object.ts"

export const responsesApi: ClientApi = {
  name: "OpenAI responses",
  carried: { dialect: "openai-responses", prompt: ["input", "instructions", "tools"], whole: carriedResponse },
  fields: responsesFields,
  decode: decodeResponsesRequest,
  events: (context) => new CarriedEvents(new ResponsesEvents(context), () => responseRules(context)),
  whole: wholeResponse,
  error: chatError,
  requestIdHeader: "x-request-id",
  fieldNames: [
    ["thread", "input"],
    ["params.maxTokens", "max_output_tokens"],
    ["params.topP", "top_p"],
    ["params.toolChoice", "tool_choice"],
    ["params.parallelToolCalls", "parallel_tool_calls"],
    ["params.output", "text.format"],
    ["params.logprobs", "top_logprobs"],
    ["params.verbosity", "text.verbosity"],
    ["params.serviceTier", "service_tier"],
    ["params.vendorOptions.openai.promptCacheOptions", "prompt_cache_options"],
    ["params.vendorOptions.openai.reasoningMode", "reasoning.mode"],
    ["params.vendorOptions.openai.truncation", "truncation"],
    ["params.", ""],
    ["cache.key", "prompt_cache_key"],
  ],
}
