/** The runtime group: `POST /t1/exchange` and the routes beside it. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Overload } from "../../admission/overload.ts"
import { messagesApi } from "../../dialects/anthropic/client.ts"
import type { ClientApi, ClientRequest } from "../../dialects/client-api.ts"
import { chatApi } from "../../dialects/openai-chat/client.ts"
import { responsesApi } from "../../dialects/openai-responses/client.ts"
import { decodeExchange } from "../../exchange/decode.ts"
import { Exchanges, newRequestId } from "../../exchange/exchanges.ts"
import { Api } from "../../protocol/api.ts"
import { toServiceError } from "../../store/unavailable.ts"
import { logCause } from "../../telemetry/logs.ts"
import { CompatibleConnection } from "../compatible/connection.ts"
import { withCredential } from "../compatible/credential.ts"
import { readCompatible } from "../compatible/request.ts"
import { type DirectHandler, replying } from "../hot-routes.ts"
import { NodeConnection } from "../node-connection.ts"
import { envelope, routeNotFound } from "../respond.ts"
import { fromRouter, makeForCaller, type RuntimeRequest, recordStatus } from "../runtime.ts"
import { makeRuntime } from "./runtime.ts"

/** The handler of each runtime route. */
export const makeRuntimeAnswers = Effect.gen(function* () {
  const exchanges = yield* Exchanges
  const { forCaller, identify, traced } = yield* makeForCaller
  const runtime = yield* makeRuntime
  const overload = yield* Overload

  const search = (request: RuntimeRequest) =>
    Effect.matchEffect(overload.check(exchanges.open()), {
      onSuccess: () => forCaller(request, runtime.search),
      onFailure: (error) => envelope(newRequestId(), error),
    })

  /** Refuses under overload before the body is read. */
  const exchange: DirectHandler = (request, response) => {
    const requestId = newRequestId()
    const connection = new NodeConnection(response, requestId)
    const run = Effect.andThen(overload.check(exchanges.open()), identify(request, requestId)).pipe(
      Effect.matchEffect({
        onSuccess: ({ caller, body }) =>
          exchanges.run({ requestId, caller, decode: () => decodeExchange(body) }, connection),
        onFailure: (error) =>
          Effect.andThen(
            logCause(toServiceError(error), requestId),
            Effect.sync(() => connection.refuse(error)),
          ),
      }),
      Effect.tap(() => recordStatus(response.statusCode)),
    )
    return traced(request, requestId)(run)
  }

  /** An exchange in the words of another API. */
  const compatible =
    (api: ClientApi): DirectHandler =>
    (request, response) => {
      const requestId = newRequestId()
      const asCaller = withCredential(request)
      const context = { requestId, model: "", createdS: Math.floor(Date.now() / 1000), includesUsage: false }
      const run = Effect.andThen(overload.check(exchanges.open()), identify(asCaller, requestId)).pipe(
        Effect.matchEffect({
          onSuccess: ({ caller, body }) => {
            const { sent, decoded } = readCompatible(api, request, body, caller)
            const known = sent === undefined ? context : { ...context, ...pickContext(sent) }
            const connection = new CompatibleConnection(response, api, known, sent?.omittedTools)
            return exchanges.run({ requestId, caller, decode: () => decoded }, connection)
          },
          onFailure: (error) =>
            Effect.andThen(
              logCause(toServiceError(error), requestId),
              Effect.sync(() => {
                new CompatibleConnection(response, api, context).refuse(error)
              }),
            ),
        }),
        Effect.tap(() => recordStatus(response.statusCode)),
      )
      return traced(request, requestId)(run)
    }

  return {
    exchange,
    compatible,
    search,
    heartbeat: (request: RuntimeRequest) => forCaller(request, runtime.heartbeat),
    endSession: (request: RuntimeRequest, id: string) => forCaller(request, (call) => runtime.endSession(call, id)),
    config: (request: RuntimeRequest) => forCaller(request, runtime.readConfig),
    handshake: (request: RuntimeRequest) => forCaller(request, runtime.handshake),
    usage: (request: RuntimeRequest) => forCaller(request, runtime.reportUsage),
  }
})

const pickContext = ({ model, includesUsage, groups }: ClientRequest) => ({
  model,
  includesUsage,
  ...(groups !== undefined && { groups }),
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
      .handleRaw("config", ({ request }) => answers.config(fromRouter(request)))
      .handleRaw("handshake", ({ request }) => answers.handshake(fromRouter(request)))
      .handleRaw("websearch", ({ request }) => answers.search(fromRouter(request)))
      .handleRaw("usage", ({ request }) => answers.usage(fromRouter(request)))
  }),
)

/** Handlers of the hot routes by path, for serving without a router. */
export const hotAnswers = Effect.map(
  makeRuntimeAnswers,
  ({ exchange, heartbeat, search, compatible }): ReadonlyMap<string, DirectHandler> =>
    new Map<string, DirectHandler>([
      ["/openai/v1/chat/completions", compatible(chatApi)],
      ["/openai/v1/responses", compatible(responsesApi)],
      ["/anthropic/v1/messages", compatible(messagesApi)],
      ["/t1/exchange", exchange],
      ["/t1/heartbeat", replying(heartbeat)],
      ["/t1/websearch", replying(search)],
    ]),
)
