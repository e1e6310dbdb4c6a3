/** How runtime routes answer: the body is read once, because signatures cover its bytes, then the caller is known. */
import { Effect } from "effect"
import type { HttpServerResponse } from "effect/http"
import { WeirConfig } from "../config.ts"
import { newRequestId } from "../exchange/exchange.ts"
import type { Caller } from "../identity/caller.ts"
import { type CallerRequest, Callers } from "../identity/callers.ts"
import type { Request } from "./operator.ts"
import { makeCallerAddress, readBody } from "./request.ts"
import { type RouteError, respond } from "./respond.ts"

/** An authenticated request. */
export interface Authenticated<C extends Caller = Caller> {
  readonly requestId: string
  readonly caller: C
  readonly body: Uint8Array
  readonly request: Request
}

type Answer<C extends Caller, R> = (
  call: Authenticated<C>,
) => Effect.Effect<HttpServerResponse.HttpServerResponse, RouteError, R>

export const makeForCaller = Effect.gen(function* () {
  const config = yield* WeirConfig
  const callers = yield* Callers
  const callerAddress = makeCallerAddress(config.trustedProxies)

  const answerAs =
    <C extends Caller>(authenticate: (request: CallerRequest) => Effect.Effect<C, RouteError>) =>
    <R>(request: Request, answer: Answer<C, R>) => {
      const requestId = newRequestId()
      const answered = Effect.gen(function* () {
        const body = yield* readBody(request, config.bodyMaxBytes)
        const { headers, method, url: target } = request
        const caller = yield* authenticate({ headers, address: callerAddress(request), method, target, body })
        return yield* answer({ requestId, caller, body, request })
      })
      return respond(requestId, answered)
    }
  return { forCaller: answerAs(callers.authenticate), forApplication: answerAs(callers.application) }
})
