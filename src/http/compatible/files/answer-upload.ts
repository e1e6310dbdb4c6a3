/** Answers a request whose body is read as it arrives, in the shape of an API. */
import { Effect, type Scope } from "effect"
import { HttpServerResponse } from "effect/http"
import { Overload } from "../../../admission/overload.ts"
import { Calls, newRequestId } from "../../../calls/calls.ts"
import type { ErrorWords } from "../../../dialects/client/whole-client.ts"
import { makeForCaller, recordStatus, type UploadRequest } from "../../caller-request.ts"
import { type DirectHandler, replying } from "../../hot-routes.ts"
import { type RouteError, respond } from "../../respond.ts"
import { failureIn, idHeaders } from "../reply.ts"

type Answer = (request: UploadRequest) => Effect.Effect<HttpServerResponse.HttpServerResponse, RouteError, Scope.Scope>

/** Nothing is read under overload. */
export const makeAnswerUpload = Effect.gen(function* () {
  const calls = yield* Calls
  const overload = yield* Overload
  const { traced } = yield* makeForCaller

  return (api: ErrorWords, answer: Answer): DirectHandler =>
    replying((request) => {
      const requestId = newRequestId()
      const answered = Effect.andThen(
        Effect.suspend(() => overload.check(calls.open())),
        answer(request),
      ).pipe(Effect.map(HttpServerResponse.setHeaders(idHeaders(api, requestId))), Effect.scoped)
      const recorded = Effect.tap(respond(requestId, answered, failureIn(api)), ({ status }) => recordStatus(status))
      return traced(request, requestId)(recorded)
    })
})
