/** The runtime routes, `/t1`. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Bundle } from "../bundle.ts"
import { ExchangeEvent } from "../event.ts"
import { ExchangeRequest, ExchangeResponse, InProgress } from "../exchange.ts"
import { SearchRequest, SearchResponse } from "../search.ts"
import { HandshakeRequest, HandshakeResponse, HeartbeatRequest, HeartbeatResponse } from "../session.ts"
import { PathId } from "../text.ts"
import { UsageReceipt, UsageReport } from "../usage-report.ts"
import { callerErrors, errorsOf, everywhere, sessionErrors } from "./errors.ts"
import { callerHeaders, featureHeaders, header } from "./headers.ts"

const exchangeErrors = [
  ...everywhere,
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

export class Runtime extends HttpApiGroup.make("runtime")
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
      error: errorsOf([...everywhere, ...callerErrors, ...sessionErrors, "plan_gate_unavailable"]),
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
      params: { id: PathId },
      success: HttpApiSchema.NoContent,
      error: errorsOf([...everywhere, ...callerErrors, "not_found"]),
    }).annotateMerge(OpenApi.annotations({ summary: "End a session for ever; ending it again is no error" })),
  )
  .add(
    HttpApiEndpoint.get("config", "/t1/config", {
      headers: { ...featureHeaders, "if-none-match": header("An ETag; 304 where it still holds") },
      success: Bundle,
      error: errorsOf([...everywhere, ...callerErrors]),
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
      error: errorsOf([...everywhere, ...callerErrors, "protocol_unsupported"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Agree on a protocol, and learn the limits" })),
  )
  .add(
    HttpApiEndpoint.post("websearch", "/t1/websearch", {
      headers: callerHeaders,
      payload: SearchRequest,
      success: SearchResponse,
      error: errorsOf([
        ...everywhere,
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
      error: errorsOf([...everywhere, ...callerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Report calls that did not go through the gateway; never billed, each event once",
      }),
    ),
  )
  .annotateMerge(OpenApi.annotations({ title: "Runtime" })) {}
