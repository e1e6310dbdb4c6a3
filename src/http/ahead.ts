/** Standing ahead of whatever listens to a server already: for what must be answered, or marked, before any router looks. */
import type { RequestListener, Server } from "node:http"
import { Effect, type Scope } from "effect"

/** @param make is given what stands behind, and gives what stands ahead of it, until the scope closes */
export const standAhead = (
  server: Server,
  make: (behind: RequestListener) => RequestListener,
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
