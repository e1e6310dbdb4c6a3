/** Sockets as effects: exchanges over one connection, and realtime sessions. Each is closed with its scope. */
import { Effect, type Scope, type Stream } from "effect"
import type { Ask } from "../calls.ts"
import type { WeirError } from "../errors.ts"
import { openExchangeSocket } from "../exchange-socket.ts"
import type { StreamedEvent } from "../exchange-stream.ts"
import type { WeirOptions } from "../options.ts"
import { openRealtime, type RealtimeEvent } from "../realtime.ts"
import type { Reply } from "../reply.ts"
import { fromCall } from "./promises.ts"
import { fromEvents, fromItems } from "./streams.ts"

export interface ExchangeSocketShape {
  /** Creates an exchange and returns the whole reply. */
  readonly exchange: (ask: Ask) => Effect.Effect<Reply, WeirError>
  /** Creates a streamed exchange. Interrupting ends it at the vendor too; what was received until then is billed. */
  readonly stream: (ask: Ask) => Stream.Stream<StreamedEvent, WeirError>
}

/** Opens a socket for many exchanges. It does not reconnect. */
export const makeExchangeSocket = (options: WeirOptions): Effect.Effect<ExchangeSocketShape, WeirError, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      fromCall((call) => openExchangeSocket(options, call)),
      (socket) => Effect.sync(() => socket.close()),
    ),
    (socket) => ({
      exchange: (ask) => fromCall((call) => socket.exchange(ask, call)),
      stream: (ask) => fromEvents(`model ${ask.model}`, (call) => socket.stream(ask, call)),
    }),
  )

export interface RealtimeShape {
  readonly send: (event: RealtimeEvent) => Effect.Effect<void>
  /** Ends with the session; fails if it broke off. An event of the type `error` does not end it. */
  readonly events: Stream.Stream<RealtimeEvent, WeirError>
}

/** Opens a session with a model of the kind `realtime`. */
export const makeRealtime = (
  options: WeirOptions,
  model: string,
): Effect.Effect<RealtimeShape, WeirError, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      fromCall((call) => openRealtime(options, model, call)),
      (session) => Effect.sync(() => session.close()),
    ),
    ({ send, next }) => ({
      send: (event) => Effect.sync(() => send(event)),
      events: fromItems(async function* () {
        for (let event = await next(); event !== undefined; event = await next()) yield event
      }),
    }),
  )
