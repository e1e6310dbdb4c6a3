/** `SVC_BASE_PATH`: everything is served below a prefix, for proxies that keep it; handlers see paths without it. */
import { Effect, type Scope } from "effect"
import type { NodeServer } from "./listener.ts"
import { interceptRequests } from "./request-interceptor.ts"
import { rewriteUrls } from "./rewrite-urls.ts"

/** A path outside the prefix does not exist. */
const outside = "/.outside"

/**
 * Must be installed after the other interceptors, and after the listener that answers upgrades.
 * @param basePath e.g. `/genai/gw`
 */
export const serveBelow = (node: NodeServer, basePath: string): Effect.Effect<void, never, Scope.Scope> => {
  const withoutPrefix = (url: string) => (url.startsWith(`${basePath}/`) ? url.slice(basePath.length) : outside)
  const redirectBase = interceptRequests(node, (next) => (request, response) => {
    const [path, query] = (request.url ?? "").split("?", 2)
    // Pages name each other relative to a folder, which ends with a slash.
    if (path !== basePath) return next(request, response)
    response.writeHead(308, { location: `${basePath}/${query === undefined ? "" : `?${query}`}` }).end()
  })
  return Effect.andThen(rewriteUrls(node, withoutPrefix), redirectBase)
}
