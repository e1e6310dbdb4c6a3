/** Decodes the body of a call, or fails with `bad_request`, path and message. */
import { Result, type Schema } from "effect"
import type { DecodedCall } from "../calls/held-call.ts"
import type { CallRequest } from "../calls/kind.ts"
import { ExchangeRequest } from "../protocol/exchange.ts"
import { invalidInput } from "../protocol/json/issues.ts"
import { type Decoded, decodeJson, parseBody } from "../protocol/json/json-body.ts"
import { fingerprint } from "../protocol/values/canonical.ts"
import { findCallTextIssues } from "./chat/call-text.ts"
import { type ChatRequest, chatRequestOf, type RequestSource } from "./chat/chat-request.ts"
import { placesOfExchange } from "./chat/exact-content.ts"
import type { PromptContent } from "./chat/prompt.ts"
import { promptOf } from "./chat/sent-prompt.ts"

/** @param sent the body that a second call with the same idempotency key must repeat */
export const checkCall = <S extends Schema.Decoder<CallRequest>>(
  schema: S,
  candidate: unknown,
  sent: Schema.Json,
): Decoded<DecodedCall<S["Type"]>> =>
  Result.map(decodeJson(schema, candidate), (request) => ({
    request,
    payloadHash: request.meta?.requestId === undefined ? undefined : fingerprint(sent),
  }))

export const decodeCall = <S extends Schema.Decoder<CallRequest>>(
  schema: S,
  body: Uint8Array,
): Decoded<DecodedCall<S["Type"]>> => Result.flatMap(parseBody(body), (json) => checkCall(schema, json, json))

/**
 * The same for an exchange.
 * @param source the body from which its prompt can be read again
 * @param before the path of the exchange in that body
 */
export const checkExchange = (
  candidate: unknown,
  sent: Schema.Json,
  source: Omit<RequestSource, "exact">,
  before = "",
): Decoded<DecodedCall<ChatRequest>> =>
  Result.flatMap(checkCall(ExchangeRequest, candidate, sent), ({ request, payloadHash }) => {
    const issues = findCallTextIssues(request.thread)
    if (issues.length > 0) return Result.fail(invalidInput(issues))
    // A route that knows kept exchanges has replaced it by their thread.
    if (request.after !== undefined)
      return Result.fail(invalidInput([{ path: `${before}after`, message: "cannot be used here" }]))
    const exact = placesOfExchange(request, before)
    return Result.succeed({ request: chatRequestOf(request, { ...source, exact }), payloadHash })
  })

export const decodeExchange = (body: Uint8Array): Decoded<DecodedCall<ChatRequest>> =>
  Result.flatMap(parseBody(body), (json) => checkExchange(json, json, { body, read: promptIn }))

/** The prompt of an exchange that was read before. */
const promptIn = (body: Uint8Array): PromptContent =>
  promptOf(Result.getOrThrow(decodeCall(ExchangeRequest, body)).request)
