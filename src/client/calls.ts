/** Every call of a client, as promises: its route, its body, and the shape of its reply. */
import type { AppTokenRequest, AppTokenResponse } from "../protocol/control/app-token.ts"
import type { Budgets } from "../protocol/control/budget.ts"
import type { Bundle } from "../protocol/control/bundle.ts"
import type { ExchangeRequest } from "../protocol/exchange.ts"
import type { EmbeddingRequest, EmbeddingResponse } from "../protocol/kinds/embedding.ts"
import type { ImageRequest, ImageResponse } from "../protocol/kinds/image.ts"
import type { ModerationRequest, ModerationResponse } from "../protocol/kinds/moderation.ts"
import type { RerankRequest, RerankResponse } from "../protocol/kinds/rerank.ts"
import type { SearchRequest, SearchResponse } from "../protocol/kinds/search.ts"
import type { SpeechRequest } from "../protocol/kinds/speech.ts"
import type { TranscriptionRequest, TranscriptionResponse } from "../protocol/kinds/transcription.ts"
import type { VideoJob, VideoRequest } from "../protocol/kinds/video.ts"
import { protocolLabel } from "../protocol/labels.ts"
import type { HandshakeResponse, HeartbeatRequest, HeartbeatResponse } from "../protocol/session.ts"
import type { UsageReceipt, UsageReport } from "../protocol/usage-report.ts"
import { newUlid } from "../protocol/values/ulid.ts"
import { eventsOf, type StreamedEvent } from "./exchange-stream.ts"
import { type CallOptions, checkBaseUrl, type WeirOptions } from "./options.ts"
import { isReply, type Reply, withText } from "./reply.ts"
import { hasShape } from "./shape.ts"
import { type Call, readBody, readBytes, send, subjectOf } from "./transport.ts"

/** A request to a model; the method decides whether it is streamed. */
export type Ask = Omit<ExchangeRequest, "stream">

/** The methods of {@link makeCalls}; each rejects with a `WeirError`, or with the reason of its signal. */
export type Calls = ReturnType<typeof makeCalls>

const defaultSilenceMs = 60_000

/** Throws if the base URL is none; sends nothing. */
export const makeCalls = (options: WeirOptions) => {
  checkBaseUrl(options.baseUrl)
  const { silenceMs = defaultSilenceMs, features = [], client } = options
  const featureHeaders = features.length === 0 ? {} : { "x-svc-client-features": features.join(",") }
  const get = (target: string): Call => ({ method: "GET", target, isIdempotent: true })
  const remove = (target: string): Call => ({ method: "DELETE", target, isIdempotent: true })
  const post = (target: string, body: unknown, isIdempotent = true, headers = {}): Call => ({
    method: "POST",
    target,
    body,
    isIdempotent,
    headers,
  })
  /** A call that the gateway knows again by its id: retries are billed once. */
  const identified = <Request extends { readonly meta?: ExchangeRequest["meta"] }>(
    target: string,
    request: Request,
  ) => {
    const meta = { requestId: newUlid(Date.now()), ...(client !== undefined && { client }), ...request.meta }
    return post(target, { ...request, meta })
  }
  const call = async <A>(outgoing: Call, hasItsShape: (body: unknown) => body is A, more?: CallOptions): Promise<A> =>
    readBody(await send(options, outgoing, more), outgoing, hasItsShape, more)
  const bytes = async (outgoing: Call, more?: CallOptions): Promise<Uint8Array> =>
    readBytes(await send(options, outgoing, more), outgoing)
  const whole =
    <Request extends { readonly meta?: ExchangeRequest["meta"] }, A>(
      target: string,
      hasItsShape: (body: unknown) => body is A,
    ) =>
    (request: Request, more?: CallOptions): Promise<A> =>
      call(identified(target, request), hasItsShape, more)
  const videoAt = (id: string, rest = "") => `/t1/videos/${encodeURIComponent(id)}${rest}`

  return {
    exchange: async (ask: Ask, more?: CallOptions): Promise<Reply> =>
      withText(
        await call(identified("/t1/exchange", { ...ask, stream: false } satisfies ExchangeRequest), isReply, more),
      ),
    stream: async function* (ask: Ask, more: CallOptions = {}): AsyncGenerator<StreamedEvent, void, undefined> {
      const outgoing = identified("/t1/exchange", { ...ask, stream: true } satisfies ExchangeRequest)
      const { signal } = more
      yield* eventsOf(await send(options, outgoing, more), { silenceMs, subject: subjectOf(outgoing), signal })
    },
    embed: whole<EmbeddingRequest, EmbeddingResponse>("/t1/embeddings", hasShape({ model: "string" })),
    rerank: whole<RerankRequest, RerankResponse>("/t1/rerank", hasShape({ model: "string" })),
    moderate: whole<ModerationRequest, ModerationResponse>("/t1/moderations", hasShape({ model: "string" })),
    draw: whole<ImageRequest, ImageResponse>("/t1/images", hasShape({ model: "string" })),
    speak: (request: SpeechRequest, more?: CallOptions) => bytes(identified("/t1/speech", request), more),
    transcribe: whole<TranscriptionRequest, TranscriptionResponse>("/t1/transcriptions", hasShape({ model: "string" })),
    film: whole<VideoRequest, VideoJob>("/t1/videos", isVideoJob),
    video: (id: string, more?: CallOptions) => call(get(videoAt(id)), isVideoJob, more),
    videoContent: (id: string, more?: CallOptions) => bytes(get(videoAt(id, "/content")), more),
    cancelVideo: (id: string, more?: CallOptions) => call(remove(videoAt(id)), isVideoJob, more),
    search: whole<SearchRequest, SearchResponse>("/t1/websearch", hasShape({})),
    reportUsage: (report: UsageReport, more?: CallOptions) =>
      call<UsageReceipt>(post("/t1/usage", report), hasShape({}), more),
    handshake: (more?: CallOptions) =>
      call<HandshakeResponse>(
        post("/t1/handshake", { protocols: [protocolLabel] }, true, featureHeaders),
        hasShape({ protocol: "string" }),
        more,
      ),
    // Not retried without an id: each heartbeat without one opens a session.
    heartbeat: (request: HeartbeatRequest, more?: CallOptions) =>
      call<HeartbeatResponse>(
        post("/t1/heartbeat", request, request.sessionId !== undefined, featureHeaders),
        hasShape({ sessionId: "string" }),
        more,
      ),
    endSession: async (id: string, more?: CallOptions): Promise<void> => {
      await send(options, remove(`/t1/sessions/${encodeURIComponent(id)}`), more)
    },
    budgets: (more?: CallOptions) => call<Budgets>(get("/t1/budgets"), hasShape({}), more),
    config: async (knownVersion?: string, more?: CallOptions): Promise<Bundle | undefined> => {
      const known = knownVersion === undefined ? {} : { "if-none-match": `"${knownVersion}"` }
      const outgoing = { ...get("/t1/config"), headers: { ...featureHeaders, ...known } }
      const response = await send(options, outgoing, more)
      if (response.status === 304) return undefined
      return readBody<Bundle>(response, outgoing, hasShape({ configVersion: "string" }), more)
    },
    mintAppToken: (request: AppTokenRequest, more?: CallOptions) =>
      call<AppTokenResponse>(post("/v1/app-tokens", request), hasShape({ token: "string" }), more),
  }
}

const isVideoJob = hasShape<VideoJob>({ id: "string" })
