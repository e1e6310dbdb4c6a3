/** The runtime group: `POST /t1/exchange` and the routes beside it. */
import { Effect, Scope, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Overload } from "../../admission/overload.ts"
import type { ByteQueue } from "../../exchange/byte-queue.ts"
import type { Reply } from "../../exchange/client-link.ts"
import { Exchanges, newRequestId } from "../../exchange/exchange.ts"
import { Api } from "../../protocol/api.ts"
import type { DirectHandler } from "../hot-routes.ts"
import { envelope } from "../respond.ts"
import { type Authenticated, fromRouter, makeForCaller, type RuntimeRequest } from "../runtime.ts"
import { makeRuntime } from "./runtime.ts"

/** The handler of each runtime route. */
export const makeRuntimeAnswers = Effect.gen(function* () {
  const exchanges = yield* Exchanges
  const { forCaller } = yield* makeForCaller
  const runtime = yield* makeRuntime
  const overload = yield* Overload

  /** Refuses calls under overload before their body is read. */
  const unlessOverloaded =
    (answer: DirectHandler): DirectHandler =>
    (request) =>
      Effect.matchEffect(overload.check(exchanges.open()), {
        onSuccess: () => answer(request),
        onFailure: (error) => envelope(newRequestId(), error),
      })

  const exchange = Effect.fnUntraced(function* ({ requestId, caller, body }: Authenticated) {
    const fiber = yield* Effect.fiber
    const scope = yield* Effect.scope
    const link = yield* exchanges.start({ requestId, caller, body }, { cut: () => fiber.interruptUnsafe() })
    // The request's scope closes when the reply is sent or the client disconnects.
    yield* Scope.addFinalizer(
      scope,
      Effect.sync(() => link.leave()),
    )
    return toResponse(yield* link.reply, requestId)
  })

  return {
    exchange: unlessOverloaded((request) => forCaller(request, exchange)),
    heartbeat: (request: RuntimeRequest) => forCaller(request, runtime.heartbeat),
    endSession: (request: RuntimeRequest, id: string) => forCaller(request, (call) => runtime.endSession(call, id)),
    config: (request: RuntimeRequest) => forCaller(request, runtime.readConfig),
    handshake: (request: RuntimeRequest) => forCaller(request, runtime.handshake),
    websearch: unlessOverloaded((request) => forCaller(request, runtime.search)),
    usage: (request: RuntimeRequest) => forCaller(request, runtime.reportUsage),
  }
})

export const runtimeRoutes = HttpApiBuilder.group(
  Api,
  "runtime",
  Effect.fn(function* (handlers) {
    const answers = yield* makeRuntimeAnswers
    return handlers
      .handleRaw("exchange", ({ request }) => answers.exchange(fromRouter(request)))
      .handleRaw("heartbeat", ({ request }) => answers.heartbeat(fromRouter(request)))
      .handleRaw("endSession", ({ request, params }) => answers.endSession(fromRouter(request), params.id))
      .handleRaw("config", ({ request }) => answers.config(fromRouter(request)))
      .handleRaw("handshake", ({ request }) => answers.handshake(fromRouter(request)))
      .handleRaw("websearch", ({ request }) => answers.websearch(fromRouter(request)))
      .handleRaw("usage", ({ request }) => answers.usage(fromRouter(request)))
  }),
)

/** Handlers of the hot routes by path, for serving without a router. */
export const hotAnswers = Effect.map(
  makeRuntimeAnswers,
  ({ exchange, heartbeat, websearch }): ReadonlyMap<string, DirectHandler> =>
    new Map<string, DirectHandler>([
      ["/t1/exchange", exchange],
      ["/t1/heartbeat", heartbeat],
      ["/t1/websearch", websearch],
    ]),
)

const toResponse = (reply: Reply, requestId: string): HttpServerResponse.HttpServerResponse =>
  reply._tag === "Json"
    ? HttpServerResponse.text(reply.body, {
        status: reply.status,
        headers: { "x-svc-request-id": requestId, ...reply.headers },
        contentType: "application/json",
      })
    : HttpServerResponse.stream(eventStream(reply.events), {
        headers: { "x-svc-request-id": requestId, "cache-control": "no-store", "x-accel-buffering": "no" },
        contentType: "text/event-stream",
      })

const eventStream = (events: ByteQueue): Stream.Stream<Uint8Array> => Stream.fromPull(Effect.succeed(events.take))
