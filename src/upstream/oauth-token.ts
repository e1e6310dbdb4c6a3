/**
 * Tokens of OAuth 2.0 for calls to vendors: how one is asked for, and where those that are valid are kept.
 * Source: https://www.rfc-editor.org/rfc/rfc6749#section-4
 */
import { hash } from "node:crypto"
import { Effect, Schema } from "effect"
import { fetchWhole, type UpstreamBroken } from "./client.ts"
import type { Route } from "./identity.ts"
import { type IssuedToken, RenewedToken } from "./renewed-token.ts"

const Issued = Schema.fromJsonString(
  Schema.Struct({ access_token: Schema.NonEmptyString, expires_in: Schema.Finite.check(Schema.isGreaterThan(0)) }),
)

const deadline = "10 seconds"
const maxReplyBytes = 64 * 1024

/** Asks a token endpoint, by the way of the vendor itself. Secrets are in the form alone. */
export const requestToken = Effect.fnUntraced(function* (
  uri: string,
  form: Readonly<Record<string, string>>,
  { client, network }: Route,
): Effect.fn.Return<IssuedToken, UpstreamBroken | Schema.SchemaError | Error> {
  const { origin, pathname } = new URL(uri)
  const startedAtMs = Date.now()
  const { status, body } = yield* fetchWhole(
    client,
    {
      baseUrl: origin,
      path: pathname,
      headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
      body: new URLSearchParams(form).toString(),
      network,
    },
    maxReplyBytes,
  )
  if (status !== 200) return yield* Effect.fail(new Error(`the token endpoint answers ${status}`))
  const { access_token: token, expires_in: lifeS } = yield* Schema.decodeEffect(Issued)(body)
  return { token, expiresAtMs: startedAtMs + lifeS * 1000 }
}, Effect.timeout(deadline))

/** Tokens outlive a change of the catalogue: they are kept by what they are asked with, of which the hash alone is known. */
const tokens = new Map<string, RenewedToken>()
const maxTokens = 1000

export const tokenFor = (...secrets: ReadonlyArray<string>): RenewedToken => {
  const key = hash("sha256", JSON.stringify(secrets))
  const known = tokens.get(key)
  if (known !== undefined) return known
  if (tokens.size >= maxTokens) tokens.clear()
  const made = new RenewedToken()
  tokens.set(key, made)
  return made
}
