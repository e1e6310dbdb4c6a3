/**
 * Cookies, not readable by scripts: the session of a person or of an operator, and the secrets of logins in progress.
 * Where the gateway's address is HTTPS, browsers accept them from it alone: not from a host beside it, nor over HTTP.
 * Source: RFC 6265bis section 4.1.3 (`__Host-`, `__Secure-`).
 */

import { HttpServerResponse } from "effect/http"
import { browserTokenTtlS } from "../identity/access-jwts.ts"
import type { Request } from "./request.ts"

type Reply = HttpServerResponse.HttpServerResponse

const isSecure = (origin: string): boolean => origin.startsWith("https:")

const cookieOptions = (origin: string) => ({ httpOnly: true, sameSite: "lax", secure: isSecure(origin) }) as const

/** @param origin the gateway's public address, which may have a path prefix: other services of its host get no cookies */
const prefixOf = (origin: string): string => URL.parse(origin)?.pathname.replace(/\/$/, "") ?? ""

const pathOf = (origin: string): string => prefixOf(origin) || "/"

/**
 * The name of a cookie that only this host can have set. A `__Host-` cookie is for all paths; below a path prefix it is a
 * `__Secure-` one. Source: RFC 6265bis, section 4.1.3.
 */
const hostCookie = (name: string, origin: string): string => {
  if (!isSecure(origin)) return name
  return `${pathOf(origin) === "/" ? "__Host" : "__Secure"}-${name}`
}

const sessionCookie = (origin: string) => hostCookie("weir_session", origin)

/** Sets a session cookie that lasts as long as its token. */
export const withSession = (reply: Reply, browserToken: string, origin: string): Reply =>
  HttpServerResponse.setCookieUnsafe(reply, sessionCookie(origin), browserToken, {
    ...cookieOptions(origin),
    path: pathOf(origin),
    maxAge: `${browserTokenTtlS} seconds`,
  })

export const withoutSession = (reply: Reply, origin: string): Reply =>
  HttpServerResponse.expireCookieUnsafe(reply, sessionCookie(origin), {
    ...cookieOptions(origin),
    path: pathOf(origin),
  })

/** The access token in the session cookie. */
export const sessionOf = (request: Request, origin: string): string | undefined =>
  request.cookies[sessionCookie(origin)]

const operatorCookie = (origin: string) => hostCookie("weir_operator", origin)

/** An operator's cookie is not sent with requests that begin at another site, not even with links. */
const operatorOptions = (origin: string) =>
  ({ ...cookieOptions(origin), sameSite: "strict", path: pathOf(origin) }) as const

export const withOperator = (reply: Reply, cookie: string, maxAgeMs: number, origin: string): Reply =>
  HttpServerResponse.setCookieUnsafe(reply, operatorCookie(origin), cookie, {
    ...operatorOptions(origin),
    maxAge: maxAgeMs,
  })

export const withoutOperator = (reply: Reply, origin: string): Reply =>
  HttpServerResponse.expireCookieUnsafe(reply, operatorCookie(origin), operatorOptions(origin))

export const operatorCookieOf = (request: Request, origin: string): string | undefined =>
  request.cookies[operatorCookie(origin)]

/** The secret of a login at an identity provider, one cookie per login in progress; sent to its callback only. */
const flowCookie = (state: string, origin: string) =>
  `${isSecure(origin) ? "__Secure-" : ""}weir_sso_${state.slice(0, 12)}`
const flowPath = (origin: string) => `${prefixOf(origin)}/v1/auth/sso/callback`

export const withFlow = (reply: Reply, state: string, secret: string, ttlMs: number, origin: string): Reply =>
  HttpServerResponse.setCookieUnsafe(reply, flowCookie(state, origin), secret, {
    ...cookieOptions(origin),
    path: flowPath(origin),
    maxAge: ttlMs,
  })

export const withoutFlow = (reply: Reply, state: string, origin: string): Reply =>
  HttpServerResponse.expireCookieUnsafe(reply, flowCookie(state, origin), {
    ...cookieOptions(origin),
    path: flowPath(origin),
  })

export const flowOf = (request: Request, state: string, origin: string): string | undefined =>
  request.cookies[flowCookie(state, origin)]
