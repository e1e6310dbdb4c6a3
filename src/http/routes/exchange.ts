/** The runtime group: `POST /t1/exchange`, which starts an exchange and answers what comes of it, and the routes beside it. */
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { ByteQueue } from "../../exchange/byte-queue.ts"
import type { Reply } from "../../exchange/client-link.ts"
import { Exchanges } from "../../exchange/exchange.ts"
import { Api } from "../../protocol/api.ts"
import { type Authenticated, makeForCaller } from "../runtime.ts"
import { makeRuntime } from "./runtime.ts"

export const runtimeRoutes = HttpApiBuilder.group(
  Api,
  "runtime",
  Effect.fn(function* (handlers) {
    const exchanges = yield* Exchanges
    const { forCaller } = yield* makeForCaller
    const runtime = yield* makeRuntime

    const exchange = Effect.fnUntraced(function* ({ requestId, caller, body }: Authenticated) {
      const fiber = yield* Effect.fiber
      const link = yield* exchanges.start({ requestId, caller, body }, { cut: () => fiber.interruptUnsafe() })
      // The request's scope closes when the reply is out, or when the client is gone.
      yield* Effect.addFinalizer(() => Effect.sync(() => link.leave()))
      return toResponse(yield* link.reply, requestId)
    })

    return handlers
      .handleRaw("exchange", ({ request }) => forCaller(request, exchange))
      .handleRaw("heartbeat", ({ request }) => forCaller(request, runtime.heartbeat))
      .handleRaw("endSession", ({ request, params }) =>
        forCaller(request, (call) => runtime.endSession(call, params.id)),
      )
      .handleRaw("config", ({ request }) => forCaller(request, runtime.readConfig))
      .handleRaw("handshake", ({ request }) => forCaller(request, runtime.handshake))
      .handleRaw("websearch", ({ request }) => forCaller(request, runtime.search))
      .handleRaw("usage", ({ request }) => forCaller(request, runtime.reportUsage))
  }),
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
