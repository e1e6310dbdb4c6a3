/** The runtime group: `POST /t1/exchange` and the routes beside it. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { newRequestId } from "../../calls/calls.ts"
import type { Call } from "../../calls/held-call.ts"
import type { CallRequest, Kind } from "../../calls/kind.ts"
import { chat } from "../../kinds/chat/chat.ts"
import type { ChatReply } from "../../kinds/chat/chat-reply.ts"
import { messagesFrom } from "../../kinds/chat/thread-texts.ts"
import { decodeCall, decodeExchange } from "../../kinds/decode.ts"
import { embedding } from "../../kinds/embedding/embedding.ts"
import { moderation } from "../../kinds/moderation/moderation.ts"
import { rerank } from "../../kinds/rerank/rerank.ts"
import { search } from "../../kinds/search/search.ts"
import { Api } from "../../protocol/api.ts"
import { EmbeddingRequest } from "../../protocol/kinds/embedding.ts"
import { ModerationRequest } from "../../protocol/kinds/moderation.ts"
import { RerankRequest } from "../../protocol/kinds/rerank.ts"
import { SearchRequest } from "../../protocol/kinds/search.ts"
import { type CallRunner, makeCallRunner } from "../call-runner.ts"
import { fromRouter, makeForCaller, type RuntimeRequest } from "../caller-request.ts"
import { CompatibleHandlers } from "../compatible/exchange.ts"
import { type DirectHandler, replying } from "../hot-routes.ts"
import { LargeRequests } from "../large/large-requests.ts"
import { mediaAnswers } from "../media/answers.ts"
import { NodeConnection } from "../node-connection.ts"
import { envelope, routeNotFound } from "../respond.ts"
import { makeKeptExchanges } from "./kept-exchanges.ts"
import { makeRuntime } from "./session.ts"
import { makeVideos } from "./videos.ts"

/** A kind's own route: how its body is read. */
const route =
  <Request extends CallRequest, Body extends object>(
    { run }: CallRunner,
    kind: Kind<Request, Body>,
    decode: (body: Uint8Array) => Call<Request, Body>["decoded"],
  ): DirectHandler =>
  (request, response) => {
    const requestId = newRequestId()
    const connection = new NodeConnection<Body>(response, requestId)
    return run(kind, request, requestId, {
      read: ({ body }) => ({ decoded: decode(body), connection }),
      refusedAt: () => connection,
      status: () => response.statusCode,
    })
  }

/** The handler of each runtime route. */
export const makeRuntimeAnswers = Effect.gen(function* () {
  const { forCaller } = yield* makeForCaller
  const runner = yield* makeCallRunner
  const runtime = yield* makeRuntime
  const videos = yield* makeVideos
  const large = yield* LargeRequests
  const keptExchange = yield* makeKeptExchanges()
  const exchange: DirectHandler = (request, response) => {
    const requestId = newRequestId()
    const connection = new NodeConnection<ChatReply>(response, requestId)
    const { continued, from, keeping } = keptExchange(requestId, connection)
    return runner.run(chat, request, requestId, {
      continued,
      read: ({ caller, body }) => ({
        decoded: keeping(caller, decodeExchange(body), () => messagesFrom(body, from())),
        connection,
      }),
      readLarge: (caller, parts, masking) =>
        Effect.map(large.read(parts, undefined, masking, from()), ({ decoded, input = [] }) => ({
          decoded: keeping(caller, decoded, () => input),
          connection,
        })),
      refusedAt: () => connection,
      status: () => response.statusCode,
    })
  }

  return {
    calls: new Map<string, DirectHandler>([
      ["/t1/exchange", exchange],
      ["/t1/websearch", route(runner, search, (body) => decodeCall(SearchRequest, body))],
      ["/t1/embeddings", route(runner, embedding, (body) => decodeCall(EmbeddingRequest, body))],
      ["/t1/rerank", route(runner, rerank, (body) => decodeCall(RerankRequest, body))],
      ["/t1/moderations", route(runner, moderation, (body) => decodeCall(ModerationRequest, body))],
      ...mediaAnswers(runner),
    ]),
    heartbeat: (request: RuntimeRequest) => forCaller(request, runtime.heartbeat),
    endSession: (request: RuntimeRequest, id: string) => forCaller(request, (call) => runtime.endSession(call, id)),
    video: (request: RuntimeRequest, id: string) => forCaller(request, (call) => videos.read(call, id)),
    videoContent: (request: RuntimeRequest, id: string) => forCaller(request, (call) => videos.content(call, id)),
    cancelVideo: (request: RuntimeRequest, id: string) => forCaller(request, (call) => videos.cancel(call, id)),
    budgets: (request: RuntimeRequest) => forCaller(request, runtime.readBudgets),
    config: (request: RuntimeRequest) => forCaller(request, runtime.readConfig),
    handshake: (request: RuntimeRequest) => forCaller(request, runtime.handshake),
    usage: (request: RuntimeRequest) => forCaller(request, runtime.reportUsage),
  }
})

/** Calls are answered before the router sees them, under their exact paths. */
const onlyDirectly = () => envelope(newRequestId(), routeNotFound)

export const runtimeRoutes = HttpApiBuilder.group(
  Api,
  "runtime",
  Effect.fn(function* (handlers) {
    const answers = yield* makeRuntimeAnswers
    return handlers
      .handleRaw("exchange", onlyDirectly)
      .handleRaw("heartbeat", ({ request }) => answers.heartbeat(fromRouter(request)))
      .handleRaw("endSession", ({ request, params }) => answers.endSession(fromRouter(request), params.id))
      .handleRaw("budgets", ({ request }) => answers.budgets(fromRouter(request)))
      .handleRaw("config", ({ request }) => answers.config(fromRouter(request)))
      .handleRaw("handshake", ({ request }) => answers.handshake(fromRouter(request)))
      .handleRaw("websearch", onlyDirectly)
      .handleRaw("embeddings", onlyDirectly)
      .handleRaw("rerank", onlyDirectly)
      .handleRaw("moderations", onlyDirectly)
      .handleRaw("images", onlyDirectly)
      .handleRaw("speech", onlyDirectly)
      .handleRaw("transcriptions", onlyDirectly)
      .handleRaw("videos", onlyDirectly)
      .handleRaw("video", ({ request, params }) => answers.video(fromRouter(request), params.id))
      .handleRaw("videoContent", ({ request, params }) => answers.videoContent(fromRouter(request), params.id))
      .handleRaw("cancelVideo", ({ request, params }) => answers.cancelVideo(fromRouter(request), params.id))
      .handleRaw("usage", ({ request }) => answers.usage(fromRouter(request)))
  }),
)

/** Handlers of the hot routes, for serving without a router. */
export const hotAnswers = Effect.map(
  Effect.all([makeRuntimeAnswers, CompatibleHandlers]),
  ([{ calls, heartbeat }, compatible]) => {
    const own = new Map(calls).set("/t1/heartbeat", replying(heartbeat))
    return (path: string, query: string): DirectHandler | undefined => own.get(path) ?? compatible(path, query)
  },
)
