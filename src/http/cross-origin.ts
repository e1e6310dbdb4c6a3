/**
 * Browsers that call the runtime from pages of other origins (`SVC_CORS_ORIGINS`). No cookie opens these routes, so none is
 * asked for. Source: Fetch Standard, "HTTP-CORS protocol".
 */
import type { Server } from "node:http"
import { Effect, type Scope } from "effect"
import { standAhead } from "./ahead.ts"

/** Beyond what a page may send and read anyway. */
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
const exposedHeaders = ["etag", "retry-after", "x-svc-idempotent-replay", "x-svc-request-id"]
const preflightHeaders = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers": allowedHeaders.join(", "),
  // Seconds for which a browser need not ask again.
  "access-control-max-age": "7200",
}

/** Answers preflights and marks replies of `/t1`, ahead of whatever listens to the server already, until the scope closes. */
export const admitOrigins = (
  server: Server,
  origins: ReadonlyArray<string>,
): Effect.Effect<void, never, Scope.Scope> => {
  if (origins.length === 0) return Effect.void
  const admits = (origin: string) => origins.includes("*") || origins.includes(origin)
  return standAhead(server, (behind) => (request, response) => {
    const { origin } = request.headers
    if (origin !== undefined && admits(origin) && (request.url ?? "").startsWith("/t1/")) {
      response.setHeader("access-control-allow-origin", origin)
      response.setHeader("access-control-expose-headers", exposedHeaders.join(", "))
      response.setHeader("vary", "Origin")
      if (request.method === "OPTIONS") return void response.writeHead(204, preflightHeaders).end()
    }
    behind(request, response)
  })
}
