/** Requests of tokens: for a code, for an account's own renewal, for the gateway itself; and their end. RFC 6749, RFC 7009, RFC 8707. */
import { Effect } from "effect"
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  type ClientAuth,
  ClientSecretPost,
  Configuration,
  clientCredentialsGrant,
  customFetch,
  None,
  ResponseBodyError,
  refreshTokenGrant,
  type TokenEndpointResponse,
  tokenRevocation,
} from "openid-client"
import { type IssuerMetadata, methodOf, type OAuthClient } from "../../tools/oauth/metadata.ts"
import { OAuthFailed, type Reach } from "./reach.ts"

/** Tokens of an authorisation server. */
export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  readonly expiresInS: number | undefined
  /** The scopes that it gave; undefined if they are those that were asked for. */
  readonly scope: string | undefined
}

export interface Party {
  readonly reach: Reach
  readonly issuer: IssuerMetadata
  readonly client: OAuthClient
  readonly resource: string
}

const authOf = (client: OAuthClient, issuer: IssuerMetadata): ClientAuth => {
  const method = methodOf(client, issuer)
  if (method === "none") return None()
  return method === "client_secret_post" ? ClientSecretPost(client.secret) : basic(client)
}

/** Servers that read the header without decoding it are many: only characters that must be are encoded. RFC 6749 section 2.3.1. */
const basic =
  ({ id, secret = "" }: OAuthClient): ClientAuth =>
  (_server, _client, _body, headers) => {
    const pair = `${encoded(id)}:${encoded(secret)}`
    headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`)
  }

const encoded = (text: string): string => new URLSearchParams([["", text]]).toString().slice(1)

const configurationOf = ({ reach, issuer, client }: Party): Configuration => {
  const { issuer: name, authorization_endpoint, token_endpoint, revocation_endpoint } = issuer
  const { authorization_response_iss_parameter_supported, id_token_signing_alg_values_supported } = issuer
  const configuration = new Configuration(
    {
      issuer: name,
      token_endpoint,
      ...(authorization_endpoint !== undefined && { authorization_endpoint }),
      ...(revocation_endpoint !== undefined && { revocation_endpoint }),
      ...(authorization_response_iss_parameter_supported !== undefined && {
        authorization_response_iss_parameter_supported,
      }),
      ...(id_token_signing_alg_values_supported !== undefined && {
        id_token_signing_alg_values_supported: [...id_token_signing_alg_values_supported],
      }),
    },
    client.id,
    {},
    authOf(client, issuer),
  )
  configuration[customFetch] = reach.fetch
  // The egress guard decides which addresses may be without TLS.
  allowInsecureRequests(configuration)
  return configuration
}

/** A token in a header must be text that a header can have. */
const isToken = (text: string): boolean => /^[\x21-\x7e]{1,16384}$/.test(text)

const read = (tokens: TokenEndpointResponse): Tokens => {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresInS, scope, token_type } = tokens
  if (token_type.toLowerCase() !== "bearer" || !isToken(accessToken) || (refreshToken?.length ?? 0) > 16_384) {
    throw new OAuthFailed({ message: "the authorisation server's token cannot be used", isPassing: false })
  }
  return { accessToken, refreshToken, expiresInS, scope }
}

const requested = (call: () => Promise<TokenEndpointResponse>): Effect.Effect<Tokens, OAuthFailed> =>
  Effect.tryPromise({ try: async () => read(await call()), catch: failureOf })

/** @param answer the address of the callback, with all that the authorisation server has added */
export const tokensForCode = (
  party: Party,
  answer: URL,
  { state, verifier }: { readonly state: string; readonly verifier: string },
): Effect.Effect<Tokens, OAuthFailed> =>
  requested(() =>
    authorizationCodeGrant(
      configurationOf(party),
      answer,
      { expectedState: state, pkceCodeVerifier: verifier },
      { resource: party.resource },
    ),
  )

export const tokensForRefresh = (party: Party, refreshToken: string): Effect.Effect<Tokens, OAuthFailed> =>
  requested(() => refreshTokenGrant(configurationOf(party), refreshToken, { resource: party.resource }))

export const tokensForClient = (party: Party, scopes: ReadonlyArray<string>): Effect.Effect<Tokens, OAuthFailed> =>
  requested(() =>
    clientCredentialsGrant(configurationOf(party), {
      resource: party.resource,
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
    }),
  )

/** Ends a token at its authorisation server, if that can end tokens. */
export const revoke = (party: Party, token: string): Effect.Effect<void, OAuthFailed> =>
  party.issuer.revocation_endpoint === undefined
    ? Effect.void
    : Effect.tryPromise({ try: () => tokenRevocation(configurationOf(party), token), catch: failureOf })

/** Its texts are not shown: anybody can have written them. */
const failureOf = (error: unknown): OAuthFailed => {
  const chain = causesOf(error)
  const own = chain.find((each) => each instanceof OAuthFailed)
  if (own !== undefined) return own
  const refusal = chain.find((each) => each instanceof ResponseBodyError || each instanceof AuthorizationResponseError)
  if (refusal !== undefined) {
    const code = /^[a-z_]{1,64}$/.test(refusal.error) ? refusal.error : "other"
    const isPassing = refusal instanceof ResponseBodyError && (refusal.status >= 500 || refusal.status === 429)
    return new OAuthFailed({ message: "the authorisation server refused", isPassing, code, cause: code })
  }
  const cause = chain.map((each) => (each instanceof Error ? each.name : "")).join(" < ")
  const status = chain.flatMap((each) => (isReply(each) ? [each.status] : []))[0] ?? 0
  const isPassing = status >= 500 || status === 429
  return new OAuthFailed({ message: "the authorisation server's answer is invalid", isPassing, cause })
}

const isReply = (value: unknown): value is Response => value instanceof Response

const causesOf = (error: unknown): ReadonlyArray<unknown> =>
  error instanceof Error && error.cause !== undefined ? [error, ...causesOf(error.cause)] : [error]
