/** The cause of each error code that this version uses, and its remedy: for the reference, and for people who meet one. */
import type { ErrorCode } from "./error.ts"

export interface ErrorCause {
  readonly cause: string
  readonly remedy: string
}

const wait = "Wait for the time in `Retry-After`; then the same call may succeed."
const fixRequest = "Correct the request; `detail` names the field."
const logIn = "Log in again, or check the credential."

/** Codes that are missing belong to the protocol, and this version does not use them. */
export const errorCauses: Readonly<Partial<Record<ErrorCode, ErrorCause>>> = {
  admin_key_invalid: {
    cause: "The admin key is missing or wrong.",
    remedy: "Send `x-svc-admin-key`; the gateway knows the hash `SVC_ADMIN_KEY_SHA256`.",
  },
  app_disabled: { cause: "The application is disabled.", remedy: "An owner or operator enables it." },
  app_ip_denied: {
    cause: "The application accepts calls from certain addresses only.",
    remedy: "Add the address with `PUT /v1/apps/ID/config`; behind a proxy, check `SVC_TRUSTED_PROXIES`.",
  },
  app_key_invalid: {
    cause: "The application key is unknown, wrong, revoked or expired.",
    remedy: "Check both headers, or create a new key: `weir keys create APP`.",
  },
  asr_not_configured: {
    cause: "No model for transcription is available.",
    remedy: "Add a model of the kind `transcription` to the catalogue.",
  },
  asr_quota_exceeded: { cause: "The plan's transcriptions of the day are used up.", remedy: wait },
  auth_channel_undelivered: {
    cause: "The mail with the code could not be sent.",
    remedy: "Check `SVC_SMTP_URL`, and the log.",
  },
  bad_request: { cause: "A part of the request is missing, malformed or not supported.", remedy: fixRequest },
  conflict: {
    cause: "The state does not allow it: somebody else changed it, or the catalogue file declares it.",
    remedy: "Read it again, and repeat the change on the newest state.",
  },
  content_blocked: {
    cause: "A policy, or the vendor's content filter (`detail.reason: vendor_filter`), refused the content.",
    remedy: "Change the content. Policies are in the catalogue.",
  },
  context_window_exceeded: {
    cause: "The prompt and `maxTokens` exceed the model's context window. Nothing is billed.",
    remedy: "Shorten the thread, or ask for fewer tokens; `detail` has the numbers.",
  },
  device_code_denied: { cause: "The person declined the device.", remedy: "Begin again." },
  device_code_expired: { cause: "Nobody approved the device in time.", remedy: "Begin again." },
  device_code_pending: { cause: "Nobody has approved the device yet.", remedy: "Ask again after the interval." },
  device_code_slow_down: { cause: "The device asks too often.", remedy: "Ask at longer intervals." },
  egress_blocked: {
    cause: "An address that a user chose is private, a metadata service, or not HTTPS.",
    remedy: "Use a public HTTPS address; operators allow networks with `SVC_EGRESS_ALLOW`.",
  },
  forbidden: {
    cause: "The caller's role, scope or capability does not allow it (`detail.capability`).",
    remedy: "Ask an owner for the role, or use a token with the scope.",
  },
  idempotency_conflict: {
    cause: "The request id was used with another body, its reply is not kept, or it is too old.",
    remedy: "Use a new id for a new request. If `detail.replayable` is false, the first call was billed.",
  },
  idp_untrusted: {
    cause: "The identity provider's login cannot be trusted for this address.",
    remedy: "Check `domains` and `trustDomains` of the organisation; the log has the reason.",
  },
  image_not_supported: {
    cause: "The model takes no pictures.",
    remedy: "Choose a model with the capability `images`.",
  },
  imagegen_not_configured: {
    cause: "No model for pictures is available.",
    remedy: "Add a model of the kind `image` to the catalogue.",
  },
  imagegen_quota_exceeded: { cause: "The plan's pictures of the day are used up.", remedy: wait },
  insufficient_balance: {
    cause: "The balance does not cover the cost that would be reserved. No vendor was called.",
    remedy: "Top up: `weir topup ORG AMOUNT --id ID`; `weir ledger ORG` shows holds of running calls.",
  },
  internal_error: {
    cause: "A fault of the gateway, or it is shutting down (`detail.retryable`).",
    remedy: "Repeat it with the same request id. The log has the cause under the request id.",
  },
  invalid_api_key: { cause: "The API key is unknown or revoked.", remedy: logIn },
  license_required: {
    cause: "The application needs an active licence.",
    remedy: "A member redeems a code: `POST /v1/org-licenses/activate`.",
  },
  limit_exceeded: { cause: "A list or a value is longer than the limit that the message names.", remedy: fixRequest },
  model_not_authorized: {
    cause: "The model does not exist, or the caller may not use it; both are refused alike.",
    remedy: "`GET /t1/config` lists the caller's models.",
  },
  model_not_found: { cause: "The catalogue has no such model.", remedy: "`weir models` lists them." },
  nonce_replayed: { cause: "The nonce was used within the last 600 seconds.", remedy: "Use a new nonce." },
  not_found: {
    cause: "It does not exist, or the caller may not see it.",
    remedy: "Check the id, and the organisation (`x-svc-org`).",
  },
  org_byok_not_available: {
    cause: "The organisation cannot store a vendor key here.",
    remedy: "The operator sets `SVC_MASTER_KEY`.",
  },
  org_ceiling_exceeded: {
    cause: "A budget of money is used up; `detail` has the limit and `resetAt`.",
    remedy: "Wait for the next period, or raise the budget.",
  },
  otp_invalid: { cause: "The mailed code is wrong or expired.", remedy: "Ask for a new code." },
  otp_rate_limited: { cause: "Too many codes or wrong attempts.", remedy: wait },
  payload_too_large: {
    cause: "The body is larger than the limit that the message names.",
    remedy: "Send less, or files by their address; operators raise the limit.",
  },
  plan_apps_exceeded: { cause: "The plan's number of applications is reached.", remedy: "Choose a larger plan." },
  plan_concurrency_exceeded: {
    cause: "The plan's sessions are all in use.",
    remedy: "End sessions that are not needed, or wait 30 seconds.",
  },
  plan_end_users_exceeded: { cause: "The plan's end users of the month are reached.", remedy: "Choose a larger plan." },
  plan_gate_unavailable: {
    cause: "Redis does not answer, and `SVC_PLAN_GATE_MODE` is `enforce`.",
    remedy: "Repeat it soon; operators look after Redis.",
  },
  plan_members_exceeded: { cause: "The plan's number of members is reached.", remedy: "Choose a larger plan." },
  policy_locked: {
    cause: "A setting of a higher layer is locked.",
    remedy: "Ask the layer that `detail` names to release the lock.",
  },
  pricing_guard_tripped: {
    cause: "The model has no price that can be in force, so that no cost can be reserved.",
    remedy: "Add a price to the catalogue, in the organisation's currency.",
  },
  protocol_unsupported: { cause: "Client and gateway know no common protocol.", remedy: "Update the client." },
  quota_exceeded: {
    cause: "A budget of tokens is used up; `detail` has the limit and `resetAt`.",
    remedy: "Wait for the next period, or raise the budget.",
  },
  rate_limited: {
    cause:
      "Too many requests, tokens or calls at a time: `detail.scope`, `unit` and `limit` name the limit. The scope `gateway` means overload.",
    remedy: wait,
  },
  section_not_deliverable: { cause: "No client consumes this setting.", remedy: "Check the key path." },
  session_archived: { cause: "The session has ended.", remedy: "Open a new one with a heartbeat without an id." },
  signature_invalid: {
    cause: "The signature does not match, the clock differs by more than 300 seconds, or one is required.",
    remedy: "Check the six lines that are signed, and the clock.",
  },
  stream_backpressure: {
    cause: "The client did not read its stream in time. The part that had been produced is billed.",
    remedy: "Read faster, or ask for shorter replies.",
  },
  token_expired: { cause: "The token has expired.", remedy: logIn },
  tts_not_configured: {
    cause: "No model for speech is available.",
    remedy: "Add a model of the kind `speech` to the catalogue.",
  },
  tts_quota_exceeded: { cause: "The plan's speech of the day is used up.", remedy: wait },
  unauthorized: { cause: "The credential is missing or unknown.", remedy: logIn },
  upstream_connect_timeout: {
    cause: "No target could be reached within the `connect` timeout.",
    remedy: "Repeat it. Operators: `weir doctor`, `weir timeouts`.",
  },
  upstream_disconnected: {
    cause: "The vendor broke the connection off. The part that had been produced is billed.",
    remedy: "Repeat it with a new request id.",
  },
  upstream_error: {
    cause:
      "The vendor refused the request or failed; `detail.upstreamStatus` is its status. No other target could answer.",
    remedy: "With `x-should-retry: false`, correct the request, or ask the operator; otherwise repeat it.",
  },
  upstream_idle_timeout: {
    cause: "The vendor sent nothing for the `idle` timeout. The part that had been produced is billed.",
    remedy: "Repeat it. Operators raise `idle` where a vendor thinks in silence.",
  },
  upstream_timeout: { cause: "A search vendor, or another service, did not answer in time.", remedy: "Repeat it." },
  upstream_total_timeout: {
    cause: "The call took longer than the `total` timeout.",
    remedy: "Ask for less. Operators raise `total`.",
  },
  upstream_ttfb_timeout: {
    cause: "The vendor sent no content within the `ttfb` timeout.",
    remedy: "Repeat it. Operators raise `ttfb`, or add a target of another vendor.",
  },
  validation_failed: {
    cause: "The licence code is wrong, expired or redeemed.",
    remedy: "Ask for a new code.",
  },
  videogen_not_configured: {
    cause: "No model for videos is available.",
    remedy: "Add a model of the kind `video` to the catalogue.",
  },
  videogen_quota_exceeded: { cause: "The plan's videos of the day are used up.", remedy: wait },
  websearch_not_configured: {
    cause: "No search vendor is available to the caller.",
    remedy: "Add `searchProviders` to the catalogue.",
  },
  websearch_quota_exceeded: { cause: "The searches of the day are used up.", remedy: wait },
}
