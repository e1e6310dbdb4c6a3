/** Which errors a route names in the OpenAPI document. */
import { HttpApiSchema } from "effect/http-api"
import { type ErrorCode, ErrorEnvelope, errorStatus } from "../error.ts"

/** The envelope, once for each status among these codes, described with the codes that it carries. */
export const errorsOf = (codes: ReadonlyArray<ErrorCode>) => {
  const byStatus = new Map<number, Array<ErrorCode>>()
  for (const code of codes) byStatus.set(errorStatus[code], [...(byStatus.get(errorStatus[code]) ?? []), code])
  return [...byStatus].map(([status, named]) =>
    ErrorEnvelope.annotate({ description: named.join(", ") }).pipe(HttpApiSchema.status(status)),
  )
}

/** Errors that every route can give. */
export const everywhere = ["bad_request", "payload_too_large", "internal_error"] as const

/** Errors of the routes where people log in. */
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

/** Errors of every way in which a caller may show who it is. */
export const callerErrors = [...appErrors, "unauthorized", "token_expired", "forbidden"] as const

export const sessionErrors = ["plan_concurrency_exceeded", "session_archived", "not_found"] as const

export const bearerErrors = ["unauthorized", "token_expired", "forbidden", "not_found"] as const
