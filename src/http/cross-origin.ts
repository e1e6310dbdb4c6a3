/**
 * CORS for the runtime routes (`SVC_CORS_ORIGINS`). These routes do not accept cookies, so credentials are not allowed.
 * Source: Fetch Standard, "HTTP-CORS protocol".
 */
import type { Server } from "node:http"
import { Effect, type Scope } from "effect"
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
const exposedHeaders = ["etag", "retry-after", "x-svc-idempotent-replay", "x-svc-request-id"]
const optionsHeaders = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers": allowedHeaders.join(", "),
  // Seconds for which a browser may cache the reply to OPTIONS.
  "access-control-max-age": "7200",
}

/** Answers OPTIONS requests and adds CORS headers to replies of `/t1`, until the scope closes. */
export const admitOrigins = (
  server: Server,
  origins: ReadonlyArray<string>,
): Effect.Effect<void, never, Scope.Scope> => {
  if (origins.length === 0) return Effect.void
  const admits = (origin: string) => origins.includes("*") || origins.includes(origin)
  return interceptRequests(server, (next) => (request, response) => {
    const { origin } = request.headers
    if (origin !== undefined && admits(origin) && (request.url ?? "").startsWith("/t1/")) {
      response.setHeader("access-control-allow-origin", origin)
      response.setHeader("access-control-expose-headers", exposedHeaders.join(", "))
      response.setHeader("vary", "Origin")
      if (request.method === "OPTIONS") return void response.writeHead(204, optionsHeaders).end()
    }
    next(request, response)
  })
}
