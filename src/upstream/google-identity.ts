/**
 * A service account of Google: its key signs a statement, for which Google issues a token.
 * Source: https://developers.google.com/identity/protocols/oauth2/service-account
 */
import { hash } from "node:crypto"
import { Effect, Redacted, Schema } from "effect"
import { importPKCS8, SignJWT } from "jose"
import { fetchWhole } from "./client.ts"
import type { Identity, Route } from "./identity.ts"
import { type IssuedToken, RenewedToken } from "./renewed-token.ts"

/** What is needed of a service account's JSON. */
const ServiceAccount = Schema.fromJsonString(
  Schema.Struct({
    type: Schema.Literal("service_account"),
    client_email: Schema.NonEmptyString,
    private_key: Schema.NonEmptyString,
    private_key_id: Schema.optionalKey(Schema.String),
    token_uri: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^https?:\/\//))),
  }),
)

const Issued = Schema.fromJsonString(
  Schema.Struct({ access_token: Schema.NonEmptyString, expires_in: Schema.Finite.check(Schema.isGreaterThan(0)) }),
)

const scope = "https://www.googleapis.com/auth/cloud-platform"
const defaultTokenUri = "https://oauth2.googleapis.com/token"
const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
const deadline = "10 seconds"
const maxReplyBytes = 64 * 1024

/** Tokens outlive a change of the catalogue: they are kept by account, which is known by its hash alone. */
const tokens = new Map<string, RenewedToken>()
const maxTokens = 1000

const tokenOf = (account: string): RenewedToken => {
  const key = hash("sha256", account)
  const known = tokens.get(key)
  if (known !== undefined) return known
  if (tokens.size >= maxTokens) tokens.clear()
  const made = new RenewedToken()
  tokens.set(key, made)
  return made
}

/** @param account the JSON of a service account */
export const makeGoogleIdentity = (account: Redacted.Redacted): Identity => {
  const token = tokenOf(Redacted.value(account))
  return {
    authorize: async (_request, route) => ({
      authorization: `Bearer ${await token.get(() => Effect.runPromise(requestToken(account, route)))}`,
    }),
  }
}

const requestToken = Effect.fnUntraced(function* (account: Redacted.Redacted, { client, network }: Route) {
  const known = yield* Schema.decodeEffect(ServiceAccount)(Redacted.value(account))
  const { client_email: issuer, private_key, private_key_id: kid, token_uri: tokenUri = defaultTokenUri } = known
  const assertion = yield* Effect.promise(async () =>
    new SignJWT({ scope })
      .setProtectedHeader({ alg: "RS256", typ: "JWT", ...(kid !== undefined && { kid }) })
      .setIssuer(issuer)
      .setAudience(tokenUri)
      .setIssuedAt()
      .setExpirationTime("1h")
      .sign(await importPKCS8(private_key, "RS256")),
  )
  const { origin, pathname } = new URL(tokenUri)
  const startedAtMs = Date.now()
  const { status, body } = yield* fetchWhole(
    client,
    {
      baseUrl: origin,
      path: pathname,
      headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
      body: new URLSearchParams({ grant_type: grantType, assertion }).toString(),
      network,
    },
    maxReplyBytes,
  )
  if (status !== 200) return yield* Effect.fail(new Error(`the token endpoint answers ${status}`))
  const issued = yield* Schema.decodeEffect(Issued)(body)
  const result: IssuedToken = {
    token: issued.access_token,
    expiresAtMs: startedAtMs + issued.expires_in * 1000,
  }
  return result
}, Effect.timeout(deadline))
