/**
 * A service account of Google: its key signs a statement, for which Google issues a token, at the `token_uri` that its
 * JSON names. Source: https://developers.google.com/identity/protocols/oauth2/service-account (RFC 7523)
 */
import { Schema } from "effect"
import type { Fetch } from "./issuer-fetch.ts"
import type { Issued } from "./renewed.ts"

export const googleScope = "https://www.googleapis.com/auth/cloud-platform"

const serviceAccount = {
  type: Schema.Literal("service_account"),
  client_email: Schema.NonEmptyString,
  private_key: Schema.NonEmptyString,
  private_key_id: Schema.optionalKey(Schema.String),
  universe_domain: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^[a-z0-9.-]{1,253}$/, { expected: "a domain such as googleapis.com" })),
  ),
}

/** The fields that are needed of a service account's JSON. */
export const ServiceAccount = Schema.Struct({
  ...serviceAccount,
  token_uri: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^https?:\/\//, { expected: "an http(s) URL" }))),
})
export type ServiceAccount = typeof ServiceAccount.Type

/** A service account as an organisation sends it: without fields that would read the gateway's files, or addresses near it. */
export const SentServiceAccount = Schema.fromJsonString(
  Schema.Struct({
    ...serviceAccount,
    token_uri: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^https:\/\//, { expected: "an https URL" }))),
  }),
)

const Token = Schema.Struct({
  access_token: Schema.NonEmptyString,
  expires_in: Schema.Finite.check(Schema.isGreaterThan(0)),
})
const readToken = Schema.decodeUnknownSync(Token)

/**
 * A statement that is signed with the account's key is exchanged for a token. Source: RFC 7523;
 * developers.google.com/identity/protocols/oauth2/service-account
 */
export const signInAs = async (account: ServiceAccount, fetch: Fetch): Promise<Issued<string>> => {
  const { importPKCS8, SignJWT } = await import("jose")
  const { client_email, private_key, private_key_id: kid, universe_domain: universe = "googleapis.com" } = account
  const uri = account.token_uri ?? `https://oauth2.${universe}/token`
  const assertion = await new SignJWT({ scope: googleScope })
    .setProtectedHeader({ alg: "RS256", typ: "JWT", ...(kid !== undefined && { kid }) })
    .setIssuer(client_email)
    .setAudience(uri)
    .setIssuedAt()
    .setExpirationTime("1h")
    .sign(await importPKCS8(private_key, "RS256").catch(() => Promise.reject(badKey)))
  const startedAtMs = Date.now()
  const reply = await fetch(uri, {
    method: "POST",
    headers: { accept: "application/json" },
    body: new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion }),
  })
  if (reply.status !== 200) throw new Refused(reply.status, await reply.text())
  const { access_token: value, expires_in: lifeS } = readToken(await reply.json())
  return { value, expiresAtMs: startedAtMs + lifeS * 1000 }
}

/** The private key cannot be read. */
export const badKey = new Error("no key")

class Refused extends Error {
  readonly status: number
  constructor(status: number, body: string) {
    super(/invalid_grant/.test(body) ? "invalid_grant" : "refused")
    this.status = status
  }
}
