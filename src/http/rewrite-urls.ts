/** Gives requests another address before their handlers see it, those for upgrades included. */
import type { IncomingMessage } from "node:http"
import type { Effect, Scope } from "effect"
import { eventsOf, type NodeServer } from "./listener.ts"
import { interceptRequests } from "./request-interceptor.ts"

/** The addresses as clients sent them, of requests that have another one now. */
const sent = new WeakMap<object, string>()

/** The address that a client's signature covers. */
export const sentUrl = ({ source, url }: { readonly source: object; readonly url: string }): string =>
  sent.get(source) ?? url

/**
 * Must be installed after the interceptors that see the new address, and after the listener that answers upgrades.
 * @param keepsSent whether signatures cover the address before
 */
export const rewriteUrls = (
  node: NodeServer,
  rewrite: (url: string) => string,
  keepsSent = false,
): Effect.Effect<void, never, Scope.Scope> => {
  // An upgrade is seen twice.
  const seen = new WeakSet<object>()
  const enter = (request: Pick<IncomingMessage, "url">): void => {
    if (seen.has(request)) return
    seen.add(request)
    const url = originForm(request.url ?? "")
    request.url = rewrite(url)
    if (keepsSent && request.url !== url) sent.set(request, url)
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

/**
 * A target in absolute form, as proxies send it, is reduced to its path: the host that it names is ignored. Source: RFC 9112,
 * 3.2.2.
 */
export const originForm = (target: string): string => {
  if (target.startsWith("/")) return target
  const path = target.replace(/^https?:\/\/[^/?#]*/i, "")
  return path === target || path.startsWith("/") ? path : `/${path}`
}
