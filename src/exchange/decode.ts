/** Decodes the body of an exchange, or fails with `bad_request`, path and message. */
import { isUtf8 } from "node:buffer"
import { Result, Schema } from "effect"
import { fingerprint } from "../protocol/canonical.ts"
import { isDeeperThan } from "../protocol/depth.ts"
import type { ServiceError } from "../protocol/error.ts"
import { ExchangeRequest } from "../protocol/exchange.ts"
import { invalidInput, issuesOf, notUtf8 } from "../protocol/issues.ts"

export interface DecodedExchange {
  readonly request: ExchangeRequest
  /** Hash of the payload, independent of key order; only if there is an idempotency key. */
  readonly payloadHash: string | undefined
  /** The most web searches that the vendor may make by itself, if it can. */
  readonly searches?: number | undefined
}

/** Maximum nesting of a body, so that recursion is bounded; no schema needs more. */
const maxDepth = 64

const decodeRequest = Schema.decodeUnknownResult(ExchangeRequest, { errors: "all", onExcessProperty: "error" })

export const decodeExchange = (body: Uint8Array): Decoded<DecodedExchange> =>
  Result.flatMap(parseBody(body), (json) => checkExchange(json, json))

type Decoded<A> = Result.Result<A, ServiceError<"bad_request">>

/** The JSON of a body, of limited depth. */
export const parseBody = (body: Uint8Array): Decoded<Schema.Json> => {
  if (!isUtf8(body)) return Result.fail(notUtf8())
  const json = parseJson(body)
  if (json === undefined) return refuse("The body is not valid JSON")
  return isDeeperThan(json, maxDepth) ? refuse(`The body is nested deeper than ${maxDepth}`) : Result.succeed(json)
}

/** @param sent what a second call with the same idempotency key must repeat */
export const checkExchange = (candidate: unknown, sent: Schema.Json): Decoded<DecodedExchange> => {
  const decoded = decodeRequest(candidate)
  if (Result.isFailure(decoded)) return Result.fail(invalidInput(issuesOf(decoded.failure)))
  const request = decoded.success
  const payloadHash = request.meta?.requestId === undefined ? undefined : fingerprint(sent)
  return Result.succeed({ request, payloadHash })
}

const refuse = (message: string) => Result.fail(invalidInput([{ path: "", message }]))

function parseJson(body: Uint8Array): Schema.Json | undefined {
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"))
  } catch {
    return undefined
  }
}
