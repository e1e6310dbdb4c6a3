/** Anthropic's messages towards clients. */
import type { ClientApi } from "../client-api.ts"
import { MessagesEvents, messagesError, wholeMessage } from "./client-reply.ts"
import { decodeMessagesRequest, messagesFields } from "./client-request.ts"

/** Features that bring tools of the vendor, or a larger context window; others come with the fields that use them. */
const addingBetas =
  /^(context-1m|computer-use|code-execution|mcp-client|web-fetch|skills|advisor|browser|tool-search|advanced-tool-use)-/

const omittedBetas = (header: string | undefined): ReadonlyArray<string> =>
  header === undefined
    ? []
    : header
        .split(",")
        .map((name) => name.trim())
        .filter((name) => addingBetas.test(name))

export const messagesApi: ClientApi = {
  name: "Anthropic messages",
  fields: messagesFields,
  decode: decodeMessagesRequest,
  events: (context) => new MessagesEvents(context),
  whole: wholeMessage,
  error: messagesError,
  omittedFeatures: (headers) => omittedBetas(headers["anthropic-beta"]),
  requestIdHeader: "request-id",
  fieldNames: [
    ["thread", "messages"],
    ["params.maxTokens", "max_tokens"],
    ["params.topP", "top_p"],
    ["params.stop", "stop_sequences"],
    ["params.toolChoice", "tool_choice"],
    ["params.reasoningBudget", "thinking.budget_tokens"],
    ["params.output", "output_config.format"],
    ["params.topK", "top_k"],
    ["params.serviceTier", "service_tier"],
    ["params.vendorOptions.anthropic.taskBudget", "output_config.task_budget"],
    ["params.", ""],
  ],
}
