/**
 * A service account of Google: its key signs a statement, for which Google issues a token.
 * Source: https://developers.google.com/identity/protocols/oauth2/service-account
 */
import { Effect, Redacted, Schema } from "effect"
import { importPKCS8, SignJWT } from "jose"
import type { Identity, Route } from "./identity.ts"
import { requestToken, tokenFor } from "./oauth-token.ts"

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

const scope = "https://www.googleapis.com/auth/cloud-platform"
const defaultTokenUri = "https://oauth2.googleapis.com/token"
const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

/** @param account the JSON of a service account */
export const makeGoogleIdentity = (account: Redacted.Redacted): Identity => {
  const token = tokenFor(Redacted.value(account))
  return {
    authorize: async (_request, route) => ({
      authorization: `Bearer ${await token.get(() => Effect.runPromise(signIn(account, route)))}`,
    }),
  }
}

const signIn = Effect.fnUntraced(function* (account: Redacted.Redacted, route: Route) {
  const known = yield* Schema.decodeEffect(ServiceAccount)(Redacted.value(account))
  const { client_email: issuer, private_key, private_key_id: kid, token_uri: uri = defaultTokenUri } = known
  const assertion = yield* Effect.promise(async () =>
    new SignJWT({ scope })
      .setProtectedHeader({ alg: "RS256", typ: "JWT", ...(kid !== undefined && { kid }) })
      .setIssuer(issuer)
      .setAudience(uri)
      .setIssuedAt()
      .setExpirationTime("1h")
      .sign(await importPKCS8(private_key, "RS256")),
  )
  return yield* requestToken(uri, { grant_type: grantType, assertion }, route)
})
