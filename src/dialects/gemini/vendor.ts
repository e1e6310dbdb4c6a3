/**
 * The dialect `gemini`: Google's generateContent and streamGenerateContent.
 * Source: https://ai.google.dev/api/generate-content and https://ai.google.dev/gemini-api/docs/thought-signatures
 */
import { Result } from "effect"
import type { Dialect } from "../dialect.ts"
import { geminiRefusal } from "./faults.ts"
import { decodeBody, decodeStream } from "./vendor-reply.ts"
import { encodeGenerate } from "./vendor-request.ts"

export const gemini: Dialect = {
  authorize: (credential) => ({ "x-goog-api-key": credential }),
  encode: (request) =>
    Result.map(encodeGenerate(request), (body) => ({
      path: `/v1beta/models/${encodeURIComponent(request.model)}:${request.stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
      headers: { accept: request.stream ? "text/event-stream" : "application/json" },
      body: JSON.stringify(body),
    })),
  // Models do not search beside functions: https://ai.google.dev/gemini-api/docs/google-search
  seals: "gemini",
  canSearch: ({ tools }) => tools.length === 0,
  decoder: decodeStream,
  decodeBody,
  decodeError: geminiRefusal,
}
