/**
 * Answering people who have yet to show who they are, within the strict tier: so many calls a minute from one address.
 * Source: interface.md "Errors" (rate_limited).
 */
import { Effect } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { Gate } from "../admission/gate.ts"
import { WeirConfig } from "../config.ts"
import { accessTokenTtlS } from "../identity/access-jwts.ts"
import type { LoginTokens } from "../identity/logins.ts"
import type { TokenReply } from "../protocol/login.ts"
import type { Request } from "./operator.ts"
import { makeCallerAddress } from "./request.ts"
import { type RouteError, respondJson } from "./respond.ts"

const windowMs = 60_000

/** Nobody logs in with more than this. */
export const maxLoginBytes = 16 * 1024

export const makeForAnybody = Effect.gen(function* () {
  const gate = yield* Gate
  const { authPerMinute, trustedProxies } = yield* WeirConfig
  const callerAddress = makeCallerAddress(trustedProxies)

  /** Counts the request's address. */
  const admitAddress = (request: Request) => {
    const address = callerAddress(request)
    const bucket = `address:${address === undefined ? "unknown" : neighbourhood(address)}`
    const rates = [{ bucket, limit: authPerMinute, windowMs }]
    return Effect.asVoid(gate.admit({ owner: "login", keyId: bucket, rates }))
  }

  /** Answers anybody, as often as the strict tier lets the address ask. */
  const forAnybody = <A, R>(request: Request, answer: Effect.Effect<A, RouteError, R>, status?: number) =>
    respondJson(Effect.andThen(admitAddress(request), answer), status)

  return { admitAddress, forAnybody }
})

/** An address of IPv4; of IPv6 its /64, all of which one person has. */
const neighbourhood = (address: NetAddress.IpAddress): string =>
  String(NetAddress.isIpv6Address(address) ? IpNetwork.fromAddressUnsafe(address, 64) : address)

/** What every way of logging in ends with. */
export const tokenReply = ({ accessToken, refreshToken, account }: LoginTokens): TokenReply => ({
  accessToken,
  tokenType: "Bearer",
  expiresIn: accessTokenTtlS,
  refreshToken,
  user: { id: account.id, email: account.email },
})
