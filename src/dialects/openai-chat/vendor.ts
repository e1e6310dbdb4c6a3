/**
 * The dialect `openai-chat`: OpenAI's chat completions, streamed and not, with the extensions of other vendors.
 * Source: https://platform.openai.com/docs/api-reference/chat
 */
import { Result } from "effect"
import { writeJson } from "../../protocol/json/json-text.ts"
import type { ChatDialect, VendorRequest } from "../chat-dialect.ts"
import { carryUnless, fitsModel } from "../vendor/requirements.ts"
import type { WireRequest } from "../wire.ts"
import { carryChat } from "./carry.ts"
import type { ChatProfile } from "./chat-profile.ts"
import { openaiRefusal } from "./faults.ts"
import { chatProfiles } from "./profiles.ts"
import { chatRequirements } from "./requirements.ts"
import { decodeChatBody, decodeStream } from "./vendor-reply.ts"
import { encodeChat } from "./vendor-request.ts"

const wireOf = <Body extends string | Uint8Array>({ stream }: VendorRequest, body: Body): WireRequest<Body> => ({
  path: "/chat/completions",
  headers: { accept: stream ? "text/event-stream" : "application/json" },
  body,
})

/** The dialect with a vendor's profile. */
export const makeChatDialect = (profile: ChatProfile): ChatDialect => ({
  authorize: (credential) => ({ authorization: `Bearer ${credential}` }),
  encode: (request) => Result.map(encodeChat(request, profile), (body) => wireOf(request, writeJson(body))),
  fit: fitsModel(chatRequirements(profile)),
  carry: carryUnless(chatRequirements(profile), carryChat(profile, wireOf)),
  ...(profile.takesTexts === true && { takesTexts: true }),
  hasWords: ({ canReason, reasoning }) => ({
    detail: true,
    effort: profile.reasonsByEffort === true && canReason && reasoning === undefined,
    display: profile.hidesReasoning === true,
    ...(profile.cache === "marks" && { marks: "texts" }),
  }),
  canSearch: () => false,
  decoder: decodeStream,
  decodeBody: decodeChatBody,
  decodeError: openaiRefusal,
})

export const openaiChat: ChatDialect = makeChatDialect(chatProfiles.openai)
