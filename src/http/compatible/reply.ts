/** Replies of compatible routes beside exchanges: errors have the API's own shape. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { newRequestId } from "../../calls/calls.ts"
import { messagesApi } from "../../dialects/anthropic/client.ts"
import { bedrockErrors } from "../../dialects/bedrock/client-errors.ts"
import type { ErrorWords } from "../../dialects/client/whole-client.ts"
import { cohereErrors } from "../../dialects/cohere/whole-client.ts"
import { generateApi } from "../../dialects/gemini/client.ts"
import { chatApi } from "../../dialects/openai-chat/client.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { toServiceError } from "../../store/unavailable.ts"
import { logCause } from "../../telemetry/logs.ts"
import { type Authenticated, makeForCaller, type RuntimeRequest, recordStatus } from "../caller-request.ts"
import type { Room } from "../large/room.ts"
import { envelope, type RouteError, respond } from "../respond.ts"
import { withCredential } from "./credential.ts"
import { errorReply } from "./error-reply.ts"

/** The APIs by their bases; unknown paths below a base are answered in its API's shape. */
const bases: ReadonlyArray<readonly [base: string, api: ErrorWords]> = [
  ["/openai", chatApi],
  ["/anthropic", messagesApi],
  ["/gemini", generateApi],
  ["/cohere", cohereErrors],
  ["/azure", chatApi],
  ["/vertex", generateApi],
  ["/bedrock", bedrockErrors],
]

/** The API below whose base a path is. */
export const apiBelow = (path: string): ErrorWords | undefined =>
  bases.find(([base]) => path.startsWith(`${base}/`))?.[1]

/** The failure of a request that no route answers, in the shape of the API below whose base it is. */
export const failureAt = (url: string): typeof envelope => {
  const api = apiBelow(url)
  return api === undefined ? envelope : failureIn(api)
}

type Answer<R> = (call: Authenticated) => Effect.Effect<HttpServerResponse.HttpServerResponse, RouteError, R>

export const failureIn =
  (api: ErrorWords) =>
  (requestId: string, failure: RouteError): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
    const error = toServiceError(failure)
    const { status, headers, body } = errorReply(api, error, requestId)
    const reply = HttpServerResponse.text(body, { status, headers: { ...headers, ...idHeaders(api, requestId) } })
    return Effect.as(logCause(error, requestId), reply)
  }

export const makeAnswerIn = Effect.map(
  makeForCaller,
  ({ identify, traced }) =>
    <R = never>(
      api: ErrorWords,
      request: RuntimeRequest,
      answer: Answer<R>,
      maxBytes?: number,
      takeRoom?: Effect.Effect<Room | undefined, ServiceError<"rate_limited">, R>,
    ): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> => {
      const requestId = newRequestId()
      const answered = Effect.flatMap(identify(withCredential(request), requestId, maxBytes, takeRoom), answer)
      const marked = Effect.map(answered, HttpServerResponse.setHeaders(idHeaders(api, requestId)))
      const recorded = Effect.tap(respond(requestId, marked, failureIn(api)), ({ status }) => recordStatus(status))
      return traced(request, requestId)(recorded)
    },
)

export const idHeaders = (api: ErrorWords, requestId: string) => ({
  "x-svc-request-id": requestId,
  [api.requestIdHeader]: requestId,
})
