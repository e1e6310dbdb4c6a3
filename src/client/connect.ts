/**
 * The client as promises and async iterables. It loads no Effect.
 *
 * **Details**
 *
 * Promises reject with a `WeirError`, whose stack leads to the caller, or with the reason of an aborted signal. Streams can
 * be iterated once. Sockets and realtime sessions do not reconnect: open another when one has ended.
 */
import type { AppTokenRequest, AppTokenResponse } from "../protocol/control/app-token.ts"
import type { Budgets } from "../protocol/control/budget.ts"
import type { Bundle } from "../protocol/control/bundle.ts"
import type { EmbeddingRequest, EmbeddingResponse } from "../protocol/kinds/embedding.ts"
import type { ImageRequest, ImageResponse } from "../protocol/kinds/image.ts"
import type { ModerationRequest, ModerationResponse } from "../protocol/kinds/moderation.ts"
import type { RerankRequest, RerankResponse } from "../protocol/kinds/rerank.ts"
import type { SearchRequest, SearchResponse } from "../protocol/kinds/search.ts"
import type { SpeechRequest } from "../protocol/kinds/speech.ts"
import type { TranscriptionRequest, TranscriptionResponse } from "../protocol/kinds/transcription.ts"
import type { VideoJob, VideoRequest } from "../protocol/kinds/video.ts"
import type { HandshakeResponse } from "../protocol/session.ts"
import type { UsageReceipt, UsageReport } from "../protocol/usage-report.ts"
import { placing, placingItems } from "./call-site.ts"
import { type Ask, makeCalls } from "./calls.ts"
import { WeirMisused } from "./errors.ts"
import { openExchangeSocket } from "./exchange-socket.ts"
import type { StreamedEvent } from "./exchange-stream.ts"
import type { CallOptions, WeirOptions } from "./options.ts"
import { openRealtime, type RealtimeEvent } from "./realtime.ts"
import { type Reply, textOfEvent } from "./reply.ts"
import { Session, type SessionOptions } from "./session.ts"

/** The methods that a session has too. */
export interface Exchanging {
  /** Creates an exchange and returns the whole reply. Rejects with a `WeirError`. */
  readonly exchange: (ask: Ask, options?: CallOptions) => Promise<Reply>
  /**
   * Creates a streamed exchange: `for await (const { event, data } of weir.stream(…))`. Leaving the loop ends it; a second
   * loop over the same stream fails.
   */
  readonly stream: (ask: Ask, options?: CallOptions) => AsyncIterable<StreamedEvent>
  /** The text of a streamed exchange, without its other events. */
  readonly text: (ask: Ask, options?: CallOptions) => AsyncIterable<string>
}

export interface Weir extends Exchanging {
  /** Embeds texts; rejects with a `WeirError`. Retries are billed once. */
  readonly embed: (request: EmbeddingRequest, options?: CallOptions) => Promise<EmbeddingResponse>
  /** Orders documents by how well they answer a query. */
  readonly rerank: (request: RerankRequest, options?: CallOptions) => Promise<RerankResponse>
  /** Returns the categories for which texts and pictures are flagged. */
  readonly moderate: (request: ModerationRequest, options?: CallOptions) => Promise<ModerationResponse>
  /** Makes pictures, or changes those of the request. */
  readonly draw: (request: ImageRequest, options?: CallOptions) => Promise<ImageResponse>
  /** The sound of a text, as a whole. */
  readonly speak: (request: SpeechRequest, options?: CallOptions) => Promise<Uint8Array>
  readonly transcribe: (request: TranscriptionRequest, options?: CallOptions) => Promise<TranscriptionResponse>
  /** Starts a job that makes a video; `video` returns its state. */
  readonly film: (request: VideoRequest, options?: CallOptions) => Promise<VideoJob>
  readonly video: (id: string, options?: CallOptions) => Promise<VideoJob>
  readonly videoContent: (id: string, options?: CallOptions) => Promise<Uint8Array>
  readonly cancelVideo: (id: string, options?: CallOptions) => Promise<VideoJob>
  readonly search: (request: SearchRequest, options?: CallOptions) => Promise<SearchResponse>
  readonly reportUsage: (report: UsageReport, options?: CallOptions) => Promise<UsageReceipt>
  /** Returns the rest of the budgets that cover the caller. */
  readonly budgets: (options?: CallOptions) => Promise<Budgets>
  readonly handshake: (options?: CallOptions) => Promise<HandshakeResponse>
  readonly config: (knownVersion?: string, options?: CallOptions) => Promise<Bundle | undefined>
  readonly mintAppToken: (request: AppTokenRequest, options?: CallOptions) => Promise<AppTokenResponse>
  /** Opens a session that sends heartbeats until it is closed. */
  readonly session: (options?: SessionOptions) => OpenSession
  /** Opens one connection for many exchanges; it does not reconnect. Rejects with `WeirUnreachable`. */
  readonly socket: (options?: CallOptions) => Promise<OpenSocket>
  /** Opens a session of voice and text with a model of the kind `realtime`. */
  readonly realtime: (model: string, options?: CallOptions) => Promise<OpenRealtime>
}

