/** `POST /t1/exchange`: authenticate, start the exchange, answer what comes of it. */
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { WeirConfig } from "../../config.ts"
import type { ByteQueue } from "../../exchange/byte-queue.ts"
import type { Reply } from "../../exchange/client-link.ts"
import { Exchanges, newRequestId } from "../../exchange/exchange.ts"
import { Callers } from "../../identity/callers.ts"
import { Api } from "../../protocol/api.ts"
import { makeCallerAddress, readBody } from "../request.ts"
import { respond } from "../respond.ts"

export const runtimeRoutes = HttpApiBuilder.group(
  Api,
  "runtime",
  Effect.fn(function* (handlers) {
    const config = yield* WeirConfig
    const callers = yield* Callers
    const exchanges = yield* Exchanges
    const callerAddress = makeCallerAddress(config.trustedProxies)

    const exchange = Effect.fnUntraced(function* (request: Parameters<typeof readBody>[0], requestId: string) {
      const body = yield* readBody(request, config.bodyMaxBytes)
      const caller = yield* callers.authenticate({
        headers: request.headers,
        address: callerAddress(request),
        method: request.method,
        target: request.url,
        body,
      })
      const fiber = yield* Effect.fiber
      const link = yield* exchanges.start({ requestId, caller, body }, { cut: () => fiber.interruptUnsafe() })
      // The request's scope closes when the reply is out, or when the client is gone.
      yield* Effect.addFinalizer(() => Effect.sync(() => link.leave()))
      return toResponse(yield* link.reply, requestId)
    })

    return handlers.handleRaw("exchange", ({ request }) => {
      const requestId = newRequestId()
      return respond(requestId, exchange(request, requestId))
    })
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
