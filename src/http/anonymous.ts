/**
 * Routes for callers who are not authenticated yet, behind the strict rate limit: requests per minute and address.
 * Source: interface.md "Errors" (rate_limited).
 */
import { Effect } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { Gate } from "../admission/gate.ts"
import { WeirConfig } from "../config.ts"
import { accessTokenTtlS } from "../identity/access-jwts.ts"
import type { LoginTokens } from "../identity/logins.ts"
import type { TokenReply } from "../protocol/login.ts"
import { makeCallerAddress, type Request } from "./request.ts"
import { type RouteError, respondJson } from "./respond.ts"

const windowMs = 60_000

/** Maximum body of a login request. */
export const maxLoginBytes = 16 * 1024

export const makeAnonymousRoutes = Effect.gen(function* () {
  const gate = yield* Gate
  const { authPerMinute, trustedProxies } = yield* WeirConfig
  const callerAddress = makeCallerAddress(trustedProxies)

  /** Counts the request against the limit of its address. */
  const admitAddress = (request: Request) => {
    const address = callerAddress(request)
    const bucket = `address:${address === undefined ? "unknown" : neighbourhood(address)}`
    const rates = [{ bucket, limit: authPerMinute, windowMs }]
    return Effect.asVoid(gate.admit({ owner: "login", keyId: bucket, rates }))
  }

  /** Answers without authentication, within the strict rate limit. */
  const respondAnonymous = <A, R>(request: Request, answer: Effect.Effect<A, RouteError, R>, status?: number) =>
    respondJson(Effect.andThen(admitAddress(request), answer), status)

  return { admitAddress, respondAnonymous }
})

/** The address for IPv4; the /64 network for IPv6, because one customer usually has all of it. */
const neighbourhood = (address: NetAddress.IpAddress): string =>
  String(NetAddress.isIpv6Address(address) ? IpNetwork.fromAddressUnsafe(address, 64) : address)

/** The reply of every login method. */
export const tokenReply = ({ accessToken, refreshToken, account }: LoginTokens): TokenReply => ({
  accessToken,
  tokenType: "Bearer",
  expiresIn: accessTokenTtlS,
  refreshToken,
  user: { id: account.id, email: account.email },
})
