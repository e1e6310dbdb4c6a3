/** Error replies of compatible routes, with the headers that SDKs read to decide on a retry. */
import type { WholeReply } from "../../calls/connection.ts"
import { retryAfterMs } from "../../calls/reply/reply-body.ts"
import type { ErrorWords } from "../../dialects/client/whole-client.ts"
import { type ErrorEnvelope, errorBody, errorStatus, type ServiceError, serviceError } from "../../protocol/error.ts"
import { fieldOf } from "../../protocol/json/issues.ts"

type TextReply = WholeReply<never> & { readonly body: string }

export const inProgress = serviceError(
  "idempotency_conflict",
  "The first call with this Idempotency-Key is still running",
  {
    retryAfterMs,
  },
)

const unreadable = serviceError("internal_error", "The service could not complete the request")

/** An error reply, with the headers that SDKs read to decide on a retry. */
export const errorReply = (api: ErrorWords, error: ServiceError, requestId: string): TextReply => {
  const status = statusOf(error)
  return {
    status,
    headers: {
      "content-type": "application/json",
      ...retryHeaders(error, status),
      ...api.headers?.(status, error.code),
    },
    body: JSON.stringify(api.error(errorBody(error, requestId), status, fieldOf(error))),
  }
}

/** Other APIs have a status of their own if all vendors are busy. */
const statusOf = ({ code, retry }: ServiceError): number => (retry === "later" ? 429 : errorStatus[code])

/** The longest wait that SDKs accept; if they are asked to wait longer, they retry sooner, in vain. */
const longestWaitMs = 60_000

/** SDKs retry 408, 409, 429 and 5xx by themselves. */
const retryHeaders = (
  { code, retry, retryAfterMs }: ServiceError,
  status: number,
): Readonly<Record<string, string>> => {
  if (retry === "never") return { "x-should-retry": "false" }
  if (retryAfterMs !== undefined) {
    const ms = Math.ceil(retryAfterMs)
    const later = { "retry-after": String(Math.ceil(ms / 1000)), "retry-after-ms": String(ms) }
    return ms > longestWaitMs ? { ...later, "x-should-retry": "false" } : later
  }
  const mayHelp =
    status >= 500 ? code !== "pricing_guard_tripped" : retry === "later" || (status === 429 && code === "rate_limited")
  return mayHelp ? {} : { "x-should-retry": "false" }
}

/** A reply that was withheld: it has its price in its headers. @param envelope undefined if it cannot be read */
export const withheldReply = (
  words: ErrorWords,
  { status, headers }: Omit<TextReply, "body">,
  envelope: ErrorEnvelope | undefined,
  requestId: string,
): TextReply => ({
  status,
  headers: {
    ...headers,
    "x-should-retry": "false",
    ...words.headers?.(status, envelope?.error.code ?? unreadable.code),
  },
  body: JSON.stringify(words.error(envelope?.error ?? errorBody(unreadable, requestId), status)),
})
