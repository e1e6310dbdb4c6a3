/** Anthropic's messages towards clients. */

import { CarriedEvents } from "../carry/carried-reply.ts"
import type { ClientApi } from "../client/client-api.ts"
import { anthropicLimits } from "../client/limit-headers.ts"
import { carriedMessage, messageRules } from "./carried-reply.ts"
import { MessagesEvents, messagesError, wholeMessage } from "./client-reply.ts"
import { decodeMessagesRequest, messagesFields } from "./client-request.ts"

/** Features that bring tools of the vendor, or a larger context window; others come with the fields that use them. */
const addingBetas =
  /^(context-1m|computer-use|code-execution|mcp-client|web-fetch|skills|advisor|browser|tool-search|advanced-tool-use)-/

/**
 * Features that are asked for at Anthropic too. Each changes only the effect of fields of the request: its tools, its
 * thinking, its context, its output, its cache marks. A larger context window has another price, and is not among them.
 * Source: https://platform.claude.com/docs/en/api/beta-headers
 */
const carriedBetas =
  /^(computer-use|mcp-client|web-fetch|tool-search|advanced-tool-use|code-execution|advisor|context-management|compact|interleaved-thinking|effort|structured-outputs|task-budgets|files-api|pdfs|prompt-caching|prompt-caching-scope|extended-cache-ttl|fine-grained-tool-streaming|token-efficient-tools|output-128k|search-results|claude-code|oauth|dev-full-thinking|model-context-window-exceeded|mid-conversation-system|mid-conversation-tools|tool-examples|skills)-/

/** The features among these that are asked for at Anthropic too. */
export const betasCarried = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.filter((name) => carriedBetas.test(name))

const betasIn = (header: string | undefined): ReadonlyArray<string> =>
  header === undefined
    ? []
    : header
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "")

export const messagesApi: ClientApi = {
  name: "Anthropic messages",
  carried: {
    dialect: "anthropic",
    prompt: ["messages", "system", "tools"],
    whole: carriedMessage,
    betas: (headers) => betasCarried(betasIn(headers["anthropic-beta"])),
  },
  fields: messagesFields,
  decode: decodeMessagesRequest,
  events: (context) => new CarriedEvents(new MessagesEvents(context), () => messageRules(context)),
  whole: wholeMessage,
  error: messagesError,
  omittedFeatures: (headers, isCarried, features = []) => {
    const asked = [...features, ...betasIn(headers["anthropic-beta"])]
    return asked.filter((name) => (isCarried ? !carriedBetas.test(name) : addingBetas.test(name)))
  },
  requestIdHeader: "request-id",
  limitHeaders: anthropicLimits,
  fieldNames: [
    ["thread", "messages"],
    ["params.maxTokens", "max_tokens"],
    ["params.topP", "top_p"],
    ["params.stop", "stop_sequences"],
    ["params.toolChoice", "tool_choice"],
    ["params.parallelToolCalls", "tool_choice.disable_parallel_tool_use"],
    ["params.reasoningBudget", "thinking.budget_tokens"],
    ["params.output", "output_config.format"],
    ["params.topK", "top_k"],
    ["params.serviceTier", "service_tier"],
    ["params.vendorOptions.anthropic.taskBudget", "output_config.task_budget"],
    ["params.", ""],
  ],
}
