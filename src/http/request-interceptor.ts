/** Intercepts requests before the router: to answer them, or to add headers. */
import type { RequestListener } from "node:http"
import { Effect, type Scope } from "effect"
import { eventsOf, type NodeServer } from "./listener.ts"

/** @param make receives the listener of the router and returns the listener that replaces it until the scope closes */
export const interceptRequests = (
  server: NodeServer,
  make: (next: RequestListener) => RequestListener,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        const emitter = eventsOf(server)
        const listeners = emitter.listeners("request")
        const listen = make((request, response) => {
          for (const listener of listeners) listener.call(server, request, response)
        })
        emitter.removeAllListeners("request")
        emitter.on("request", listen)
        return { emitter, listen }
      }),
      ({ emitter, listen }) => Effect.sync(() => emitter.off("request", listen)),
    ),
  )
