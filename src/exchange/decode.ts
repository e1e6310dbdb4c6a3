/** Decodes the body of an exchange, or fails with `bad_request`, path and message. */
import { Result, type Schema } from "effect"
import { fingerprint } from "../protocol/canonical.ts"
import { ExchangeRequest } from "../protocol/exchange.ts"
import { type Decoded, decodeJson, parseBody } from "../protocol/json-body.ts"

export interface DecodedExchange {
  readonly request: ExchangeRequest
  /** Hash of the payload, independent of key order; only if there is an idempotency key. */
  readonly payloadHash: string | undefined
  /** The most web searches that the vendor may make by itself, if it can. */
  readonly searches?: number | undefined
}

export const decodeExchange = (body: Uint8Array): Decoded<DecodedExchange> =>
  Result.flatMap(parseBody(body), (json) => checkExchange(json, json))

/** @param sent what a second call with the same idempotency key must repeat */
export const checkExchange = (candidate: unknown, sent: Schema.Json): Decoded<DecodedExchange> =>
  Result.map(decodeJson(ExchangeRequest, candidate), (request) => ({
    request,
    payloadHash: request.meta?.requestId === undefined ? undefined : fingerprint(sent),
  }))
