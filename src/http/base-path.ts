/** `SVC_BASE_PATH`: everything is served below a prefix, for proxies that keep it; handlers see paths without it. */
import type { IncomingMessage } from "node:http"
import type { Effect, Scope } from "effect"
import { eventsOf, type NodeServer } from "./listener.ts"
import { interceptRequests } from "./request-interceptor.ts"

/** A path outside the prefix does not exist. */
const outside = "/.outside"

/**
 * Must be installed after the other interceptors, and after the listener that answers upgrades.
 * @param basePath e.g. `/genai/gw`
 */
export const serveBelow = (node: NodeServer, basePath: string): Effect.Effect<void, never, Scope.Scope> => {
  const seen = new WeakSet<object>()
  const withoutPrefix = (request: Pick<IncomingMessage, "url">): void => {
    if (seen.has(request)) return
    seen.add(request)
    const { url = "" } = request
    request.url = isBelow(url, basePath) ? url.slice(basePath.length) : outside
  }
  if ("shouldUpgradeCallback" in node && typeof node.shouldUpgradeCallback === "function") {
    const { shouldUpgradeCallback } = node
    Object.assign(node, {
      shouldUpgradeCallback: (request: IncomingMessage) => {
        withoutPrefix(request)
        return Boolean(shouldUpgradeCallback(request))
      },
    })
  }
  eventsOf(node).prependListener("upgrade", withoutPrefix)
  return interceptRequests(node, (next) => (request, response) => {
    const [path, query] = (request.url ?? "").split("?", 2)
    // Pages name each other relative to a folder, which ends with a slash.
    if (path === basePath) {
      response.writeHead(308, { location: `${basePath}/${query === undefined ? "" : `?${query}`}` }).end()
      return
    }
    withoutPrefix(request)
    next(request, response)
  })
}

const isBelow = (url: string, basePath: string): boolean => url.startsWith(`${basePath}/`)
