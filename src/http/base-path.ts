/** `SVC_BASE_PATH`: everything is served below a prefix, for proxies that keep it; handlers see paths without it. */
import { Effect, type Scope } from "effect"
import type { NodeServer } from "./listener.ts"
import { interceptRequests } from "./request-interceptor.ts"
import { rewriteUrls } from "./rewrite-urls.ts"

/** A path outside the prefix does not exist. */
const outside = "/.outside"

/** Metadata of an address with a path: the well-known part is before the path. Sources: RFC 8414 section 3.1; RFC 9728 section 3.1. */
const insertedPattern =
  /^(\/\.well-known\/(?:oauth-authorization-server|openid-configuration|oauth-protected-resource))(\/.*)$/

/**
 * Must be installed after the other interceptors, and after the listener that answers upgrades.
 * @param basePath e.g. `/genai/gw`
 */
export const serveBelow = (node: NodeServer, basePath: string): Effect.Effect<void, never, Scope.Scope> => {
  const withoutPrefix = (url: string) => {
    if (url.startsWith(`${basePath}/`)) return url.slice(basePath.length)
    const [, wellKnown = "", path = ""] = insertedPattern.exec(url) ?? []
    const isOurs = path === basePath || path.startsWith(`${basePath}/`) || path.startsWith(`${basePath}?`)
    return isOurs ? `${wellKnown}${path.slice(basePath.length)}` : outside
  }
  const redirectBase = interceptRequests(node, (next) => (request, response) => {
    const [path, query] = (request.url ?? "").split("?", 2)
    // Pages name each other relative to a folder, which ends with a slash.
    if (path !== basePath) return next(request, response)
    response.writeHead(308, { location: `${basePath}/${query === undefined ? "" : `?${query}`}` }).end()
  })
  return Effect.andThen(rewriteUrls(node, withoutPrefix), redirectBase)
}
