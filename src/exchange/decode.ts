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
}

/** Maximum nesting of a body, so that recursion is bounded; no schema needs more. */
const maxDepth = 64

const decodeRequest = Schema.decodeUnknownResult(ExchangeRequest, { errors: "all", onExcessProperty: "error" })

export const decodeExchange = (body: Uint8Array): Result.Result<DecodedExchange, ServiceError<"bad_request">> => {
  if (!isUtf8(body)) return Result.fail(notUtf8())
  const json = parseJson(body)
  if (json === undefined) return refuse("The body is not valid JSON")
  if (isDeeperThan(json, maxDepth)) return refuse(`The body is nested deeper than ${maxDepth}`)
  const decoded = decodeRequest(json)
  if (Result.isFailure(decoded)) return Result.fail(invalidInput(issuesOf(decoded.failure)))
  const request = decoded.success
  const payloadHash = request.meta?.requestId === undefined ? undefined : fingerprint(json)
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
