/** The client as effects and streams. {@link connect} gives the same as promises and async iterables. */
import { Context, Effect, Layer, type Schema, Stream } from "effect"
import { type AppTokenRequest, AppTokenResponse } from "../protocol/control/app-token.ts"
import { Budgets } from "../protocol/control/budget.ts"
import { Bundle } from "../protocol/control/bundle.ts"
import { protocolLabel } from "../protocol/event.ts"
import { type ExchangeRequest, ExchangeResponse } from "../protocol/exchange.ts"
import { type EmbeddingRequest, EmbeddingResponse } from "../protocol/kinds/embedding.ts"
import { type ImageRequest, ImageResponse } from "../protocol/kinds/image.ts"
import { type ModerationRequest, ModerationResponse } from "../protocol/kinds/moderation.ts"
import { type RerankRequest, RerankResponse } from "../protocol/kinds/rerank.ts"
import { type SearchRequest, SearchResponse } from "../protocol/kinds/search.ts"
import type { SpeechRequest } from "../protocol/kinds/speech.ts"
import { type TranscriptionRequest, TranscriptionResponse } from "../protocol/kinds/transcription.ts"
import { VideoJob, type VideoRequest } from "../protocol/kinds/video.ts"
import { HandshakeResponse, type HeartbeatRequest, HeartbeatResponse } from "../protocol/session.ts"
import { UsageReceipt, type UsageReport } from "../protocol/usage-report.ts"
import { newUlid } from "../protocol/values/ulid.ts"
import type { WeirError } from "./errors.ts"
import { eventsOf, type StreamedEvent } from "./exchange-stream.ts"
import { type Call, readBody, readBytes, send, type WeirOptions } from "./transport.ts"

/** A request to a model; the method decides whether it is streamed. */
export type Ask = Omit<ExchangeRequest, "stream">

export interface WeirClientShape {
  /**
   * Creates an exchange and returns the whole reply. Without `meta.requestId` it gets one, so that retries are billed
   * once.
   */
  readonly exchange: (ask: Ask) => Effect.Effect<ExchangeResponse, WeirError>
  /** Creates a streamed exchange. Interrupting ends it at the vendor too; what was received until then is billed. */
  readonly stream: (ask: Ask) => Stream.Stream<StreamedEvent, WeirError>
  /** Embeds texts. Like an exchange, these get a request id of their own: retries are billed once. */
  /** Creates pictures, or changes those of the request. */
  readonly draw: (request: ImageRequest) => Effect.Effect<ImageResponse, WeirError>
  /** The sound of a text, as a whole. */
  readonly speak: (request: SpeechRequest) => Effect.Effect<Uint8Array, WeirError>
  readonly transcribe: (request: TranscriptionRequest) => Effect.Effect<TranscriptionResponse, WeirError>
  /** Starts a job that makes a video; {@link video} returns its state. */
  readonly film: (request: VideoRequest) => Effect.Effect<VideoJob, WeirError>
  readonly video: (id: string) => Effect.Effect<VideoJob, WeirError>
  readonly videoContent: (id: string) => Effect.Effect<Uint8Array, WeirError>
  readonly cancelVideo: (id: string) => Effect.Effect<VideoJob, WeirError>
  readonly embed: (request: EmbeddingRequest) => Effect.Effect<EmbeddingResponse, WeirError>
  /** Orders documents by how well they answer a query. */
  readonly rerank: (request: RerankRequest) => Effect.Effect<RerankResponse, WeirError>
  /** Returns the categories for which texts and pictures are flagged. */
  readonly moderate: (request: ModerationRequest) => Effect.Effect<ModerationResponse, WeirError>
  readonly search: (request: SearchRequest) => Effect.Effect<SearchResponse, WeirError>
  readonly reportUsage: (report: UsageReport) => Effect.Effect<UsageReceipt, WeirError>
  readonly handshake: Effect.Effect<HandshakeResponse, WeirError>
  readonly heartbeat: (request: HeartbeatRequest) => Effect.Effect<HeartbeatResponse, WeirError>
  readonly endSession: (id: string) => Effect.Effect<void, WeirError>
  /** The rest of the budgets that cover the caller. */
  readonly budgets: Effect.Effect<Budgets, WeirError>
  /** The configuration. @param knownVersion the client's version; the result is undefined if it is still current */
  readonly config: (knownVersion?: string) => Effect.Effect<Bundle | undefined, WeirError>
  /** Mints a token for an end user of the application; for servers that hold the key pair. */
  readonly mintAppToken: (request: AppTokenRequest) => Effect.Effect<AppTokenResponse, WeirError>
}

