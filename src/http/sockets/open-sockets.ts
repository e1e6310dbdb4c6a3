/**
 * The WebSockets that clients have open: their limit, their pings, and their end at shutdown. A drain asks each of them to
 * end; a socket ends when its running exchanges have ended.
 */
import { Context, Effect, Layer } from "effect"
import { Overload } from "../../admission/overload.ts"
import { runEvery } from "../../background.ts"
import { WeirConfig } from "../../config.ts"
import { type ServiceError, serviceError, shuttingDown } from "../../protocol/error.ts"
import { recordOpenSockets } from "../../telemetry/metrics.ts"
import { pingEveryMs } from "./client-socket.ts"

export type SocketKind = "exchanges" | "responses" | "realtime"

export interface OpenSocket {
  readonly kind: SocketKind
  /** Pings the client. */
  readonly ping: () => void
  /** Takes no new exchange, and ends when the running ones have ended. */
  readonly drain: () => void
  /** Ends now: running exchanges are settled. */
  readonly end: () => void
}

export class OpenSockets extends Context.Service<
  OpenSockets,
  {
    /** Whether one more may be opened. */
    readonly check: Effect.Effect<void, ServiceError<"rate_limited" | "internal_error">>
    /** @returns the function to call when it is closed */
    readonly add: (socket: OpenSocket) => () => void
    readonly isDraining: () => boolean
    /** Asks all to end, and waits for them; after the timeout, those that are left are ended. */
    readonly drain: Effect.Effect<void>
  }
>()("weir/sockets/OpenSockets") {
  static readonly layer = Layer.effect(
    OpenSockets,
    Effect.gen(function* () {
      const { socketsMax, drainTimeoutMs } = yield* WeirConfig
      const { maxConnections } = yield* Overload
      const context = yield* Effect.context<never>()
      const most = Math.min(socketsMax, Math.floor((maxConnections ?? Number.POSITIVE_INFINITY) * share))
      const open = new Set<OpenSocket>()
      let isDraining = false
      let emptied: (() => void) | undefined
      const whenEmpty = Effect.callback<void>((resume) => {
        if (open.size === 0) return resume(Effect.void)
        emptied = () => resume(Effect.void)
      })
      const counts = { exchanges: 0, responses: 0, realtime: 0 }
      const count = (kind: SocketKind, change: 1 | -1) => {
        counts[kind] += change
        recordOpenSockets(context, kind, counts[kind])
      }
      const ping = Effect.sync(() => {
        for (const socket of open) socket.ping()
      })
      yield* runEvery(pingEveryMs, "Pings to sockets", ping)
      const endAll = Effect.sync(() => {
        for (const socket of open) socket.end()
      })
      yield* Effect.addFinalizer(() => endAll)
      return OpenSockets.of({
        check: Effect.suspend((): Effect.Effect<void, ServiceError<"rate_limited" | "internal_error">> => {
          if (isDraining) return Effect.fail(shuttingDown())
          return open.size < most ? Effect.void : Effect.fail(tooMany())
        }),
        add: (socket) => {
          open.add(socket)
          count(socket.kind, 1)
          if (isDraining) socket.drain()
          return () => {
            if (!open.delete(socket)) return
            count(socket.kind, -1)
            if (open.size === 0) emptied?.()
          }
        },
        isDraining: () => isDraining,
        drain: Effect.suspend(() => {
          isDraining = true
          for (const socket of open) socket.drain()
          return Effect.timeoutOrElse(whenEmpty, { duration: drainTimeoutMs, orElse: () => endAll })
        }),
      })
    }),
  )
}

/** The share of the connections of clients that may be sockets: the rest is for requests. */
const share = 0.75

const tooMany = () =>
  serviceError("rate_limited", "The gateway has no room for another socket", {
    detail: { scope: "gateway" },
    retryAfterMs: 1000 + Math.random() * 2000,
  })
