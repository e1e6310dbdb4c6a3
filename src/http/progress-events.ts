/** Long work as server-sent events: its progress, then its result or its error. */
import { Cause, Effect, Queue, Stream } from "effect"
import { Sse } from "effect/encoding"
import { HttpServerResponse } from "effect/http"
import { newRequestId } from "../calls/calls.ts"
import { errorBody } from "../protocol/error.ts"
import { toServiceError } from "../store/unavailable.ts"
import { logCause } from "../telemetry/logs.ts"
import { failureOf, type RouteError } from "./respond.ts"

/**
 * Answers with events `progress`, and one `result` or `error` at the end. A caller that leaves stops the work.
 * @param work the work, which gets the function that reports its progress
 */
export const progressEvents = <P, A>(
  work: (tell: (progress: P) => void) => Effect.Effect<A, RouteError>,
): HttpServerResponse.HttpServerResponse => {
  const requestId = newRequestId()
  const events = Stream.callback<string>((queue) => {
    const send = (event: string, data: unknown) => {
      Queue.offerUnsafe(queue, Sse.encoder.write({ _tag: "Event", id: undefined, event, data: JSON.stringify(data) }))
    }
    return work((progress) => send("progress", progress)).pipe(
      Effect.map((result) => send("result", result)),
      Effect.catchCause((cause) => {
        if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
        const error = toServiceError(failureOf(cause))
        send("error", errorBody(error, requestId))
        return logCause(error, requestId)
      }),
      Effect.andThen(Queue.end(queue)),
    )
  })
  return HttpServerResponse.stream(Stream.encodeText(events), {
    contentType: "text/event-stream",
    headers: { "x-svc-request-id": requestId, "cache-control": "no-store" },
  })
}
