/**
 * A session that maintains itself: it sends heartbeats, fetches the configuration when its own is stale, and opens a
 * new session when it was archived.
 */
import { Effect, Ref, type Scope, Semaphore, Stream } from "effect"
import type { Bundle } from "../protocol/control/bundle.ts"
import type { ExchangeResponse } from "../protocol/exchange.ts"
import { newUlid } from "../protocol/values/ulid.ts"
import type { Ask, WeirClientShape } from "./client.ts"
import type { WeirError } from "./errors.ts"
import type { StreamedEvent } from "./exchange-stream.ts"

export interface SessionOptions {
  /**
   * Milliseconds between heartbeats; 60,000 if absent. Keep it well below the plan's window (see the handshake's
   * limits).
   */
  readonly heartbeatMs?: number
  /** Called with the configuration: first when the session opens, then after each change. */
  readonly onConfig?: (config: Bundle) => void
  /** Called when a heartbeat fails; the next one is sent regardless. */
  readonly onTrouble?: (error: WeirError) => void
}

export interface Session {
  /** The session's id, once it is open. */
  readonly id: Effect.Effect<string, WeirError>
  /** The latest known configuration. */
  readonly config: Effect.Effect<Bundle | undefined>
  readonly exchange: (ask: Ask) => Effect.Effect<ExchangeResponse, WeirError>
  readonly stream: (ask: Ask) => Stream.Stream<StreamedEvent, WeirError>
}

interface Known {
  readonly id: string | undefined
  readonly config: Bundle | undefined
}

/** Opens a session at its first use and ends it with the scope. */
export const makeSession = (
  client: WeirClientShape,
  { heartbeatMs = 60_000, onConfig, onTrouble }: SessionOptions = {},
): Effect.Effect<Session, never, Scope.Scope> =>
  Effect.gen(function* () {
    const known = yield* Ref.make<Known>({ id: undefined, config: undefined })
    const oneAtATime = Semaphore.withPermit(yield* Semaphore.make(1))
    const setId = (id: string | undefined) => Ref.update(known, (now) => ({ ...now, id }))

    const refresh = Effect.gen(function* () {
      const { config } = yield* Ref.get(known)
      const fetched = yield* client.config(config?.configVersion)
      if (fetched === undefined) return
      yield* Ref.update(known, (now) => ({ ...now, config: fetched }))
      yield* notify(() => onConfig?.(fetched))
    })

    /** The client creates the id, so that a heartbeat without a reply can be repeated. */
    const beat = Effect.fnUntraced(function* (sessionId: string) {
      const { config } = yield* Ref.get(known)
      const configVersion = config === undefined ? {} : { configVersion: config.configVersion }
      const reply = yield* client.heartbeat({ sessionId, ...configVersion })
      if (config === undefined || reply.configStale) yield* refresh
    })

    const id = oneAtATime(
      Effect.gen(function* () {
        const { id } = yield* Ref.get(known)
        if (id !== undefined) return id
        const fresh = newUlid(Date.now())
        yield* beat(fresh)
        yield* setId(fresh)
        return fresh
      }),
    )

    /** The session has ended: the next call opens another one. */
    const forget = (dead: string) => Ref.update(known, (now) => (now.id === dead ? { ...now, id: undefined } : now))

    const keepAlive = Effect.gen(function* () {
      const { id } = yield* Ref.get(known)
      if (id === undefined) return
      yield* Effect.catch(beat(id), (error) =>
        Effect.andThen(
          notify(() => onTrouble?.(error)),
          isOver(error) ? forget(id) : Effect.void,
        ),
      )
    }).pipe(Effect.delay(heartbeatMs), Effect.forever)

    const within = (ask: Ask, sessionId: string): Ask => ({ ...ask, meta: { ...ask.meta, sessionId } })

    yield* Effect.forkScoped(keepAlive)
    yield* Effect.addFinalizer(() =>
      Effect.flatMap(Ref.get(known), ({ id }) =>
        id === undefined ? Effect.void : Effect.ignore(Effect.timeout(client.endSession(id), endingMs)),
      ),
    )

    /** The id of the session that replaces an ended one. */
    const reopen = (dead: string) => Effect.andThen(forget(dead), id)

    const exchange = (ask: Ask) =>
      Effect.flatMap(id, (sessionId) =>
        Effect.catch(client.exchange(within(ask, sessionId)), (error) =>
          isOver(error)
            ? Effect.flatMap(reopen(sessionId), (next) => client.exchange(within(ask, next)))
            : Effect.fail(error),
        ),
      )

    const stream = (ask: Ask) =>
      Stream.unwrap(
        Effect.map(id, (sessionId) =>
          Stream.catch(client.stream(within(ask, sessionId)), (error) =>
            isOver(error)
              ? Stream.unwrap(Effect.map(reopen(sessionId), (next) => client.stream(within(ask, next))))
              : Stream.fail(error),
          ),
        ),
      )

    return { id, exchange, stream, config: Effect.map(Ref.get(known), ({ config }) => config) }
  })

/** A listener that throws does not end the heartbeats. */
const notify = (listener: () => void): Effect.Effect<void> =>
  Effect.catchDefect(Effect.sync(listener), (defect) => Effect.logError("A listener of a session threw", defect))

/** The time that ending the session may take. */
const endingMs = 2000

const isOver = (error: WeirError): boolean => error._tag === "WeirRefused" && error.code === "session_archived"
