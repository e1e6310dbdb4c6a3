/** Gives requests another address before their handlers see it, those for upgrades included. */
import type { IncomingMessage } from "node:http"
import type { Effect, Scope } from "effect"
import { eventsOf, type NodeServer } from "./listener.ts"
import { interceptRequests } from "./request-interceptor.ts"

/** Must be installed after the interceptors that see the new address, and after the listener that answers upgrades. */
export const rewriteUrls = (
  node: NodeServer,
  rewrite: (url: string) => string,
): Effect.Effect<void, never, Scope.Scope> => {
  // An upgrade is seen twice.
  const seen = new WeakSet<object>()
  const enter = (request: Pick<IncomingMessage, "url">): void => {
    if (seen.has(request)) return
    seen.add(request)
    request.url = rewrite(request.url ?? "")
  }
  if ("shouldUpgradeCallback" in node && typeof node.shouldUpgradeCallback === "function") {
    const { shouldUpgradeCallback } = node
    Object.assign(node, {
      shouldUpgradeCallback: (request: IncomingMessage) => {
        enter(request)
        return Boolean(shouldUpgradeCallback(request))
      },
    })
  }
  eventsOf(node).prependListener("upgrade", enter)
  return interceptRequests(node, (next) => (request, response) => {
    enter(request)
    next(request, response)
  })
}
