/** Gemini's generateContent towards clients. */
import { CarriedEvents } from "../carry/carried-reply.ts"
import type { ClientApi } from "../client/client-api.ts"
import { carriedContent, contentRules } from "./carried-reply.ts"
import { ContentEvents, generateError, wholeContent } from "./client-reply.ts"
import { decodeGenerateRequest, generateFields } from "./client-request.ts"

export const generateApi: ClientApi = {
  name: "Gemini generateContent",
  carried: {
    dialect: "gemini",
    prompt: ["contents", "systemInstruction", "system_instruction", "tools"],
    whole: carriedContent,
  },
  fields: generateFields,
  decode: decodeGenerateRequest,
  events: (context) => new CarriedEvents(new ContentEvents(context), () => contentRules(context)),
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
