/**
 * Access tokens of people: JWTs of 15 minutes, signed with Ed25519 keys derived from the key ring and published as a
 * JWK set; and the tokens of their browsers' cookies, which are valid for eight hours and nowhere else. Source: RFC
 * 7519, RFC 7517, RFC 8037.
 */
import { createPrivateKey, createPublicKey } from "node:crypto"
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { errors, type JSONWebKeySet, jwtVerify, SignJWT } from "jose"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { KeyRing, type Ring, type RingKey } from "./key-ring.ts"

/** The claims of an access token. */
export interface AccessClaims {
  readonly userId: string
  /** The login to which the token belongs. */
  readonly loginId: string
}

export const accessTokenTtlS = 900
export const browserTokenTtlS = 8 * 3600

/** A token is valid as a bearer token, or in the cookie of a browser. */
export type TokenUse = "bearer" | "browser"

export class AccessJwts extends Context.Service<
  AccessJwts,
  {
    readonly sign: (claims: AccessClaims, use: TokenUse) => Effect.Effect<string>
    /** Verifies signature, use and expiry and returns the claims. Does not check whether the login is still valid. */
    readonly verify: (
      token: string,
      use: TokenUse,
    ) => Effect.Effect<AccessClaims, ServiceError<"unauthorized" | "token_expired">>
    /** The public keys of the ring. */
    readonly jwks: JSONWebKeySet
  }
>()("weir/identity/AccessJwts") {
  static readonly layer = Layer.effect(AccessJwts, Effect.map(KeyRing, makeAccessJwts))
}

const issuer = "weir"
const audiences = { bearer: "weir/control", browser: "weir/browser" }
const ttlS = { bearer: accessTokenTtlS, browser: browserTokenTtlS }
const algorithm = "EdDSA"

const Claims = Schema.Struct({ sub: Schema.String, login: Schema.String })
const decodeClaims = Schema.decodeUnknownOption(Claims)

export function makeAccessJwts(ring: Ring): AccessJwts["Service"] {
  const pairs = ring.map(pairOf)
  const publicKeys = new Map(pairs.map(({ id, publicKey }) => [id, publicKey]))
  const current = pairOf(ring[0])
  return AccessJwts.of({
    jwks: {
      keys: pairs.map(({ id, publicKey }) => ({
        ...publicKey.export({ format: "jwk" }),
        kty: "OKP",
        kid: id,
        use: "sig",
        alg: algorithm,
      })),
    },
    sign: Effect.fnUntraced(function* ({ userId, loginId }, use) {
      const nowS = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      return yield* Effect.promise(() =>
        new SignJWT({ login: loginId })
          .setProtectedHeader({ alg: algorithm, kid: current.id })
          .setSubject(userId)
          .setIssuer(issuer)
          .setAudience(audiences[use])
          .setIssuedAt(nowS)
          .setExpirationTime(nowS + ttlS[use])
          .sign(current.privateKey),
      )
    }),
    verify: Effect.fnUntraced(function* (token, use) {
      const currentDate = new Date(yield* Clock.currentTimeMillis)
      const verified = yield* Effect.tryPromise({
        try: () =>
          jwtVerify(
            token,
            ({ kid }) => {
              const key = publicKeys.get(kid ?? "")
              if (key === undefined) throw new errors.JWKSNoMatchingKey()
              return key
            },
            { algorithms: [algorithm], issuer, audience: audiences[use], currentDate },
          ),
        catch: (error) =>
          error instanceof errors.JWTExpired ? serviceError("token_expired", "The token has expired") : notValid,
      })
      const claims = Option.getOrUndefined(decodeClaims(verified.payload))
      return claims === undefined ? yield* notValid : { userId: claims.sub, loginId: claims.login }
    }),
  })
}

/** PKCS #8 prefix of an Ed25519 private key, before its 32 bytes. RFC 8410. */
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex")

const pairOf = ({ id, derive }: RingKey) => {
  const der = Buffer.concat([pkcs8Prefix, derive("access-tokens")])
  const privateKey = createPrivateKey({ key: der, format: "der", type: "pkcs8" })
  return { id, privateKey, publicKey: createPublicKey(privateKey) }
}

const notValid = serviceError("unauthorized", "The token is not valid")
