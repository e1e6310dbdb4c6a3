/**
 * Cookies, not readable by scripts: the session of a person or of an operator, and the secrets of logins in progress.
 * RFC 6265bis.
 */

import { HttpServerResponse } from "effect/http"
import { browserTokenTtlS } from "../identity/access-jwts.ts"
import type { Request } from "./request.ts"

type Reply = HttpServerResponse.HttpServerResponse

const sessionCookie = "weir_session"

const cookieOptions = (origin: string) =>
  ({ httpOnly: true, sameSite: "lax", secure: origin.startsWith("https:") }) as const

/** @param origin the gateway's public address, which may have a path prefix: other services of its host get no cookies */
const prefixOf = (origin: string): string => URL.parse(origin)?.pathname.replace(/\/$/, "") ?? ""

const pathOf = (origin: string): string => prefixOf(origin) || "/"

/** Sets a session cookie that lasts as long as its token. */
export const withSession = (reply: Reply, browserToken: string, origin: string): Reply =>
  HttpServerResponse.setCookieUnsafe(reply, sessionCookie, browserToken, {
    ...cookieOptions(origin),
    path: pathOf(origin),
    maxAge: `${browserTokenTtlS} seconds`,
  })

export const withoutSession = (reply: Reply, origin: string): Reply =>
  HttpServerResponse.expireCookieUnsafe(reply, sessionCookie, { ...cookieOptions(origin), path: pathOf(origin) })

/** The access token in the session cookie. */
export const sessionOf = (request: Request): string | undefined => request.cookies[sessionCookie]

const operatorCookie = "weir_operator"

/** An operator's cookie is not sent with requests that begin at another site, not even with links. */
const operatorOptions = (origin: string) =>
  ({ ...cookieOptions(origin), sameSite: "strict", path: pathOf(origin) }) as const

export const withOperator = (reply: Reply, cookie: string, maxAgeMs: number, origin: string): Reply =>
  HttpServerResponse.setCookieUnsafe(reply, operatorCookie, cookie, { ...operatorOptions(origin), maxAge: maxAgeMs })

export const withoutOperator = (reply: Reply, origin: string): Reply =>
  HttpServerResponse.expireCookieUnsafe(reply, operatorCookie, operatorOptions(origin))

export const operatorCookieOf = (request: Request): string | undefined => request.cookies[operatorCookie]

/** The secret of a login at an identity provider, one cookie per login in progress. */
const flowCookie = (state: string) => `weir_sso_${state.slice(0, 12)}`
const flowPath = (origin: string) => `${prefixOf(origin)}/v1/auth/sso/callback`

export const withFlow = (reply: Reply, state: string, secret: string, ttlMs: number, origin: string): Reply =>
  HttpServerResponse.setCookieUnsafe(reply, flowCookie(state), secret, {
    ...cookieOptions(origin),
    path: flowPath(origin),
    maxAge: ttlMs,
  })

export const withoutFlow = (reply: Reply, state: string, origin: string): Reply =>
  HttpServerResponse.expireCookieUnsafe(reply, flowCookie(state), { ...cookieOptions(origin), path: flowPath(origin) })

export const flowOf = (request: Request, state: string): string | undefined => request.cookies[flowCookie(state)]
