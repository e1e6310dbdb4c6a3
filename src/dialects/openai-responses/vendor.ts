/**
 * The dialect `openai-responses`: OpenAI's responses, streamed and not, without state at the vendor (`store: false`).
 * Source: https://platform.openai.com/docs/api-reference/responses and /responses-streaming
 */
import { Result } from "effect"
import type { Dialect } from "../dialect.ts"
import { openaiRefusal } from "../openai-chat/faults.ts"
import { decodeBody, decodeStream } from "./vendor-reply.ts"
import { encodeResponses } from "./vendor-request.ts"

export const openaiResponses: Dialect = {
  authorize: (credential) => ({ authorization: `Bearer ${credential}` }),
  encode: (request) =>
    Result.map(encodeResponses(request), (body) => ({
      path: "/responses",
      headers: { accept: request.stream ? "text/event-stream" : "application/json" },
      body: JSON.stringify(body),
    })),
  seals: "openai",
  canSearch: () => true,
  decoder: decodeStream,
  decodeBody,
  decodeError: openaiRefusal,
}
