/** A session as effects: it sends heartbeats until its scope closes. */
import { Effect, type Scope, type Stream } from "effect"
import type { Bundle } from "../../protocol/control/bundle.ts"
import { type Ask, makeCalls } from "../calls.ts"
import type { WeirError } from "../errors.ts"
import type { StreamedEvent } from "../exchange-stream.ts"
import type { WeirOptions } from "../options.ts"
import type { Reply } from "../reply.ts"
import { Session, type SessionOptions } from "../session.ts"
import { fromCall } from "./promises.ts"
import { fromEvents } from "./streams.ts"

export interface SessionShape {
  /** The session's id, once it is open. */
  readonly id: Effect.Effect<string, WeirError>
  /** The latest known configuration. */
  readonly config: Effect.Effect<Bundle | undefined, WeirError>
  readonly exchange: (ask: Ask) => Effect.Effect<Reply, WeirError>
  readonly stream: (ask: Ask) => Stream.Stream<StreamedEvent, WeirError>
}

/** Opens a session at its first use and ends it with the scope. */
export const makeSession = (
  options: WeirOptions,
  sessionOptions?: SessionOptions,
): Effect.Effect<SessionShape, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new Session(makeCalls(options), sessionOptions)),
      (session) => Effect.promise(() => session.close()),
    ),
    (session) => ({
      id: fromCall((call) => session.id(call)),
      config: fromCall(() => session.config()),
      exchange: (ask) => fromCall((call) => session.exchange(ask, call)),
      stream: (ask) => fromEvents(`model ${ask.model}`, (call) => session.stream(ask, call)),
    }),
  )
