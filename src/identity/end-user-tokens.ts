/**
 * End-user tokens: short-lived JWTs that a back end mints with its application key for one of its end users. The first
 * key of the ring signs, all keys verify; revoking the application or key revokes the tokens.
 */
import { randomBytes } from "node:crypto"
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { errors, jwtVerify, SignJWT } from "jose"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { KeyRing, type Ring } from "./key-ring.ts"

/** The claims of a token. */
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
    /** Verifies signature and expiry and returns the claims. Does not check the application and the key. */
    readonly verify: (token: string) => Effect.Effect<EndUserClaims, ServiceError<"unauthorized" | "token_expired">>
  }
>()("weir/identity/EndUserTokens") {
  static readonly layer = Layer.effect(EndUserTokens, Effect.map(KeyRing, makeEndUserTokens))
}

const issuer = "weir"
const audience = "twp/1"

const Claims = Schema.Struct({ sub: Schema.String, app: Schema.String, key: Schema.String })
const decodeClaims = Schema.decodeUnknownOption(Claims)

/** @param ring the first key signs */
export function makeEndUserTokens(ring: Ring): EndUserTokens["Service"] {
  const keys = new Map(ring.map(({ id, derive }) => [id, derive("end-user-tokens")]))
  const [current] = ring
  const signingKey = current.derive("end-user-tokens")
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
          .sign(signingKey),
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

/** Reads the header without verifying: a token with an unknown key id fails like one with a wrong signature. */
const nobodysKey = randomBytes(32)
