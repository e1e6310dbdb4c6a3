/**
 * End-user tokens: short-lived JWTs that a back end mints with its application key for one of its end users. Signed with
 * the first key of the ring, verified with any of them; revoked with their application or key.
 * Source: interface.md "App end-user token", decisions "Runtime routes".
 */
import { randomBytes } from "node:crypto"
import { Clock, Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { errors, jwtVerify, SignJWT } from "jose"
import { sha256 } from "../catalogue/secrets.ts"
import { WeirConfig } from "../config.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"

/** What a token says. */
export interface EndUserClaims {
  readonly endUserId: string
  readonly appId: string
  readonly keyId: string
}

export interface MintedToken {
  readonly token: string
  readonly expiresAt: Date
}

export class EndUserTokens extends Context.Service<
  EndUserTokens,
  {
    readonly mint: (claims: EndUserClaims, ttlSeconds: number) => Effect.Effect<MintedToken>
    /** What a token says; whether its application and key still stand is for others to judge. */
    readonly verify: (token: string) => Effect.Effect<EndUserClaims, ServiceError<"unauthorized" | "token_expired">>
  }
>()("weir/identity/EndUserTokens") {
  static readonly layer = Layer.effect(
    EndUserTokens,
    Effect.map(WeirConfig, (config) => makeEndUserTokens(ringOf(config))),
  )
}

export interface TokenKey {
  readonly id: string
  readonly secret: Uint8Array
}

const issuer = "weir"
const audience = "twp/1"

const Claims = Schema.Struct({ sub: Schema.String, app: Schema.String, key: Schema.String })
const decodeClaims = Schema.decodeUnknownOption(Claims)

/** @param ring the first one signs */
export const makeEndUserTokens = (ring: readonly [TokenKey, ...Array<TokenKey>]): EndUserTokens["Service"] => {
  const [current] = ring
  const keys = new Map(ring.map(({ id, secret }) => [id, secret]))
  return EndUserTokens.of({
    mint: Effect.fnUntraced(function* ({ endUserId, appId, keyId }, ttlSeconds) {
      const nowS = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const token = yield* Effect.promise(() =>
        new SignJWT({ app: appId, key: keyId })
          .setProtectedHeader({ alg: "HS256", kid: current.id })
          .setSubject(endUserId)
          .setIssuer(issuer)
          .setAudience(audience)
          .setIssuedAt(nowS)
          .setExpirationTime(nowS + ttlSeconds)
          .sign(current.secret),
      )
      return { token, expiresAt: new Date((nowS + ttlSeconds) * 1000) }
    }),
    verify: Effect.fnUntraced(function* (token) {
      const currentDate = new Date(yield* Clock.currentTimeMillis)
      const verified = yield* Effect.tryPromise({
        try: () =>
          jwtVerify(token, ({ kid }) => keys.get(kid ?? "") ?? nobodysKey, {
            algorithms: ["HS256"],
            issuer,
            audience,
            currentDate,
          }),
        catch: (error) =>
          error instanceof errors.JWTExpired
            ? serviceError("token_expired", "The token has expired")
            : serviceError("unauthorized", "The token is not valid"),
      })
      const claims = Option.getOrUndefined(decodeClaims(verified.payload))
      if (claims === undefined) return yield* serviceError("unauthorized", "The token is not valid")
      return { endUserId: claims.sub, appId: claims.app, keyId: claims.key }
    }),
  })
}

/** Verifies nothing: a token of an unknown key fails like one with a wrong signature. */
const nobodysKey = randomBytes(32)

/** The keys that are configured; else one made of the master key; else one of this process's own. */
const ringOf = ({
  tokenKeys,
  masterKey,
  masterKeyPrevious,
}: WeirConfig["Service"]): readonly [TokenKey, ...Array<TokenKey>] => {
  const configured = tokenKeys === undefined ? [] : Redacted.value(tokenKeys).split(",").map(readKey)
  const derived = [masterKey, masterKeyPrevious].flatMap((key) =>
    key === undefined ? [] : [readKey(`:${Redacted.value(key)}`)],
  )
  const [first = readKey(`:${randomBytes(32).toString("hex")}`), ...rest] = configured.length > 0 ? configured : derived
  return [first, ...rest]
}

/** `id:secret`; without an id, one that tells secrets apart. */
const readKey = (text: string): TokenKey => {
  const at = text.indexOf(":")
  const secret = sha256(`weir.end-user-tokens ${text.slice(at + 1)}`)
  return {
    id:
      text.slice(0, Math.max(at, 0)).trim() ||
      sha256(text.slice(at + 1))
        .toString("hex")
        .slice(0, 8),
    secret,
  }
}