export interface OpenSocket extends Exchanging {
  /** Ends it, with the exchanges that run on it. */
  readonly close: () => Promise<void>
}

/** `for await (const event of realtime)`: events as OpenAI's Realtime API has them; leaving the loop does not end it. */
export interface OpenRealtime extends AsyncIterable<RealtimeEvent> {
  readonly send: (event: RealtimeEvent) => void
  readonly close: () => Promise<void>
}

export interface OpenSession extends Exchanging {
  readonly id: (options?: CallOptions) => Promise<string>
  readonly config: () => Promise<Bundle | undefined>
  /** Stops the heartbeats and ends the session at the gateway; then every other method rejects. */
  readonly close: () => Promise<void>
}

/** Creates a client for one gateway. Sends nothing before the first call; throws if the base URL is none. */
export const connect = (options: WeirOptions): Weir => {
  const calls = makeCalls(options)
  return {
    ...exchanging(calls),
    embed: placing(calls.embed),
    rerank: placing(calls.rerank),
    moderate: placing(calls.moderate),
    draw: placing(calls.draw),
    speak: placing(calls.speak),
    transcribe: placing(calls.transcribe),
    film: placing(calls.film),
    video: placing(calls.video),
    videoContent: placing(calls.videoContent),
    cancelVideo: placing(calls.cancelVideo),
    search: placing(calls.search),
    reportUsage: placing(calls.reportUsage),
    budgets: placing(calls.budgets),
    handshake: placing(calls.handshake),
    config: placing(calls.config),
    mintAppToken: placing(calls.mintAppToken),
    session: (sessionOptions) => {
      const session = new Session(calls, sessionOptions)
      return {
        ...exchanging({
          exchange: (ask, call) => session.exchange(ask, call),
          stream: (ask, call) => session.stream(ask, call),
        }),
        id: placing((call?: CallOptions) => session.id(call)),
        config: placing(() => session.config()),
        close: () => session.close(),
      }
    },
    socket: placing(async (call?: CallOptions) => {
      const socket = await openExchangeSocket(options, call)
      return { ...exchanging(socket), close: async () => socket.close() }
    }),
    realtime: placing(async (model: string, call?: CallOptions) => {
      const { send, next, close } = await openRealtime(options, model, call)
      const nextEvent = placing(next)
      return {
        send,
        close: async () => close(),
        async *[Symbol.asyncIterator]() {
          for (let event = await nextEvent(); event !== undefined; event = await nextEvent()) yield event
        },
      }
    }),
  }
}

/** Exchanges whose errors lead to their caller. */
const exchanging = ({
  exchange,
  stream,
}: {
  readonly exchange: (ask: Ask, call?: CallOptions) => Promise<Reply>
  readonly stream: (ask: Ask, call?: CallOptions) => AsyncIterable<StreamedEvent>
}): Exchanging => ({
  exchange: placing(exchange),
  stream: placingItems(stream, consumed),
  text: placingItems((ask: Ask, call?: CallOptions) => textOf(stream(ask, call)), consumed),
})

const consumed = () =>
  new WeirMisused("stream_consumed", "This stream was iterated before: keep its events, or start another exchange")

/** The text deltas of a stream; of its first reply, if several were asked for. */
async function* textOf(events: AsyncIterable<StreamedEvent>): AsyncGenerator<string, void, undefined> {
  for await (const event of events) {
    const text = textOfEvent(event)
    if (text !== undefined) yield text
  }
}
