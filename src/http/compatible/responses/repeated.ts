/** A request in the background that its client repeats: it gets the response that there is already, in its present state. */
import type { ServerResponse } from "node:http"
import { Clock, Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { payloadConflict } from "../../../admission/gate.ts"
import { WeirConfig } from "../../../config.ts"
import type { Caller } from "../../../identity/caller.ts"
import { BackgroundResponses } from "../../../kept-responses/background-responses.ts"
import { EventLog } from "../../../kept-responses/event-log.ts"
import { ownerOf } from "../../../kept-responses/kept-response.ts"
import { KeptResponses } from "../../../kept-responses/kept-responses.ts"
import { requestOfResponse } from "../../../kept-responses/response-id.ts"
import { sendResponse } from "../../node-connection.ts"
import type { CompatibleConnection } from "../connection.ts"
import { followLog } from "./background-connection.ts"
import type { Asked } from "./keeping.ts"
import { resumedEvents } from "./resumed-stream.ts"

interface Repeat {
  readonly caller: Caller
  readonly asked: Asked
  readonly client: CompatibleConnection
  readonly response: ServerResponse
  /** Whether the client follows it. */
  readonly isStreamed: boolean
  readonly stallMs: number
}

export const makeRepeated = Effect.gen(function* () {
  const kept = yield* KeptResponses
  const background = yield* BackgroundResponses
  const clock = yield* Clock.Clock
  const { idempotencyTtlS, streamHeartbeatMs } = yield* WeirConfig

  /** Answers with the response. @returns false if there is none */
  return Effect.fnUntraced(function* ({ caller, asked, client, response, isStreamed, stallMs }: Repeat) {
    const { org, keyId: key } = caller
    const owner = ownerOf(caller)
    const sinceMs = clock.currentTimeMillisUnsafe() - idempotencyTtlS * 1000
    const found = yield* kept.ofRequest(org, owner, { key, request: asked.requestId }, sinceMs)
    if (found === undefined) return false
    if (found.payloadHash !== asked.payloadHash) return yield* payloadConflict()
    if (isStreamed) {
      const log = new EventLog()
      followLog(log, client, stallMs)
      const events = resumedEvents({ kept, background }, org, owner, found.id, -1, streamHeartbeatMs)
      const written = Stream.runForEach(events, (text) => Effect.sync(() => log.add(text)))
      yield* Effect.raceFirst(Effect.interruptible(written), untilClosed(response))
      log.end()
      return true
    }
    const current = yield* kept.find(org, owner, found.id)
    if (current === undefined) return false
    const requestId = requestOfResponse(found.id)
    const headers = { "x-svc-request-id": requestId, "x-request-id": requestId, "x-svc-idempotent-replay": "1" }
    if (!response.destroyed) {
      sendResponse(HttpServerResponse.text(current.response, { contentType: "application/json", headers }), response)
    }
    return true
  })
})

const untilClosed = (response: ServerResponse) =>
  Effect.callback<void>((resume) => {
    response.once("close", () => resume(Effect.void))
  })