export class WeirClient extends Context.Service<WeirClient, WeirClientShape>()("weir/client/WeirClient") {
  static readonly layer = (options: WeirOptions): Layer.Layer<WeirClient> =>
    Layer.succeed(WeirClient, makeClient(options))
}

const defaultSilenceMs = 60_000

export const makeClient = (options: WeirOptions): WeirClientShape => {
  const { silenceMs = defaultSilenceMs, features = [], client } = options
  const featureHeaders = features.length === 0 ? {} : { "x-svc-client-features": features.join(",") }
  const post = (target: string, body: unknown, isIdempotent: boolean, headers = {}): Call => ({
    method: "POST",
    target,
    body,
    isIdempotent,
    headers,
  })
  /** A call that the gateway knows again by its id. */
  const identified = <Request extends { readonly meta?: ExchangeRequest["meta"] }>(target: string, request: Request) =>
    Effect.suspend(() => {
      const meta = { requestId: newUlid(Date.now()), ...(client !== undefined && { client }), ...request.meta }
      return send(options, post(target, { ...request, meta }, true))
    })
  const exchange = (ask: Ask, stream: boolean) =>
    identified("/t1/exchange", { ...ask, stream } satisfies ExchangeRequest)
  const whole =
    <Request extends { readonly meta?: ExchangeRequest["meta"] }, S extends Schema.ConstraintDecoder<unknown>>(
      target: string,
      schema: S,
    ) =>
    (request: Request) =>
      Effect.flatMap(identified(target, request), (response) => readBody(response, schema))

  const call = <S extends Schema.ConstraintDecoder<unknown>>(outgoing: Call, schema: S) =>
    Effect.flatMap(send(options, outgoing), (response) => readBody(response, schema))

  return {
    exchange: (ask) => Effect.flatMap(exchange(ask, false), (response) => readBody(response, ExchangeResponse)),
    stream: (ask) => Stream.unwrap(Effect.map(exchange(ask, true), (response) => eventsOf(response, silenceMs))),
    embed: whole("/t1/embeddings", EmbeddingResponse),
    rerank: whole("/t1/rerank", RerankResponse),
    moderate: whole("/t1/moderations", ModerationResponse),
    draw: whole("/t1/images", ImageResponse),
    speak: (request) => Effect.flatMap(identified("/t1/speech", request), readBytes),
    transcribe: whole("/t1/transcriptions", TranscriptionResponse),
    film: whole("/t1/videos", VideoJob),
    video: (id) =>
      call({ method: "GET", target: `/t1/videos/${encodeURIComponent(id)}`, isIdempotent: true }, VideoJob),
    videoContent: (id) =>
      Effect.flatMap(
        send(options, { method: "GET", target: `/t1/videos/${encodeURIComponent(id)}/content`, isIdempotent: true }),
        readBytes,
      ),
    cancelVideo: (id) =>
      call({ method: "DELETE", target: `/t1/videos/${encodeURIComponent(id)}`, isIdempotent: true }, VideoJob),
    search: whole("/t1/websearch", SearchResponse),
    reportUsage: (report) => call(post("/t1/usage", report, true), UsageReceipt),
    handshake: call(post("/t1/handshake", { protocols: [protocolLabel] }, true, featureHeaders), HandshakeResponse),
    // Not retried without an id: each heartbeat without one opens a session.
    heartbeat: (request) =>
      call(post("/t1/heartbeat", request, request.sessionId !== undefined, featureHeaders), HeartbeatResponse),
    endSession: (id) =>
      Effect.asVoid(
        send(options, { method: "DELETE", target: `/t1/sessions/${encodeURIComponent(id)}`, isIdempotent: true }),
      ),
    budgets: call({ method: "GET", target: "/t1/budgets", isIdempotent: true }, Budgets),
    config: (knownVersion) =>
      Effect.flatMap(
        send(options, {
          method: "GET",
          target: "/t1/config",
          isIdempotent: true,
          headers: { ...featureHeaders, ...(knownVersion !== undefined && { "if-none-match": `"${knownVersion}"` }) },
        }),
        (response) => (response.status === 304 ? Effect.succeed(undefined) : readBody(response, Bundle)),
      ),
    mintAppToken: (request) => call(post("/v1/app-tokens", request, true), AppTokenResponse),
  }
}
