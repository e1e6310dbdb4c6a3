/** Node's request and response of requests that reach the router, for answers that are written directly. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Effect, Scope } from "effect"
import type { NodeServer } from "../listener.ts"
import { interceptRequests } from "../request-interceptor.ts"

interface Routed {
  readonly message: IncomingMessage
  readonly response: ServerResponse
}

const routed = new WeakMap<object, Routed>()

/** @param source of a request of the router */
export const routedOf = (source: object): Routed | undefined => routed.get(source)

/** Must be installed before all other interceptors: it needs the requests that they leave to the router. */
export const keepRouted = (node: NodeServer): Effect.Effect<void, never, Scope.Scope> =>
  interceptRequests(node, (next) => (message, response) => {
    routed.set(message, { message, response })
    next(message, response)
  })
