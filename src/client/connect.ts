/** The client as promises and async iterables, for programs without Effect. */
import { Cause, Effect, Exit, Scope, Stream } from "effect"
import type { AppTokenRequest, AppTokenResponse } from "../protocol/control/app-token.ts"
import type { Budgets } from "../protocol/control/budget.ts"
import type { Bundle } from "../protocol/control/bundle.ts"
import type { ExchangeResponse } from "../protocol/exchange.ts"
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
import { type Ask, makeClient } from "./client.ts"
import type { WeirError } from "./errors.ts"
import { makeExchangeSocket } from "./exchange-socket.ts"
import type { StreamedEvent } from "./exchange-stream.ts"
import { makeRealtime, type RealtimeEvent } from "./realtime.ts"
import { makeSession, type SessionOptions } from "./session.ts"
import type { WeirOptions } from "./transport.ts"

export interface CallOptions {
  /** Aborting ends the call at the gateway and at the vendor; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** The methods that a session has too. */
export interface Exchanging {
  /** Creates an exchange and returns the whole reply. Rejects with a {@link WeirError}. */
  readonly exchange: (ask: Ask, options?: CallOptions) => Promise<ExchangeResponse>
  /** Creates a streamed exchange: `for await (const { event, data } of weir.stream(…))`. Leaving the loop ends it. */
  readonly stream: (ask: Ask, options?: CallOptions) => AsyncIterable<StreamedEvent>
  /** The text of a streamed exchange, without its other events. */
  readonly text: (ask: Ask, options?: CallOptions) => AsyncIterable<string>
}

export interface Weir extends Exchanging {
  /** Embeds texts; rejects with a {@link WeirError}. Retries are billed once. */
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
  /** Opens one connection for many exchanges. Rejects with {@link WeirUnreachable}. */
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
  /** Stops the heartbeats and ends the session at the gateway. */
  readonly close: () => Promise<void>
}

/** Creates a client for one gateway. Sends nothing before the first call. */
export const connect = (options: WeirOptions): Weir => {
  const client = makeClient(options)
  return {
    ...exchanging(client),
    embed: (request, call) => run(client.embed(request), call),
    rerank: (request, call) => run(client.rerank(request), call),
    moderate: (request, call) => run(client.moderate(request), call),
    draw: (request, call) => run(client.draw(request), call),
    speak: (request, call) => run(client.speak(request), call),
    transcribe: (request, call) => run(client.transcribe(request), call),
    film: (request, call) => run(client.film(request), call),
    video: (id, call) => run(client.video(id), call),
    videoContent: (id, call) => run(client.videoContent(id), call),
    cancelVideo: (id, call) => run(client.cancelVideo(id), call),
    search: (request, call) => run(client.search(request), call),
    reportUsage: (report, call) => run(client.reportUsage(report), call),
    budgets: (call) => run(client.budgets, call),
    handshake: (call) => run(client.handshake, call),
    config: (knownVersion, call) => run(client.config(knownVersion), call),
    mintAppToken: (request, call) => run(client.mintAppToken(request), call),
    session: (sessionOptions) => {
      const scope = Scope.makeUnsafe()
      const session = Effect.runSync(Scope.provide(makeSession(client, sessionOptions), scope))
      return {
        ...exchanging(session),
        id: (call) => run(session.id, call),
        config: () => run(session.config),
        close: () => Effect.runPromise(Scope.close(scope, Exit.void)),
      }
    },
    socket: async (call) => {
      const { opened, close } = await open(makeExchangeSocket(options), call)
      return { ...exchanging(opened), close }
    },
    realtime: async (model, call) => {
      const { opened, close } = await open(makeRealtime(options, model), call)
      return {
        send: (event) => Effect.runSync(opened.send(event)),
        close,
        [Symbol.asyncIterator]: () => iterate(opened.events),
      }
    },
  }
}

/** Opens a resource that ends when it is closed. */
const open = async <A>(make: Effect.Effect<A, WeirError, Scope.Scope>, call?: CallOptions) => {
  const scope = Scope.makeUnsafe()
  const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
  try {
    return { opened: await run(Scope.provide(make, scope), call), close }
  } catch (error) {
    await close()
    throw error
  }
}

const exchanging = ({
  exchange,
  stream,
}: {
  readonly exchange: (ask: Ask) => Effect.Effect<ExchangeResponse, WeirError>
  readonly stream: (ask: Ask) => Stream.Stream<StreamedEvent, WeirError>
}): Exchanging => ({
  exchange: (ask, call) => run(exchange(ask), call),
  stream: (ask, call) => iterate(stream(ask), call),
  text: (ask, call) => iterate(textOf(stream(ask)), call),
})

/** The text deltas of a stream; of its first reply, if several were asked for. */
export const textOf = <E>(events: Stream.Stream<StreamedEvent, E>): Stream.Stream<string, E> =>
  Stream.flatMap(events, ({ event, data }) =>
    event === "t.delta" && data.t === "text" && data.reply === undefined ? Stream.succeed(data.v) : Stream.empty,
  )

const run = async <A>(effect: Effect.Effect<A, WeirError>, { signal }: CallOptions = {}): Promise<A> => {
  signal?.throwIfAborted()
  const exit = await Effect.runPromiseExit(effect, signal === undefined ? {} : { signal })
  if (Exit.isSuccess(exit)) return exit.value
  signal?.throwIfAborted()
  throw Cause.squash(exit.cause)
}

/** Pulls events one by one, so that a slow reader slows the stream; a signal ends it between two events. */
async function* iterate<A>(
  stream: Stream.Stream<A, WeirError>,
  { signal }: CallOptions = {},
): AsyncGenerator<A, void, undefined> {
  signal?.throwIfAborted()
  const aborted = signal === undefined ? Effect.never : whenAborted(signal)
  yield* Stream.toAsyncIterable(Stream.interruptWhen(stream, aborted))
  signal?.throwIfAborted()
}

const whenAborted = (signal: AbortSignal): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const onAbort = () => resume(Effect.void)
    if (signal.aborted) return onAbort()
    signal.addEventListener("abort", onAbort, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", onAbort))
  })
