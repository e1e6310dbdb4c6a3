/** What a browser keeps for us, where no script reads it: a session of minutes, and the secrets of logins under way. RFC 6265bis. */
import { HttpServerResponse } from "effect/http"
import { accessTokenTtlS } from "../identity/access-jwts.ts"
import type { LoginTokens } from "../identity/logins.ts"
import type { Request } from "./operator.ts"

type Reply = HttpServerResponse.HttpServerResponse

const sessionCookie = "weir_session"

const cookieOptions = (origin: string) =>
  ({ httpOnly: true, sameSite: "lax", secure: origin.startsWith("https:") }) as const

/** Keeps a browser logged in for as long as an access token lasts. */
export const withSession = (reply: Reply, { accessToken }: Pick<LoginTokens, "accessToken">, origin: string): Reply =>
  HttpServerResponse.setCookieUnsafe(reply, sessionCookie, accessToken, {
    ...cookieOptions(origin),
    path: "/",
    maxAge: `${accessTokenTtlS} seconds`,
  })

export const withoutSession = (reply: Reply, origin: string): Reply =>
  HttpServerResponse.expireCookieUnsafe(reply, sessionCookie, { ...cookieOptions(origin), path: "/" })

/** The access token of a browser that is logged in. */
export const sessionOf = (request: Request): string | undefined => request.cookies[sessionCookie]

/** A secret that a browser keeps while it is away at an identity provider; one for each login that is under way. */
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
