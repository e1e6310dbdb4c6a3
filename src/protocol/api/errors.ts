/** The errors that routes declare in the OpenAPI document. */
import { HttpApiSchema } from "effect/http-api"
import { type ErrorCode, ErrorEnvelope, errorStatus } from "../error.ts"

/** The envelope once per status of these codes; the description lists the codes. */
export const errorsOf = (codes: ReadonlyArray<ErrorCode>) => {
  const byStatus = new Map<number, Array<ErrorCode>>()
  for (const code of codes) byStatus.set(errorStatus[code], [...(byStatus.get(errorStatus[code]) ?? []), code])
  return [...byStatus].map(([status, named]) =>
    ErrorEnvelope.annotate({ description: named.join(", ") }).pipe(HttpApiSchema.status(status)),
  )
}

/** Errors of every route. */
export const everywhere = ["bad_request", "payload_too_large", "internal_error"] as const

/** Errors of the login routes, which have the strict rate limit. */
export const strictErrors = [...everywhere, "rate_limited", "plan_gate_unavailable"] as const

export const appErrors = [
  "app_key_invalid",
  "app_disabled",
  "app_ip_denied",
  "license_required",
  "signature_invalid",
  "nonce_replayed",
  "rate_limited",
] as const

/** Errors of authentication, for every kind of credential. */
export const callerErrors = [...appErrors, "unauthorized", "token_expired", "forbidden"] as const

export const sessionErrors = ["plan_concurrency_exceeded", "session_archived", "not_found"] as const

export const bearerErrors = ["unauthorized", "token_expired", "forbidden", "not_found"] as const
