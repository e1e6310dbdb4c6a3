/** Gemini's generateContent towards clients. */
import type { ClientApi } from "../client-api.ts"
import { ContentEvents, generateError, wholeContent } from "./client-reply.ts"
import { decodeGenerateRequest, generateFields } from "./client-request.ts"

export const generateApi: ClientApi = {
  name: "Gemini generateContent",
  fields: generateFields,
  decode: decodeGenerateRequest,
  events: (context) => new ContentEvents(context),
  whole: wholeContent,
  error: generateError,
  requestIdHeader: "x-request-id",
  fieldNames: [
    ["thread", "contents"],
    ["model", "model"],
    ["params.maxTokens", "generationConfig.maxOutputTokens"],
    ["params.stop", "generationConfig.stopSequences"],
    ["params.toolChoice", "toolConfig.functionCallingConfig"],
    ["params.reasoningBudget", "generationConfig.thinkingConfig.thinkingBudget"],
    ["params.output", "generationConfig.responseSchema"],
    ["params.serviceTier", "serviceTier"],
    ["params.vendorOptions.gemini.cachedContent", "cachedContent"],
    ["params.vendorOptions.gemini.mediaResolution", "generationConfig.mediaResolution"],
    ["params.n", "generationConfig.candidateCount"],
    ["params.", "generationConfig."],
  ],
}
