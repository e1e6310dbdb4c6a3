/**
 * Requests that act with a browser's cookies are accepted from our own pages only.
 * Source: OWASP CSRF Prevention Cheat Sheet (verifying origin, custom request headers).
 */

import { Effect } from "effect"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { keepPlace } from "./connection-limit.ts"
import type { Request } from "./request.ts"
import type { RouteError } from "./respond.ts"

/** Scripts of other origins cannot send this header without asking first, and are not allowed to. */
const consoleHeader = "x-svc-console"

/**
 * Whether one of our own pages sent a form or a request that changes something. Browsers send its origin, and pages
 * cannot forge it. Compares hosts only, because a proxy may terminate TLS.
 */
export const isSameOrigin = ({ headers }: Request, origin: string): boolean => {
  const from = headers["origin"]
  if (from === undefined) return headers["sec-fetch-site"] === "same-origin"
  const host = URL.parse(from)?.host
  return host !== undefined && host === URL.parse(origin)?.host
}

/**
 * Requires that a request with a cookie comes from the console: a read not from another site; a change certainly from the
 * console.
 */
export const requireSameOrigin = (request: Request, origin: string): Effect.Effect<void, ServiceError<"forbidden">> => {
  const { headers, method } = request
  const isReading = method === "GET" || method === "HEAD"
  const site = headers["sec-fetch-site"] ?? "none"
  const isOwn = isReading
    ? site === "same-origin" || site === "none"
    : headers[consoleHeader] !== undefined && headers["origin"] !== undefined && isSameOrigin(request, origin)
  return isOwn ? Effect.void : Effect.fail(notOwn)
}

/**
 * Checks the credential of a request: a header, or else a cookie, with which only our own pages may act. The connection of a
 * known caller is kept.
 */
export const checkCredential = <A, E extends RouteError>(
  request: Request,
  origin: string,
  cookie: string | undefined,
  { header, ofHeader, ofCookie }: Credentials<A, E>,
): Effect.Effect<A, E | ServiceError<"forbidden">> => {
  const known: Effect.Effect<A, E | ServiceError<"forbidden">> =
    header !== undefined || cookie === undefined
      ? ofHeader(header)
      : Effect.andThen(requireSameOrigin(request, origin), ofCookie(cookie))
  return Effect.tap(known, () => Effect.sync(() => keepPlace(request.source)))
}

interface Credentials<A, E> {
  readonly header: string | undefined
  readonly ofHeader: (header: string | undefined) => Effect.Effect<A, E>
  readonly ofCookie: (cookie: string) => Effect.Effect<A, E>
}

const notOwn = serviceError("forbidden", "The request was not sent by a page of this site")
