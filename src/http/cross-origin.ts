/**
 * CORS for the runtime routes (`SVC_CORS_ORIGINS`). These routes do not accept cookies, so credentials are not allowed.
 * Source: Fetch Standard, "HTTP-CORS protocol".
 */
import type { IncomingMessage } from "node:http"
import { Effect, type Scope } from "effect"
import { apiBelow } from "./compatible/reply.ts"
import type { NodeServer } from "./listener.ts"
import { interceptRequests } from "./request-interceptor.ts"

/** Request headers that are not allowed by default. */
const allowedHeaders = [
  "authorization",
  "content-type",
  "if-none-match",
  "x-svc-app-token",
  "x-svc-client-features",
  "x-svc-key",
  "x-svc-key-id",
  "x-svc-nonce",
  "x-svc-sign",
  "x-svc-ts",
  "traceparent",
]
const exposedHeaders = [
  // Uploads of Google's SDK.
  "x-goog-upload-url",
  "x-goog-upload-status",
  "x-goog-upload-size-received",
  "etag",
  "mcp-session-id",
  "www-authenticate",
  "request-id",
  "retry-after",
  "retry-after-ms",
  "x-request-id",
  "x-should-retry",
  "x-svc-balance",
  "x-svc-cache",
  "x-svc-cost",
  "x-svc-currency",
  "x-svc-idempotent-replay",
  "x-svc-request-id",
  "x-svc-warning",
  "x-svc-warnings",
]
const optionsHeaders = {
  "access-control-allow-methods": "GET, POST, DELETE",
  // Seconds for which a browser may cache the reply to OPTIONS.
  "access-control-max-age": "7200",
}

const isRuntime = (path: string): boolean =>
  path.startsWith("/t1/") ||
  path === "/mcp" ||
  path.startsWith("/mcp/") ||
  clientPaths.test(path) ||
  apiBelow(path) !== undefined

/** Paths of the authorization server that clients in browsers call themselves. */
const clientPaths = /^\/(oauth\/(token|register|revoke)$|\.well-known\/(oauth-|openid-configuration))/

/** SDKs of other APIs send many headers of their own: below their bases, all headers that a browser asks for are allowed. */
const allowedFor = ({ url = "", headers }: IncomingMessage): string => {
  const asked = headers["access-control-request-headers"]
  return url.startsWith("/t1/") || asked === undefined ? allowedHeaders.join(", ") : asked
}

/** Answers OPTIONS requests and adds CORS headers to replies of runtime routes, until the scope closes. */
export const admitOrigins = (
  server: NodeServer,
  origins: ReadonlyArray<string>,
): Effect.Effect<void, never, Scope.Scope> => {
  if (origins.length === 0) return Effect.void
  const admits = (origin: string) => origins.includes("*") || origins.includes(origin)
  return interceptRequests(server, (next) => (request, response) => {
    const { origin } = request.headers
    if (origin !== undefined && admits(origin) && isRuntime(request.url ?? "")) {
      response.setHeader("access-control-allow-origin", origin)
      response.setHeader("access-control-expose-headers", exposedHeaders.join(", "))
      response.setHeader("vary", "Origin")
      if (request.method === "OPTIONS") {
        response.writeHead(204, { ...optionsHeaders, "access-control-allow-headers": allowedFor(request) }).end()
        return
      }
    }
    next(request, response)
  })
}
