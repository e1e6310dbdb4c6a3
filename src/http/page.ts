/**
 * HTML replies with a strict content security policy, and forms that are accepted from our own pages only.
 * Source: OWASP CSRF Prevention Cheat Sheet (verifying origin), CSP Level 3.
 */
import { Effect, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { newRequestId } from "../calls/calls.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { decodeText } from "../protocol/json/json-body.ts"
import { toServiceError } from "../store/unavailable.ts"
import { logCause } from "../telemetry/logs.ts"
import { maxLoginBytes } from "./anonymous.ts"
import { failurePage } from "./pages/failure.ts"
import { contentSecurityPolicy, document, type Page } from "./pages/layout.ts"
import { type Request, readContent } from "./request.ts"
import { errorHead, type RouteError, respond } from "./respond.ts"
import { isSameOrigin } from "./same-origin.ts"

type Reply = HttpServerResponse.HttpServerResponse

/** Headers of every page. */
export const pageHeaders = {
  "content-security-policy": contentSecurityPolicy,
  "cache-control": "no-store",
  // `no-referrer` would remove the origin from our own forms.
  "referrer-policy": "same-origin",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
}

/** The gateway's own address, relative to a request's: it is right also below a path prefix that a proxy removes. */
export const rootOf = ({ url }: Request): string => {
  const [path = ""] = url.split("?", 1)
  const depth = path.split("/").length - 2
  return depth <= 0 ? "./" : "../".repeat(depth)
}

/** A page; its links and forms, which begin with `/`, become relative. */
export const pageReply = (request: Request, page: Page, status = 200): Reply => {
  const text = document(page).replaceAll(/ (action|href)="\/(?!\/)/g, ` $1="${rootOf(request)}`)
  return HttpServerResponse.text(text, { status, contentType: "text/html; charset=utf-8", headers: pageHeaders })
}

/**
 * Redirects to another page with 303, or to the next step of a flow with 302.
 * @param location another site's, or a path of the gateway
 */
export const goTo = (request: Request, location: string, status: 302 | 303 = 303): Reply =>
  HttpServerResponse.redirect(location.startsWith("/") ? rootOf(request) + location.slice(1) : location, {
    status,
    headers: { "cache-control": "no-store" },
  })

/** Answers with a page; failures are pages too. */
export const respondPage = <R>(
  request: Request,
  answer: Effect.Effect<Reply, RouteError, R>,
): Effect.Effect<Reply, never, R> => respond(newRequestId(), answer, failureReply(request))

/** The error page. */
export const failureReply =
  (request: Request) =>
  (requestId: string, failure: RouteError): Effect.Effect<Reply> => {
    const error = toServiceError(failure)
    const { status, headers } = errorHead(error, requestId)
    const page = pageReply(request, failurePage(error.message, error.code, requestId), status)
    return Effect.as(logCause(error, requestId), HttpServerResponse.setHeaders(page, headers))
  }

/** Whether the client is a browser. */
export const wantsPage = (request: Request): boolean => (request.headers["accept"] ?? "").includes("text/html")

/** Decodes a form that one of our own pages has sent; other origins are refused. */
export const readForm = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  request: Request,
  origin: string,
): Effect.Effect<S["Type"], ServiceError<"forbidden" | "bad_request" | "payload_too_large">> =>
  Effect.gen(function* () {
    if (!isSameOrigin(request, origin))
      return yield* serviceError("forbidden", "The form was not sent by a page of this site")
    const fields = new URLSearchParams(yield* Effect.fromResult(decodeText(yield* readContent(request, maxLoginBytes))))
    return yield* Effect.mapError(decodeFields(schema, Object.fromEntries(fields)), () =>
      serviceError("bad_request", "The form is incomplete or invalid"),
    )
  })

const decodeFields = <S extends Schema.ConstraintDecoder<unknown>>(schema: S, fields: unknown) =>
  Effect.fromResult(Schema.decodeUnknownResult(schema, { onExcessProperty: "error" })(fields))
