/** The HTTP contract as one value: OpenAPI and clients are derived from it. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  ApplyRequest,
  ApplyResponse,
  DoctorResponse,
  LedgerResponse,
  TopupRequest,
  TopupResponse,
  TrialRequest,
  TrialResponse,
  UpstreamKeyRequest,
  UpstreamKeysResponse,
} from "./admin.ts"
import { AppConfig } from "./app-config.ts"
import { AppTokenRequest, AppTokenResponse } from "./app-token.ts"
import { Bundle } from "./bundle.ts"
import { type ErrorCode, ErrorEnvelope, errorStatus } from "./error.ts"
import { ExchangeEvent } from "./event.ts"
import { ExchangeRequest, ExchangeResponse, InProgress } from "./exchange.ts"
import { PlanUsage } from "./plan-usage.ts"
import { SearchDirectory, SearchRequest, SearchResponse } from "./search.ts"
import { HandshakeRequest, HandshakeResponse, HeartbeatRequest, HeartbeatResponse } from "./session.ts"
import { UsageReceipt, UsageReport } from "./usage-report.ts"

/** The envelope, once for each status among these codes, described with the codes that it carries. */
const errorsOf = (codes: ReadonlyArray<ErrorCode>) => {
  const byStatus = new Map<number, Array<ErrorCode>>()
  for (const code of codes) byStatus.set(errorStatus[code], [...(byStatus.get(errorStatus[code]) ?? []), code])
  return [...byStatus].map(([status, named]) =>
    ErrorEnvelope.annotate({ description: named.join(", ") }).pipe(HttpApiSchema.status(status)),
  )
}

/** Errors that every route can give. */
const common = ["bad_request", "payload_too_large", "internal_error"] as const

const appErrors = [
  "app_key_invalid",
  "app_disabled",
  "app_ip_denied",
  "license_required",
  "signature_invalid",
  "nonce_replayed",
  "rate_limited",
] as const

/** Errors of every way in which a caller may show who it is. */
const callerErrors = [...appErrors, "unauthorized", "token_expired", "forbidden"] as const

const sessionErrors = ["plan_concurrency_exceeded", "session_archived", "not_found"] as const

const bearerErrors = ["unauthorized", "token_expired", "forbidden", "not_found"] as const

const exchangeErrors = [
  ...common,
  ...callerErrors,
  ...sessionErrors,
  "idempotency_conflict",
  "plan_gate_unavailable",
  "quota_exceeded",
  "model_not_authorized",
  "pricing_guard_tripped",
  "context_window_exceeded",
  "image_not_supported",
  "content_blocked",
  "egress_blocked",
  "insufficient_balance",
  "upstream_error",
  "upstream_disconnected",
  "upstream_connect_timeout",
  "upstream_ttfb_timeout",
  "upstream_idle_timeout",
  "upstream_total_timeout",
  "stream_backpressure",
] as const

const header = (description: string) => Schema.optionalKey(Schema.String.annotate({ description }))

/** Headers of a route that an application key pair opens. They are judged by the identity service, which knows the right error. */
const appHeaders = {
  "x-svc-key-id": header("The application key's id; required"),
  "x-svc-key": header("The application key's secret; required"),
  "x-svc-ts": header("Request signature: unix seconds, at most 300 off"),
  "x-svc-nonce": header("Request signature: 16 to 128 characters, new within 600 seconds"),
  "x-svc-sign": header("Request signature: 64 lowercase hexadecimal characters; all three or none"),
}

/** Who calls a runtime route: an application, one of its end users, or a person. */
const callerHeaders = {
  ...appHeaders,
  "x-svc-key-id": header("The application key's id; with `x-svc-key`"),
  "x-svc-key": header("The application key's secret"),
  "x-svc-app-token": header("An end user's token, instead of the key pair"),
  authorization: header("`Bearer` and a device key or a personal access token, instead of the key pair"),
}

const featureHeaders = {
  ...callerHeaders,
  "x-svc-client-features": header("`platform-audio`; matters on the end-user path only"),
}

const bearerHeaders = {
  authorization: header("`Bearer` and a token with the scope `control`; required"),
  "x-svc-org": header("The organisation; it must be the token's own"),
}

const adminHeaders = { "x-svc-admin-key": header("The admin key; required") }

