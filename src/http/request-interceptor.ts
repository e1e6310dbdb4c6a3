/** Intercepts requests before the router: to answer them, or to add headers. */
import type { RequestListener, Server } from "node:http"
import { Effect, type Scope } from "effect"

/** @param make receives the listener of the router and returns the listener that replaces it until the scope closes */
export const interceptRequests = (
  server: Server,
  make: (next: RequestListener) => RequestListener,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        const listeners = server.listeners("request")
        const listen = make((request, response) => {
          for (const listener of listeners) listener.call(server, request, response)
        })
        server.removeAllListeners("request")
        server.on("request", listen)
        return listen
      }),
      (listen) => Effect.sync(() => server.off("request", listen)),
    ),
  )
