/** The client as effects and streams. Its calls are those of the promises; every reply is checked by its schema. */
import { Context, Effect, Layer, Option, Schema, type Stream } from "effect"
import { type AppTokenRequest, AppTokenResponse } from "../../protocol/control/app-token.ts"
import { Budgets } from "../../protocol/control/budget.ts"
import { Bundle } from "../../protocol/control/bundle.ts"
import { ExchangeResponse } from "../../protocol/exchange.ts"
import { type EmbeddingRequest, EmbeddingResponse } from "../../protocol/kinds/embedding.ts"
import { type ImageRequest, ImageResponse } from "../../protocol/kinds/image.ts"
import { type ModerationRequest, ModerationResponse } from "../../protocol/kinds/moderation.ts"
import { type RerankRequest, RerankResponse } from "../../protocol/kinds/rerank.ts"
import { type SearchRequest, SearchResponse } from "../../protocol/kinds/search.ts"
import type { SpeechRequest } from "../../protocol/kinds/speech.ts"
import { type TranscriptionRequest, TranscriptionResponse } from "../../protocol/kinds/transcription.ts"
import { VideoJob, type VideoRequest } from "../../protocol/kinds/video.ts"
import { HandshakeResponse, type HeartbeatRequest, HeartbeatResponse } from "../../protocol/session.ts"
import { UsageReceipt, type UsageReport } from "../../protocol/usage-report.ts"
import { type Ask, makeCalls } from "../calls.ts"
import { type WeirError, WeirUnreadable } from "../errors.ts"
import type { StreamedEvent } from "../exchange-stream.ts"
import type { CallOptions, WeirOptions } from "../options.ts"
import { type Reply, withText } from "../reply.ts"
import { fromCall } from "./promises.ts"
import { fromEvents } from "./streams.ts"

export interface WeirClientShape {
  /**
   * Creates an exchange and returns the whole reply. Without `meta.requestId` it gets one, so that retries are billed
   * once.
   */
  readonly exchange: (ask: Ask) => Effect.Effect<Reply, WeirError>
  /** Creates a streamed exchange. Interrupting ends it at the vendor too; what was received until then is billed. */
  readonly stream: (ask: Ask) => Stream.Stream<StreamedEvent, WeirError>
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
  /** Embeds texts. Like an exchange, these calls get a request id of their own: retries are billed once. */
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

export class WeirClient extends Context.Service<WeirClient, WeirClientShape>()("@weir-gateway/client/WeirClient") {
  static readonly layer = (options: WeirOptions): Layer.Layer<WeirClient> =>
    Layer.succeed(WeirClient, makeClient(options))
}

/** Throws if the base URL is none; sends nothing. */
export const makeClient = (options: WeirOptions): WeirClientShape => {
  const calls = makeCalls(options)
  const whole =
    <Request extends { readonly model?: string }, S extends Schema.ConstraintDecoder<unknown>>(
      call: (request: Request, options: CallOptions) => Promise<unknown>,
      schema: S,
    ) =>
    (request: Request) =>
      checked(
        request.model === undefined ? "the reply" : `model ${request.model}`,
        (more) => call(request, more),
        schema,
      )
  return {
    exchange: (ask) => Effect.map(whole(calls.exchange, ExchangeResponse)(ask), withText),
    stream: (ask) => fromEvents(`model ${ask.model}`, (more) => calls.stream(ask, more)),
    embed: whole(calls.embed, EmbeddingResponse),
    rerank: whole(calls.rerank, RerankResponse),
    moderate: whole(calls.moderate, ModerationResponse),
    draw: whole(calls.draw, ImageResponse),
    speak: (request) => fromCall((more) => calls.speak(request, more)),
    transcribe: whole(calls.transcribe, TranscriptionResponse),
    film: whole(calls.film, VideoJob),
    video: (id) => checked(`video ${id}`, (more) => calls.video(id, more), VideoJob),
    videoContent: (id) => fromCall((more) => calls.videoContent(id, more)),
    cancelVideo: (id) => checked(`video ${id}`, (more) => calls.cancelVideo(id, more), VideoJob),
    search: (request) => checked("search", (more) => calls.search(request, more), SearchResponse),
    reportUsage: (report) => checked("usage report", (more) => calls.reportUsage(report, more), UsageReceipt),
    handshake: checked("handshake", calls.handshake, HandshakeResponse),
    heartbeat: (request) => checked("heartbeat", (more) => calls.heartbeat(request, more), HeartbeatResponse),
    endSession: (id) => fromCall((more) => calls.endSession(id, more)),
    budgets: checked("budgets", calls.budgets, Budgets),
    config: (knownVersion) =>
      checked("configuration", (more) => calls.config(knownVersion, more), Schema.UndefinedOr(Bundle)),
    mintAppToken: (request) => checked("token", (more) => calls.mintAppToken(request, more), AppTokenResponse),
  }
}

/** A call whose reply is checked by its schema; unknown members are left out. */
const checked = <S extends Schema.ConstraintDecoder<unknown>>(
  subject: string,
  call: (options: CallOptions) => Promise<unknown>,
  schema: S,
): Effect.Effect<S["Type"], WeirError> =>
  Effect.flatMap(fromCall(call), (reply) => {
    const read = Schema.decodeUnknownOption(schema)(reply)
    if (Option.isSome(read)) return Effect.succeed(read.value)
    return Effect.fail(new WeirUnreadable({ message: "The reply does not match its schema", subject, status: 200 }))
  })
