/** The runtime group: `POST /t1/exchange` and the routes beside it. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Overload } from "../../admission/overload.ts"
import { decodeExchange } from "../../exchange/decode.ts"
import { Exchanges, newRequestId } from "../../exchange/exchanges.ts"
import { Api } from "../../protocol/api.ts"
import { makeCompatibleHandlers } from "../compatible/exchange.ts"
import { makeExchangeRunner } from "../exchange-runner.ts"
import { type DirectHandler, replying } from "../hot-routes.ts"
import { NodeConnection } from "../node-connection.ts"
import { envelope, routeNotFound } from "../respond.ts"
import { fromRouter, makeForCaller, type RuntimeRequest } from "../runtime.ts"
import { makeRuntime } from "./runtime.ts"

/** The handler of each runtime route. */
export const makeRuntimeAnswers = Effect.gen(function* () {
  const exchanges = yield* Exchanges
  const { forCaller } = yield* makeForCaller
  const runExchange = yield* makeExchangeRunner
  const runtime = yield* makeRuntime
  const overload = yield* Overload

  const search = (request: RuntimeRequest) =>
    Effect.matchEffect(overload.check(exchanges.open()), {
      onSuccess: () => forCaller(request, runtime.search),
      onFailure: (error) => envelope(newRequestId(), error),
    })

  const exchange: DirectHandler = (request, response) => {
    const requestId = newRequestId()
    const connection = new NodeConnection(response, requestId)
    return runExchange(request, requestId, {
      read: ({ body }) => ({ decoded: decodeExchange(body), connection }),
      refusedAt: () => connection,
      status: () => response.statusCode,
    })
  }

  return {
    exchange,
    search,
    heartbeat: (request: RuntimeRequest) => forCaller(request, runtime.heartbeat),
    endSession: (request: RuntimeRequest, id: string) => forCaller(request, (call) => runtime.endSession(call, id)),
    budgets: (request: RuntimeRequest) => forCaller(request, runtime.readBudgets),
    config: (request: RuntimeRequest) => forCaller(request, runtime.readConfig),
    handshake: (request: RuntimeRequest) => forCaller(request, runtime.handshake),
    usage: (request: RuntimeRequest) => forCaller(request, runtime.reportUsage),
  }
})

/** Exchanges are answered before the router sees them, under their exact path. */
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
      .handleRaw("websearch", ({ request }) => answers.search(fromRouter(request)))
      .handleRaw("usage", ({ request }) => answers.usage(fromRouter(request)))
  }),
)

/** Handlers of the hot routes, for serving without a router. */
export const hotAnswers = Effect.map(
  Effect.all([makeRuntimeAnswers, makeCompatibleHandlers]),
  ([{ exchange, heartbeat, search }, compatible]) => {
    const own = new Map<string, DirectHandler>([
      ["/t1/exchange", exchange],
      ["/t1/heartbeat", replying(heartbeat)],
      ["/t1/websearch", replying(search)],
    ])
    return (path: string, query: string): DirectHandler | undefined => own.get(path) ?? compatible(path, query)
  },
)
