/**
 * The dialect `anthropic`: Anthropic's messages, streamed and not.
 * Source: https://docs.anthropic.com/en/api/messages and /en/api/messages-streaming
 */
import { Result } from "effect"
import { writeJson } from "../../protocol/json/json-text.ts"
import type { ChatDialect } from "../chat-dialect.ts"
import { makersName } from "../vendor/family.ts"
import { carryUnless, fitsModel } from "../vendor/requirements.ts"
import { carryMessages } from "./carry.ts"
import { anthropicRefusal } from "./faults.ts"
import { anthropicRequirements } from "./requirements.ts"
import { effortOf } from "./thinking.ts"
import { decodeBody, decodeStream } from "./vendor-reply.ts"
import { betasOf, encodeMessages, messagesWire, searchTool } from "./vendor-request.ts"

export const anthropicVersion = "2023-06-01"

export const anthropic: ChatDialect = {
  authorize: (credential) => ({ "x-api-key": credential, "anthropic-version": anthropicVersion }),
  encode: (request) =>
    Result.map(encodeMessages(request), (body) => messagesWire(request, betasOf(request), writeJson(body))),
  fit: fitsModel(anthropicRequirements),
  carry: carryUnless(anthropicRequirements, carryMessages),
  seals: "anthropic",
  hasWords: (request) => ({
    detail: false,
    effort: effortOf(makersName(request), request.effort) !== undefined,
    display: true,
    marks: "everywhere",
  }),
  canSearch: ({ tools }) => !tools.some(({ name }) => name === searchTool),
  decoder: decodeStream,
  decodeBody,
  decodeError: anthropicRefusal,
}