class Runtime extends HttpApiGroup.make("runtime")
  .add(
    HttpApiEndpoint.post("exchange", "/t1/exchange", {
      headers: callerHeaders,
      payload: ExchangeRequest,
      success: [
        ExchangeResponse,
        InProgress.pipe(HttpApiSchema.status(202)),
        HttpApiSchema.StreamSse({ events: ExchangeEvent }),
      ],
      error: errorsOf(exchangeErrors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "One turn of a conversation with a model, streamed or not",
        description: [
          "Application key pair in `x-svc-key-id` and `x-svc-key`; optional request signature in `x-svc-ts`,",
          "`x-svc-nonce` and `x-svc-sign`. `meta.requestId` is the idempotency key: the same id gives one upstream",
          "call and one billing. With `stream: true` the reply is an event stream that ends in exactly one of",
          '`t.close` and `t.err`. Tool arguments that are no JSON object arrive as `{"$raw": text}`.',
        ].join(" "),
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("heartbeat", "/t1/heartbeat", {
      headers: featureHeaders,
      payload: HeartbeatRequest,
      success: HeartbeatResponse,
      error: errorsOf([...common, ...callerErrors, ...sessionErrors, "plan_gate_unavailable"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Open a session, or keep one active",
        description: [
          "Without `sessionId` a session is opened. An id that a client minted (a ULID) is registered at first sight.",
          "Inside the plan's window a renewal changes nothing; outside of it a session is judged like a new one.",
        ].join(" "),
      }),
    ),
  )
  .add(
    HttpApiEndpoint.delete("endSession", "/t1/sessions/:id", {
      headers: callerHeaders,
      params: { id: Schema.String },
      success: HttpApiSchema.NoContent,
      error: errorsOf([...common, ...callerErrors, "not_found"]),
    }).annotateMerge(OpenApi.annotations({ summary: "End a session for ever; ending it again is no error" })),
  )
  .add(
    HttpApiEndpoint.get("config", "/t1/config", {
      headers: { ...featureHeaders, "if-none-match": header("An ETag; 304 where it still holds") },
      success: Bundle,
      error: errorsOf([...common, ...callerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "The configuration that a client is given",
        description:
          "`ETag` is the fingerprint, in quotes; the same as `configVersion` and a heartbeat's `bundleEtag`.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("handshake", "/t1/handshake", {
      headers: featureHeaders,
      payload: HandshakeRequest,
      success: HandshakeResponse,
      error: errorsOf([...common, ...callerErrors, "protocol_unsupported"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Agree on a protocol, and learn the limits" })),
  )
  .add(
    HttpApiEndpoint.post("websearch", "/t1/websearch", {
      headers: callerHeaders,
      payload: SearchRequest,
      success: SearchResponse,
      error: errorsOf([
        ...common,
        ...callerErrors,
        "websearch_not_configured",
        "websearch_quota_exceeded",
        "insufficient_balance",
        "plan_gate_unavailable",
        "upstream_error",
      ]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Search the web",
        description: "One billed call for each search that is answered. The query is never logged or stored.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("usage", "/t1/usage", {
      headers: callerHeaders,
      payload: UsageReport,
      success: UsageReceipt,
      error: errorsOf([...common, ...callerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Report calls that did not go through the gateway; never billed, each event once",
      }),
    ),
  )
  .annotateMerge(OpenApi.annotations({ title: "Runtime" })) {}

class Applications extends HttpApiGroup.make("applications")
  .add(
    HttpApiEndpoint.post("appToken", "/v1/app-tokens", {
      headers: appHeaders,
      payload: AppTokenRequest,
      success: AppTokenResponse,
      error: errorsOf([
        ...common,
        ...appErrors,
        "plan_concurrency_exceeded",
        "plan_end_users_exceeded",
        "plan_gate_unavailable",
      ]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Mint a token for one of the application's end users",
        description: "It reads the plan's limits and takes no slot. The token is told once.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("appConfig", "/v1/apps/:id/config", {
      headers: bearerHeaders,
      params: { id: Schema.String },
      success: AppConfig,
      error: errorsOf([...common, ...bearerErrors]),
    }).annotateMerge(OpenApi.annotations({ summary: "What the organisation has set for one of its applications" })),
  )
  .add(
    HttpApiEndpoint.put("setAppConfig", "/v1/apps/:id/config", {
      headers: bearerHeaders,
      params: { id: Schema.String },
      payload: AppConfig,
      success: AppConfig,
      error: errorsOf([...common, ...bearerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Set it; what is left out falls back to the catalogue",
        description: "Owners and admins.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("planUsage", "/v1/plan/usage", {
      headers: bearerHeaders,
      query: { days: Schema.optionalKey(Schema.String) },
      success: PlanUsage,
      error: errorsOf([...common, ...bearerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "The curve of the plan's concurrency",
        description: "`days`: 1 to 90, 30 when absent; today is beside them, live. Days are UTC+8.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("searchProviders", "/v1/search-providers", {
      headers: bearerHeaders,
      success: SearchDirectory,
      error: errorsOf([...common, ...bearerErrors]),
    }).annotateMerge(OpenApi.annotations({ summary: "The search providers that are active, in failover order" })),
  )
  .annotateMerge(OpenApi.annotations({ title: "Applications and plans" })) {}

class Admin extends HttpApiGroup.make("admin")
  .add(
    HttpApiEndpoint.post("applyCatalogue", "/v1/admin/catalogue", {
      headers: adminHeaders,
      payload: ApplyRequest,
      success: ApplyResponse,
      error: errorsOf([...common, "admin_key_invalid"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Apply a catalogue, or tell what applying it would change",
        description: "Needs `x-svc-admin-key`. A catalogue with an error changes nothing.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("topup", "/v1/admin/topups", {
      headers: adminHeaders,
      payload: TopupRequest,
      success: TopupResponse,
      error: errorsOf([...common, "admin_key_invalid", "not_found"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Credit an organisation, once an id" })),
  )
  .add(
    HttpApiEndpoint.get("ledger", "/v1/admin/ledger/:org", {
      headers: adminHeaders,
      params: { org: Schema.String },
      success: LedgerResponse,
      error: errorsOf([...common, "admin_key_invalid"]),
    }).annotateMerge(OpenApi.annotations({ summary: "An organisation's balances and its newest 100 entries" })),
  )
  .add(
    HttpApiEndpoint.get("doctor", "/v1/admin/doctor", {
      headers: adminHeaders,
      success: DoctorResponse,
      error: errorsOf([...common, "admin_key_invalid"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Check the books",
        description: "Entries sum to balances, no hold outlives its lease, settlements and usage records match.",
      }),
    ),
  )
  .annotateMerge(OpenApi.annotations({ title: "Administration" })) {}

const keyParams = { org: Schema.String, vendor: Schema.String }

class AdminVendors extends HttpApiGroup.make("adminVendors")
  .add(
    HttpApiEndpoint.post("testVendor", "/v1/admin/vendors/:vendor/test", {
      headers: adminHeaders,
      params: { vendor: Schema.String },
      payload: TrialRequest,
      success: TrialResponse,
      error: errorsOf([...common, "admin_key_invalid", "not_found"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Make one small real call to a vendor, and tell what came back",
        description:
          "Nobody is billed by Weir; the vendor bills its key. A call that failed is a reply with `ok: false`.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("listUpstreamKeys", "/v1/admin/orgs/:org/upstream-keys", {
      headers: adminHeaders,
      params: { org: Schema.String },
      success: UpstreamKeysResponse,
      error: errorsOf([...common, "admin_key_invalid", "not_found"]),
    }).annotateMerge(OpenApi.annotations({ summary: "The upstream keys that an organisation brought" })),
  )
  .add(
    HttpApiEndpoint.put("setUpstreamKey", "/v1/admin/orgs/:org/upstream-keys/:vendor", {
      headers: adminHeaders,
      params: keyParams,
      payload: UpstreamKeyRequest,
      success: UpstreamKeysResponse,
      error: errorsOf([...common, "admin_key_invalid", "not_found", "egress_blocked", "org_byok_not_available"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Keep an organisation's own key for a vendor",
        description: [
          "Exchanges of the organisation then go to this vendor with its own key, and are not billed. The key is sealed",
          "at rest. An address of its own must be HTTPS and public, when it is kept and at every connection.",
        ].join(" "),
      }),
    ),
  )
  .add(
    HttpApiEndpoint.delete("removeUpstreamKey", "/v1/admin/orgs/:org/upstream-keys/:vendor", {
      headers: adminHeaders,
      params: keyParams,
      success: UpstreamKeysResponse,
      error: errorsOf([...common, "admin_key_invalid", "not_found"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Forget an organisation's own key for a vendor" })),
  )
  .annotateMerge(OpenApi.annotations({ title: "Vendors and their keys" })) {}

export class Api extends HttpApi.make("weir")
  .add(Runtime)
  .add(Applications)
  .add(Admin)
  .add(AdminVendors)
  .annotateMerge(OpenApi.annotations({ title: "Weir", version: "0.1.0" })) {}
