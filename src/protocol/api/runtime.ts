/** The runtime routes, `/t1`. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Budgets } from "../control/budget.ts"
import { Bundle } from "../control/bundle.ts"
import { ExchangeEvent } from "../event.ts"
import { ExchangeRequest, ExchangeResponse, InProgress } from "../exchange.ts"
import { EmbeddingRequest, EmbeddingResponse } from "../kinds/embedding.ts"
import { ImageRequest, ImageResponse } from "../kinds/image.ts"
import { ModerationRequest, ModerationResponse } from "../kinds/moderation.ts"
import { RerankRequest, RerankResponse } from "../kinds/rerank.ts"
import { SearchRequest, SearchResponse } from "../kinds/search.ts"
import { SpeechRequest } from "../kinds/speech.ts"
import { TranscriptionRequest, TranscriptionResponse } from "../kinds/transcription.ts"
import { VideoJob, VideoRequest } from "../kinds/video.ts"
import { HandshakeRequest, HandshakeResponse, HeartbeatRequest, HeartbeatResponse } from "../session.ts"
import { UsageReceipt, UsageReport } from "../usage-report.ts"
import { PathId } from "../values/text.ts"
import { callerErrors, errorsOf, everywhere, sessionErrors } from "./errors.ts"
import { callerHeaders, featureHeaders, parameter } from "./parameters.ts"

/** The errors of every kind of call. */
const callErrors = [
  ...everywhere,
  ...callerErrors,
  ...sessionErrors,
  "idempotency_conflict",
  "plan_gate_unavailable",
  "quota_exceeded",
  "org_ceiling_exceeded",
  "model_not_authorized",
  "pricing_guard_tripped",
  "content_blocked",
  "egress_blocked",
  "insufficient_balance",
  "upstream_error",
  "upstream_disconnected",
  "upstream_connect_timeout",
  "upstream_ttfb_timeout",
  "upstream_idle_timeout",
  "upstream_total_timeout",
] as const

const exchangeErrors = [...callErrors, "context_window_exceeded", "image_not_supported", "stream_backpressure"] as const

