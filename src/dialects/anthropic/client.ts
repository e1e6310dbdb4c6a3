/** Anthropic's messages towards clients. */
import type { ClientApi } from "../client-api.ts"
import { MessagesEvents, messagesError, wholeMessage } from "./client-reply.ts"
import { decodeMessagesRequest, messagesFields } from "./client-request.ts"

export const messagesApi: ClientApi = {
  name: "Anthropic messages",
  fields: messagesFields,
  decode: decodeMessagesRequest,
  events: (context) => new MessagesEvents(context),
  whole: wholeMessage,
  error: messagesError,
  requestIdHeader: "request-id",
  fieldNames: [
    ["thread", "messages"],
    ["params.maxTokens", "max_tokens"],
    ["params.topP", "top_p"],
    ["params.stop", "stop_sequences"],
    ["params.toolChoice", "tool_choice"],
    ["params.reasoningBudget", "thinking.budget_tokens"],
    ["params.output", "output_config.format"],
    ["params.", ""],
  ],
}
