/** OpenAI's chat completions towards clients. */
import type { ClientApi } from "../client-api.ts"
import { ChatEvents, chatCompletion, chatError } from "./client-reply.ts"
import { chatFields, decodeChatRequest } from "./client-request.ts"

export const chatApi: ClientApi = {
  name: "OpenAI chat completions",
  fields: chatFields,
  decode: decodeChatRequest,
  events: (context) => new ChatEvents(context),
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
    ["params.", ""],
    ["cache.key", "prompt_cache_key"],
  ],
}
