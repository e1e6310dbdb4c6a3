/** Routes for callers who are not authenticated yet, behind the strict rate limit: requests per minute and address. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { type AdmissionError, Gate } from "../admission/gate.ts"
import { WeirConfig } from "../config.ts"
import { accessTokenTtlS } from "../identity/access-jwts.ts"
import type { LoginTokens } from "../identity/logins.ts"
import type { TokenReply } from "../protocol/control/login.ts"
import type { ServiceError } from "../protocol/error.ts"
import { normalEmail } from "../protocol/values/text.ts"
import { makeCallerAddress, type Request } from "./request.ts"
import { type RouteError, respondJson } from "./respond.ts"

const windowMs = 60_000
const hourMs = 3_600_000
/** Codes that one source may have sent to one address in an hour. */
const maxHourAsked = 10

/** The requests of clients that an address has for each request of a person. */
const clientsPerAddress = 20

/** Maximum body of a login request. */
export const maxLoginBytes = 16 * 1024

export const makeAnonymousRoutes = Effect.gen(function* () {
  const gate = yield* Gate
  const { authPerMinute, trustedProxies } = yield* WeirConfig
  const callerAddress = makeCallerAddress(trustedProxies)

  const sourceOf = (request: Request): string => {
    const address = callerAddress(request)
    return address === undefined ? "unknown" : neighbourhood(address)
  }

  /** Counts the request against the limit of its address. */
  const admitAddress = (request: Request) => {
    const bucket = `address:${sourceOf(request)}`
    const rates = [{ bucket, limit: authPerMinute, windowMs }]
    return Effect.asVoid(gate.admit({ owner: "login", keyId: bucket, rates }))
  }

  /** Counts a request of a client's program, of which many may share an address. */
  const admitClient = (request: Request) => {
    const bucket = `clients:${sourceOf(request)}`
    const rates = [{ bucket, limit: authPerMinute * clientsPerAddress, windowMs }]
    return Effect.asVoid(gate.admit({ owner: "login", keyId: bucket, rates }))
  }

  /**
   * Whether a code may be sent to an address, counted by the caller's source: with a limit of the address alone, anybody
   * could use it up and lock its owner out.
   */
  const mayAskFor = (request: Request, email: string) => {
    const subject = createHash("sha256").update(normalEmail(email)).digest("hex")
    const rates = [{ bucket: `codes:${subject}:${sourceOf(request)}`, limit: maxHourAsked, windowMs: hourMs }]
    return gate.admit({ owner: "login", keyId: "codes", rates }).pipe(
      Effect.as(true),
      Effect.catchIf(isRateLimited, () => Effect.succeed(false)),
    )
  }

  /** Answers without authentication, within the strict rate limit. */
  const respondAnonymous = <A, R>(request: Request, answer: Effect.Effect<A, RouteError, R>, status?: number) =>
    respondJson(Effect.andThen(admitAddress(request), answer), status)

  return { admitAddress, admitClient, mayAskFor, respondAnonymous }
})

const isRateLimited = (error: AdmissionError): error is ServiceError<"rate_limited"> =>
  error._tag === "ServiceError" && error.code === "rate_limited"

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
