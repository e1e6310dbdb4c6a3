/** A realtime session (`GET /openai/v1/realtime`): OpenAI's events in both directions, as objects. */
import { Cause, Effect, Queue, type Scope, Stream } from "effect"
import { type WeirError, type WeirUnreachable, WeirUnreadable } from "./errors.ts"
import { ended, openSocket } from "./open-socket.ts"
import type { SocketLike } from "./socket-like.ts"
import type { WeirOptions } from "./transport.ts"

/** An event of OpenAI's Realtime API. */
export interface RealtimeEvent {
  readonly type: string
  readonly [key: string]: unknown
}

export interface RealtimeShape {
  readonly send: (event: RealtimeEvent) => Effect.Effect<void>
  /** Ends with the session; fails if it broke off. An event of the type `error` does not end it. */
  readonly events: Stream.Stream<RealtimeEvent, WeirError>
}

/** Opens a session with a model of the kind `realtime`; it is closed with the scope. */
export const makeRealtime = (
  options: WeirOptions,
  model: string,
): Effect.Effect<RealtimeShape, WeirUnreachable, Scope.Scope> =>
  Effect.gen(function* () {
    const events = yield* Queue.unbounded<RealtimeEvent, WeirError | Cause.Done>()
    const listen = (socket: SocketLike) => {
      socket.addEventListener("message", ({ data }) => {
        const event = typeof data === "string" ? read(data) : undefined
        if (event !== undefined) Queue.offerUnsafe(events, event)
        else Queue.failCauseUnsafe(events, Cause.fail(noEvent()))
      })
      socket.addEventListener("close", (event) => {
        if (event.code === 1000) Queue.endUnsafe(events)
        else Queue.failCauseUnsafe(events, Cause.fail(ended(event)))
      })
    }
    const target = `/openai/v1/realtime?model=${encodeURIComponent(model)}`
    const opening = { target, protocol: "realtime", tokenPrefix: "openai-insecure-api-key." }
    const socket = yield* openSocket(options, opening, listen)
    return {
      send: (event) => Effect.sync(() => socket.send(JSON.stringify(event))),
      events: Stream.fromQueue(events),
    }
  })

const noEvent = () => new WeirUnreadable({ message: "The gateway sent a message that is no event", status: 101 })

const read = (text: string): RealtimeEvent | undefined => {
  try {
    const event: unknown = JSON.parse(text)
    return isEvent(event) ? event : undefined
  } catch {
    return undefined
  }
}

const isEvent = (event: unknown): event is RealtimeEvent =>
  typeof event === "object" && event !== null && "type" in event && typeof event.type === "string"
