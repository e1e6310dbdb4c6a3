/**
 * The internal details of this process: metrics, the reference page, the state of its stores. Open in development; elsewhere
 * for the admin key, as `x-svc-admin-key`, for an operator who has signed in to the console, or for a scraper's token
 * (`SVC_METRICS_TOKEN`). Key and token may also be a bearer token, or the password of HTTP's basic authentication, as
 * browsers and Prometheus send it.
 */
import { Effect, Redacted } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { newRequestId } from "../calls/calls.ts"
import { isDevelopment, WeirConfig } from "../config.ts"
import { AdminKey, hasDigest } from "../identity/admin.ts"
import { OperatorSessions } from "../identity/operator-sessions.ts"
import { serviceError } from "../protocol/error.ts"
import { sha256 } from "../secrets.ts"
import { followVariable } from "../watched-files.ts"
import { operatorCookieOf } from "./browser-cookies.ts"
import { originOf } from "./request.ts"
import { envelope } from "./respond.ts"

/** Whether a request may see details. */
export type Access = (request: HttpServerRequest.HttpServerRequest) => Effect.Effect<boolean>

/** Access on a port that only the operator's network reaches. */
export const openAccess: Access = () => Effect.succeed(true)

/** Access on the port of clients. */
export const makeAccess = Effect.gen(function* () {
  const config = yield* WeirConfig
  if (config.openDetails ?? isDevelopment(config)) return openAccess
  const adminKey = yield* AdminKey
  const token = yield* followVariable(
    "SVC_METRICS_TOKEN",
    config.metricsToken === undefined ? undefined : Redacted.value(config.metricsToken),
  )
  const isSecret = (given: string | undefined) => {
    const scraper = token()
    return scraper !== undefined && hasDigest(given, sha256(scraper).toString("hex"))
      ? Effect.succeed(true)
      : Effect.isSuccess(adminKey.check(given))
  }
  const sessions = yield* OperatorSessions
  const access: Access = (request) => {
    const secret = request.headers["x-svc-admin-key"] ?? secretOf(request.headers["authorization"])
    const cookie = operatorCookieOf(request, originOf(config, request))
    return secret === undefined && cookie !== undefined ? Effect.isSuccess(sessions.check(cookie)) : isSecret(secret)
  }
  return access
})

/** Answers callers with access; from others, browsers ask for a password. */
export const guarded = <E, R>(access: Access, page: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.gen(function* () {
    if (yield* access(yield* HttpServerRequest.HttpServerRequest)) return yield* page
    const reply = yield* envelope(newRequestId(), refusal)
    return HttpServerResponse.setHeader(reply, "www-authenticate", 'Basic realm="Weir"')
  })

const refusal = serviceError(
  "admin_key_invalid",
  "The admin key, or the token of SVC_METRICS_TOKEN, is required; or ask the port of SVC_METRICS_PORT",
)

/** RFC 6750 section 2.1; RFC 7617: the user's name is ignored. */
const secretOf = (authorization: string | undefined): string | undefined => {
  const [, scheme = "", value = ""] = /^(bearer|basic) +(\S+)$/i.exec(authorization ?? "") ?? []
  if (scheme.toLowerCase() === "bearer") return value
  const text = Buffer.from(value, "base64").toString("utf8")
  return text.includes(":") ? text.slice(text.indexOf(":") + 1) : undefined
}
