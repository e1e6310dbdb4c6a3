/**
 * The dialect `gemini`: Google's generateContent and streamGenerateContent.
 * Source: https://ai.google.dev/api/generate-content and https://ai.google.dev/gemini-api/docs/thought-signatures
 */
import { Result } from "effect"
import { writeJson } from "../../protocol/json/json-text.ts"
import type { ChatDialect, VendorRequest } from "../chat-dialect.ts"
import { makersName } from "../vendor/family.ts"
import { fitsModel } from "../vendor/requirements.ts"
import type { WireRequest } from "../wire.ts"
import { carryGenerate } from "./carry.ts"
import { geminiRefusal } from "./faults.ts"
import { geminiRequirements, isOld } from "./requirements.ts"
import { decodeBody, decodeStream } from "./vendor-reply.ts"
import { encodeGenerate } from "./vendor-request.ts"

export const geminiWire = <Body extends string | Uint8Array>(
  { model, stream }: VendorRequest,
  body: Body,
): WireRequest<Body> => ({
  path: `/v1beta/models/${encodeURIComponent(model)}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  headers: { accept: stream ? "text/event-stream" : "application/json" },
  body,
})

export const gemini: ChatDialect = {
  authorize: (credential) => ({ "x-goog-api-key": credential }),
  encode: (request) => Result.map(encodeGenerate(request), (body) => geminiWire(request, writeJson(body))),
  fit: fitsModel(geminiRequirements),
  carry: carryGenerate(geminiWire),
  // Models do not search beside functions: https://ai.google.dev/gemini-api/docs/google-search
  seals: "gemini",
  hasWords: (request) => ({ detail: !isOld(makersName(request)), effort: false, display: true }),
  canSearch: ({ tools }) => tools.length === 0,
  decoder: decodeStream,
  decodeBody,
  decodeError: geminiRefusal,
}