const mediaErrors = [...callErrors, "stream_backpressure"] as const

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
        summary: "Create an exchange (streamed or whole)",
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
    HttpApiEndpoint.post("embeddings", "/t1/embeddings", {
      headers: callerHeaders,
      payload: EmbeddingRequest,
      success: [EmbeddingResponse, InProgress.pipe(HttpApiSchema.status(202))],
      error: errorsOf(callErrors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Embed texts",
        description:
          "Vectors keep the order of the input, and each has the same length. `meta.requestId` is the idempotency key. A vendor that takes fewer texts at once is asked in parts, which are billed together or not at all.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("rerank", "/t1/rerank", {
      headers: callerHeaders,
      payload: RerankRequest,
      success: [RerankResponse, InProgress.pipe(HttpApiSchema.status(202))],
      error: errorsOf(callErrors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Order documents by how well they answer a query",
        description: "Best first. `meta.requestId` is the idempotency key.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("moderations", "/t1/moderations", {
      headers: callerHeaders,
      payload: ModerationRequest,
      success: [ModerationResponse, InProgress.pipe(HttpApiSchema.status(202))],
      error: errorsOf(callErrors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Moderate texts and pictures",
        description:
          "Texts are judged one by one; with a picture among them, all are judged together. `meta.requestId` is the idempotency key.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("images", "/t1/images", {
      headers: callerHeaders,
      payload: ImageRequest,
      success: [
        ImageResponse,
        InProgress.pipe(HttpApiSchema.status(202)),
        HttpApiSchema.StreamSse({ events: ExchangeEvent }),
      ],
      error: errorsOf([...mediaErrors, "imagegen_not_configured", "imagegen_quota_exceeded"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Make pictures, or change some",
        description: [
          "A form (`multipart/form-data`) has the same fields, and the pictures as parts `images` and `mask`.",
          'With `stream: true`, pictures come as `t.delta {i, t: "image"}`; partial ones first, where the vendor has them.',
        ].join(" "),
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("speech", "/t1/speech", {
      headers: callerHeaders,
      payload: SpeechRequest,
      success: HttpApiSchema.StreamUint8Array({ contentType: "audio/mpeg" }),
      error: errorsOf([...mediaErrors, "tts_not_configured", "tts_quota_exceeded"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Create speech from a text",
        description: [
          "Returns the bytes of the sound as they arrive, in the type of the format; cost and balance follow as trailers.",
          'With `stream: true`, the sound comes as `t.delta {i, t: "audio", data}`.',
          "A client that leaves after the first byte pays for the whole text, as the vendor charges it.",
        ].join(" "),
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("transcriptions", "/t1/transcriptions", {
      headers: callerHeaders,
      payload: TranscriptionRequest,
      success: [
        TranscriptionResponse,
        InProgress.pipe(HttpApiSchema.status(202)),
        HttpApiSchema.StreamSse({ events: ExchangeEvent }),
      ],
      error: errorsOf([...mediaErrors, "asr_not_configured", "asr_quota_exceeded"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Transcribe or translate speech",
        description: [
          "A form (`multipart/form-data`) has the same fields, and the sound as its part `file`.",
          "The formats `text`, `srt` and `vtt` are answered as text; the call costs the same for every format.",
        ].join(" "),
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("videos", "/t1/videos", {
      headers: callerHeaders,
      payload: VideoRequest,
      success: VideoJob.pipe(HttpApiSchema.status(202)),
      error: errorsOf([...callErrors, "videogen_not_configured", "videogen_quota_exceeded"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Create a video",
        description: [
          "The answer is a job; ask for it until it is `done`, `failed` or `cancelled`. Its price is held when the",
          "vendor accepts it, is charged when it is done, and is released otherwise.",
          "A form (`multipart/form-data`) has the same fields, and the picture as its part `image`.",
        ].join(" "),
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("video", "/t1/videos/:id", {
      headers: callerHeaders,
      params: { id: PathId },
      success: VideoJob,
      error: errorsOf([...everywhere, ...callerErrors, "not_found"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Get the state of a video" })),
  )
  .add(
    HttpApiEndpoint.get("videoContent", "/t1/videos/:id/content", {
      headers: {
        ...callerHeaders,
        range: parameter("One range of bytes, e.g. `bytes=0-1023`; several are ignored"),
        "if-range": parameter("The `ETag` or date of the bytes that the client has"),
      },
      params: { id: PathId },
      query: { variant: parameter("`video` (if absent), `thumbnail` or `spritesheet`, as far as the vendor has it") },
      success: HttpApiSchema.StreamUint8Array({ contentType: "video/mp4" }),
      error: errorsOf([...everywhere, ...callerErrors, "not_found", "upstream_error"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Get the bytes of a video that is done",
        description: [
          "A range is answered with 206 and `Content-Range` where the vendor can, and with 416 where it has no such bytes.",
          "A type that is none of video, sound or a picture is sent as `application/octet-stream`.",
        ].join(" "),
      }),
    ),
  )
  .add(
    HttpApiEndpoint.delete("cancelVideo", "/t1/videos/:id", {
      headers: callerHeaders,
      params: { id: PathId },
      success: VideoJob,
      error: errorsOf([...everywhere, ...callerErrors, "not_found"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Cancel a video, also at its vendor if possible, and release its hold. Repeating it is not an error.",
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
        summary: "Open or renew a session",
        description: [
          "Without `sessionId`, a session is opened. A client's own id (a ULID) is registered at first sight.",
          "Inside the plan's window a renewal changes nothing; outside it, a session is checked like a new one.",
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
    }).annotateMerge(OpenApi.annotations({ summary: "End a session for good. Repeating it is not an error." })),
  )
  .add(
    HttpApiEndpoint.get("config", "/t1/config", {
      headers: { ...featureHeaders, "if-none-match": parameter("An ETag; 304 if it is current") },
      success: [Bundle, HttpApiSchema.Empty(304)],
      error: errorsOf([...everywhere, ...callerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Get the client's configuration",
        description:
          "`ETag` is the fingerprint, in quotes; the same as `configVersion` and a heartbeat's `bundleEtag`.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("budgets", "/t1/budgets", {
      headers: callerHeaders,
      success: Budgets,
      error: errorsOf([...everywhere, ...callerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Get what is left of the budgets that cover the caller",
        description: "An end user gets only its own budgets. `used` is the settled amount, without running exchanges.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("handshake", "/t1/handshake", {
      headers: featureHeaders,
      payload: HandshakeRequest,
      success: HandshakeResponse,
      error: errorsOf([...everywhere, ...callerErrors, "protocol_unsupported"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Negotiate the protocol and get the limits" })),
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
        "org_ceiling_exceeded",
        "plan_gate_unavailable",
        "upstream_error",
      ]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Search the web",
        description: "Each answered search is billed as one call. The query is never logged or stored.",
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
        summary: "Report usage of calls that bypassed the gateway. Never billed; idempotent by event.",
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Runtime",
      description: "Exchanges, web search, sessions and configuration for clients",
    }),
  ) {}
