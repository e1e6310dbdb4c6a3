/** The errors of twp/1: one closed set of codes, each with exactly one HTTP status. */
import { Data, Schema } from "effect"

/** Every error code with its HTTP status. */
export const errorStatus = {
  adjudicator_not_authorized: 403,
  admin_forbidden: 403,
  admin_key_invalid: 401,
  app_disabled: 403,
  app_ip_denied: 403,
  app_key_invalid: 401,
  approval_self_forbidden: 403,
  asr_not_configured: 503,
  asr_quota_exceeded: 429,
  auth_channel_undelivered: 503,
  bad_request: 400,
  conflict: 409,
  content_blocked: 403,
  context_window_exceeded: 400,
  currency_not_supported: 400,
  device_code_denied: 400,
  device_code_expired: 400,
  device_code_pending: 400,
  device_code_slow_down: 400,
  egress_blocked: 403,
  endpoint_disabled: 403,
  envelope_key_undelivered: 503,
  fence_denied: 403,
  forbidden: 403,
  idempotency_conflict: 409,
  idp_untrusted: 403,
  image_not_supported: 400,
  imagegen_not_configured: 503,
  imagegen_quota_exceeded: 429,
  insufficient_balance: 402,
  internal_error: 500,
  invalid_api_key: 401,
  license_required: 403,
  limit_exceeded: 400,
  liquidation_not_enabled: 403,
  model_not_authorized: 403,
  model_not_found: 404,
  nonce_replayed: 401,
  not_found: 404,
  order_state_invalid: 409,
  org_byok_not_available: 403,
  org_ceiling_exceeded: 402,
  otp_invalid: 401,
  otp_rate_limited: 429,
  pay_amount_mismatch: 400,
  pay_channel_undelivered: 503,
  pay_signature_invalid: 401,
  payload_too_large: 413,
  payment_required: 402,
  plan_apps_exceeded: 429,
  plan_concurrency_exceeded: 429,
  plan_end_users_exceeded: 429,
  plan_gate_unavailable: 503,
  plan_members_exceeded: 429,
  plan_required: 402,
  plan_tier_insufficient: 403,
  policy_locked: 409,
  pool_signing_undelivered: 503,
  preflight_required: 400,
  pricing_guard_tripped: 503,
  principal_required: 401,
  protocol_unsupported: 400,
  quota_exceeded: 429,
  rate_limited: 429,
  refund_not_eligible: 409,
  section_not_deliverable: 400,
  session_archived: 410,
  signature_invalid: 401,
  stream_backpressure: 503,
  token_expired: 401,
  tts_not_configured: 503,
  tts_quota_exceeded: 429,
  unauthorized: 401,
  upstream_connect_timeout: 504,
  upstream_disconnected: 502,
  upstream_error: 502,
  upstream_idle_timeout: 504,
  upstream_timeout: 504,
  upstream_total_timeout: 504,
  upstream_ttfb_timeout: 504,
  validation_failed: 400,
  videogen_not_configured: 503,
  videogen_quota_exceeded: 429,
  websearch_not_configured: 503,
  websearch_quota_exceeded: 429,
} as const

export type ErrorCode = keyof typeof errorStatus

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errorStatus, code)

/** Every code, in alphabetical order. */
export const errorCodes: ReadonlyArray<ErrorCode> = Object.keys(errorStatus).filter(isErrorCode)

/** The value set of `error.code`. */
export const ErrorCode = Schema.Literals(errorCodes)

/** Keys that an error of a certain code has. */
export const ErrorDetail = Schema.Record(Schema.String, Schema.Json)
export type ErrorDetail = typeof ErrorDetail.Type

/** The `error` object of the envelope; also the data of a `t.err` event. */
export const ErrorBody = Schema.Struct({
  code: ErrorCode,
  message: Schema.String,
  requestId: Schema.String,
  detail: Schema.optionalKey(ErrorDetail),
})
export type ErrorBody = typeof ErrorBody.Type

/** The body of every error reply of every route. */
export const ErrorEnvelope = Schema.Struct({ error: ErrorBody }).annotate({ identifier: "ErrorEnvelope" })
export type ErrorEnvelope = typeof ErrorEnvelope.Type

/**
 * A request that is refused or fails with a code of the protocol. Services fail with it; the HTTP layer turns it into the
 * envelope, or into `t.err` once a stream has started.
 */
export class ServiceError<Code extends ErrorCode = ErrorCode> extends Data.TaggedError("ServiceError")<{
  readonly code: Code
  readonly message: string
  readonly detail?: ErrorDetail | undefined
  /** Milliseconds after which a retry may succeed; sent as `Retry-After`, rounded up to seconds. */
  readonly retryAfterMs?: number | undefined
  /** Whether the same call can succeed: never, or later because every vendor is busy. If absent, the code decides. */
  readonly retry?: "never" | "later" | undefined
  /** The actual cause, for the log only; never sent to a client. */
  readonly cause?: unknown
}> {}

/** Builds a {@link ServiceError}. */
export const serviceError = <Code extends ErrorCode>(
  code: Code,
  message: string,
  more: {
    readonly detail?: ErrorDetail | undefined
    readonly retryAfterMs?: number | undefined
    readonly retry?: "never" | "later" | undefined
    readonly cause?: unknown
  } = {},
): ServiceError<Code> => new ServiceError({ code, message, ...more })

/** The `error` object for one error under one request id. */
export const errorBody = (error: ServiceError, requestId: string): ErrorBody =>
  error.detail === undefined
    ? { code: error.code, message: error.message, requestId }
    : { code: error.code, message: error.message, requestId, detail: error.detail }

export const bodyTooLarge = (maxBytes: number): ServiceError<"payload_too_large"> =>
  serviceError("payload_too_large", `The body is larger than ${maxBytes} bytes`)

/** A client that retries or reconnects reaches another node. */
export const shuttingDown = (cause?: unknown): ServiceError<"internal_error"> =>
  serviceError("internal_error", "The service is shutting down", {
    detail: { retryable: true },
    retryAfterMs: 1000,
    cause,
  })
