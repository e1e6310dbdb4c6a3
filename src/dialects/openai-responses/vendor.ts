/**
 * The dialect `openai-responses`: OpenAI's responses, streamed and not, without state at the vendor (`store: false`).
 * Source: https://platform.openai.com/docs/api-reference/responses and /responses-streaming
 */
import { Result } from "effect"
import { writeJson } from "../../protocol/json/json-text.ts"
import type { ChatDialect, VendorRequest } from "../chat-dialect.ts"
import { openaiRefusal } from "../openai-chat/faults.ts"
import { carryUnless, fitsModel } from "../vendor/requirements.ts"
import type { WireRequest } from "../wire.ts"
import { carryResponses } from "./carry.ts"
import { responsesRequirements } from "./requirements.ts"
import { decodeBody, decodeStream } from "./vendor-reply.ts"
import { encodeResponses } from "./vendor-request.ts"

const wireOf = <Body extends string | Uint8Array>({ stream }: VendorRequest, body: Body): WireRequest<Body> => ({
  path: "/responses",
  headers: { accept: stream ? "text/event-stream" : "application/json" },
  body,
})

export const openaiResponses: ChatDialect = {
  authorize: (credential) => ({ authorization: `Bearer ${credential}` }),
  encode: (request) => Result.map(encodeResponses(request), (body) => wireOf(request, writeJson(body))),
  fit: fitsModel(responsesRequirements),
  carry: carryUnless(responsesRequirements, carryResponses(wireOf)),
  seals: "openai",
  takesTexts: true,
  hasWords: ({ canReason, reasoning }) => ({
    detail: true,
    effort: canReason && reasoning === undefined,
    display: true,
  }),
  canSearch: () => true,
  decoder: decodeStream,
  decodeBody,
  decodeError: openaiRefusal,
}
