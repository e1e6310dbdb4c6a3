/**
 * Cookies of the login pages, not readable by scripts: a short session, and the secrets of logins in progress. RFC
 * 6265bis.
 */
import { HttpServerResponse } from "effect/http"
import { accessTokenTtlS } from "../identity/access-jwts.ts"
import type { LoginTokens } from "../identity/logins.ts"
import type { Request } from "./operator.ts"

type Reply = HttpServerResponse.HttpServerResponse

const sessionCookie = "weir_session"

const cookieOptions = (origin: string) =>
  ({ httpOnly: true, sameSite: "lax", secure: origin.startsWith("https:") }) as const

/** Sets a session cookie that lasts as long as the access token. */
export const withSession = (reply: Reply, { accessToken }: Pick<LoginTokens, "accessToken">, origin: string): Reply =>
  HttpServerResponse.setCookieUnsafe(reply, sessionCookie, accessToken, {
    ...cookieOptions(origin),
    path: "/",
    maxAge: `${accessTokenTtlS} seconds`,
  })

export const withoutSession = (reply: Reply, origin: string): Reply =>
  HttpServerResponse.expireCookieUnsafe(reply, sessionCookie, { ...cookieOptions(origin), path: "/" })

/** The access token in the session cookie. */
export const sessionOf = (request: Request): string | undefined => request.cookies[sessionCookie]

/** The secret of a login at an identity provider, one cookie per login in progress. */
const flowCookie = (state: string) => `weir_sso_${state.slice(0, 12)}`
const flowPath = "/v1/auth/sso/callback"

export const withFlow = (reply: Reply, state: string, secret: string, ttlMs: number, origin: string): Reply =>
  HttpServerResponse.setCookieUnsafe(reply, flowCookie(state), secret, {
    ...cookieOptions(origin),
    path: flowPath,
    maxAge: ttlMs,
  })

export const withoutFlow = (reply: Reply, state: string, origin: string): Reply =>
  HttpServerResponse.expireCookieUnsafe(reply, flowCookie(state), { ...cookieOptions(origin), path: flowPath })

export const flowOf = (request: Request, state: string): string | undefined => request.cookies[flowCookie(state)]
