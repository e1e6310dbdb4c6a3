/** Cohere's chat towards clients, by both versions of its API. */
import type { ClientApi } from "../client/client-api.ts"
import { CohereEvents, wholeCohere } from "./client-reply.ts"
import { cohereChatFields, decodeCohereChat } from "./client-request.ts"
import { CohereLines, wholeCohereV1 } from "./v1-reply.ts"
import { cohereV1Fields, decodeCohereV1 } from "./v1-request.ts"
import { cohereErrors } from "./whole-client.ts"

/** Fields of twp/1 with the names of both versions of the API. */
export const sharedNames: ClientApi["fieldNames"] = [
  ["params.maxTokens", "max_tokens"],
  ["params.topP", "p"],
  ["params.topK", "k"],
  ["params.stop", "stop_sequences"],
  ["params.toolChoice", "tool_choice"],
  ["params.output", "response_format"],
  ["params.frequencyPenalty", "frequency_penalty"],
  ["params.presencePenalty", "presence_penalty"],
  ["params.reasoningBudget", "thinking.token_budget"],
  ["params.reasoning", "thinking"],
  ["params.", ""],
]

export const cohereChatApi: ClientApi = {
  ...cohereErrors,
  name: "Cohere chat v2",
  fields: cohereChatFields,
  decode: decodeCohereChat,
  events: (context) => new CohereEvents(context),
  whole: wholeCohere,
  fieldNames: [["thread", "messages"], ...sharedNames],
}

/** The same by the API v1, which older clients speak. */
export const cohereV1Api: ClientApi = {
  ...cohereErrors,
  name: "Cohere chat v1",
  fields: cohereV1Fields,
  decode: decodeCohereV1,
  events: (context) => new CohereLines(context),
  whole: wholeCohereV1,
  fieldNames: [["thread", "message"], ...sharedNames],
}
