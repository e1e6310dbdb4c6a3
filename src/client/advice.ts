/** Advice for callers on each error code: eight cases instead of one per code. */
import type { ErrorCode } from "../protocol/error-codes.ts"

/**
 * retry: the same call may succeed soon; this client retries by itself. wait: a quota or a plan is full until it
 * resets. log_in: the credentials are wrong or expired. pay: money or a plan is missing. ask_permission: somebody must
 * allow it. new_session: the session has ended. fix_request: the same call never succeeds. contact_operator: the
 * deployment lacks a part.
 */
export type Advice =
  | "retry"
  | "wait"
  | "log_in"
  | "pay"
  | "ask_permission"
  | "new_session"
  | "fix_request"
  | "contact_operator"

/** Complete by type: a new code of the contract must be added here. */
export const advice = {
  adjudicator_not_authorized: "ask_permission",
  admin_forbidden: "ask_permission",
  admin_key_invalid: "log_in",
  app_disabled: "ask_permission",
  app_ip_denied: "ask_permission",
  app_key_invalid: "log_in",
  approval_self_forbidden: "ask_permission",
  asr_not_configured: "contact_operator",
  asr_quota_exceeded: "wait",
  auth_channel_undelivered: "retry",
  bad_request: "fix_request",
  conflict: "fix_request",
  content_blocked: "fix_request",
  context_window_exceeded: "fix_request",
  currency_not_supported: "fix_request",
  device_code_denied: "log_in",
  device_code_expired: "log_in",
  device_code_pending: "retry",
  device_code_slow_down: "retry",
  egress_blocked: "ask_permission",
  endpoint_disabled: "ask_permission",
  envelope_key_undelivered: "contact_operator",
  fence_denied: "ask_permission",
  forbidden: "ask_permission",
  idempotency_conflict: "fix_request",
  idp_untrusted: "ask_permission",
  image_not_supported: "fix_request",
  imagegen_not_configured: "contact_operator",
  imagegen_quota_exceeded: "wait",
  insufficient_balance: "pay",
  internal_error: "retry",
  invalid_api_key: "log_in",
  license_required: "ask_permission",
  limit_exceeded: "fix_request",
  liquidation_not_enabled: "ask_permission",
  model_not_authorized: "ask_permission",
  model_not_found: "fix_request",
  nonce_replayed: "log_in",
  not_found: "fix_request",
  order_state_invalid: "fix_request",
  org_byok_not_available: "ask_permission",
  org_ceiling_exceeded: "pay",
  otp_invalid: "log_in",
  otp_rate_limited: "wait",
  pay_amount_mismatch: "pay",
  pay_channel_undelivered: "contact_operator",
  pay_signature_invalid: "pay",
  payload_too_large: "fix_request",
  payment_required: "pay",
  plan_apps_exceeded: "wait",
  plan_concurrency_exceeded: "wait",
  plan_end_users_exceeded: "wait",
  plan_gate_unavailable: "retry",
  plan_members_exceeded: "wait",
  plan_required: "pay",
  plan_tier_insufficient: "pay",
  policy_locked: "ask_permission",
  pool_signing_undelivered: "contact_operator",
  preflight_required: "fix_request",
  pricing_guard_tripped: "retry",
  principal_required: "log_in",
  protocol_unsupported: "fix_request",
  quota_exceeded: "wait",
  rate_limited: "retry",
  refund_not_eligible: "ask_permission",
  section_not_deliverable: "fix_request",
  session_archived: "new_session",
  signature_invalid: "log_in",
  stream_backpressure: "retry",
  token_expired: "log_in",
  tts_not_configured: "contact_operator",
  tts_quota_exceeded: "wait",
  unauthorized: "log_in",
  upstream_connect_timeout: "retry",
  upstream_disconnected: "retry",
  upstream_error: "retry",
  upstream_idle_timeout: "retry",
  upstream_timeout: "retry",
  upstream_total_timeout: "retry",
  upstream_ttfb_timeout: "retry",
  validation_failed: "fix_request",
  videogen_not_configured: "contact_operator",
  videogen_quota_exceeded: "wait",
  websearch_not_configured: "contact_operator",
  websearch_quota_exceeded: "wait",
} as const satisfies Record<ErrorCode, Advice>

export const adviceFor = (code: ErrorCode): Advice => advice[code]

/** The advice on an error of a gateway that may be newer than this client: its status decides about an unknown code. */
export const adviceOn = (code: ErrorCode, status: number): Advice => {
  if (Object.hasOwn(advice, code)) return adviceFor(code)
  return status === 429 || status >= 500 ? "retry" : "fix_request"
}
