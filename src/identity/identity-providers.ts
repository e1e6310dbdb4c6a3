/**
 * Organisations' identity providers: builds the authorization URL and verifies the callback. Every request to a
 * provider passes the egress guard. Source: OpenID Connect Core 1.0 section 3.1 (code flow), RFC 7636 (PKCE), RFC 9207.
 */
import { Cache, Context, Data, Duration, Effect, Exit, Layer, Redacted, Result } from "effect"
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
} from "openid-client"
import { Agent, fetch } from "undici"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { isStorable } from "../protocol/values/text.ts"
import type { SsoEntry } from "../tenants/tenants.ts"
import { makeConnector, makeEnvironmentProxy } from "../upstream/connector.ts"
import { Egress, EgressBlocked } from "../upstream/egress.ts"
import { addressOf, type Claims, deniesAddress, groupsOf, needsUserinfo, scopeOf } from "./sso-claims.ts"
import type { FlowSecrets } from "./sso-flow.ts"

/** The identity that a provider asserts. */
export interface FederatedIdentity {
  readonly issuer: string
  readonly subject: string
  /** The address that the provider states, in lower case and not verified; undefined if it is none. */
  readonly email: string | undefined
  /** Whether the provider says itself that it has not verified the address. */
  readonly isDenied: boolean
  /** Undefined if nothing is known of them. */
  readonly groups: ReadonlyArray<string> | undefined
}

export type ProviderError = ServiceError<"idp_untrusted" | "upstream_error">

export class IdentityProviders extends Context.Service<
  IdentityProviders,
  {
    /** The URL to which the browser is redirected. */
    readonly authorizationUrl: (
      entry: SsoEntry,
      flow: FlowSecrets,
      redirectUri: string,
    ) => Effect.Effect<URL, ProviderError>
    /** Exchanges the code of a callback and verifies the ID token. @param answer the callback's whole URL */
    readonly identify: (
      entry: SsoEntry,
      flow: FlowSecrets,
      answer: URL,
    ) => Effect.Effect<FederatedIdentity, ProviderError>
  }
>()("weir/identity/IdentityProviders") {
  static readonly layer = Layer.effect(
    IdentityProviders,
    Effect.gen(function* () {
      const guardedFetch = yield* makeGuardedFetch
      const request = <A>(call: () => Promise<A>): Effect.Effect<A, ProviderError> =>
        Effect.tryPromise({ try: call, catch: toProviderError })

      /** Providers' metadata, for a while; failures are not kept. */
      const configurations = yield* Cache.makeWith(
        ({ issuer, clientId, secret }: Client) =>
          request(() =>
            discovery(new URL(issuer), clientId, secret, secret === undefined ? None() : byEitherSecret(secret), {
              execute: [enableNonRepudiationChecks],
              timeout: Duration.toSeconds(timeout),
              [customFetch]: guardedFetch,
            }),
          ),
        { capacity: mostKept, timeToLive: (exit) => (Exit.isSuccess(exit) ? keptFor : 0) },
      )
      const configurationOf = ({ provider: { issuer, clientId }, clientSecret }: SsoEntry) =>
        Cache.get(configurations, { issuer, clientId, secret: clientSecret && Redacted.value(clientSecret) })

      return IdentityProviders.of({
        authorizationUrl: (entry, { state, nonce, verifier }, redirectUri) =>
          Effect.flatMap(configurationOf(entry), (configuration) =>
            request(async () =>
              buildAuthorizationUrl(configuration, {
                redirect_uri: redirectUri,
                scope: scopeOf(entry.provider),
                state,
                nonce,
                code_challenge: await calculatePKCECodeChallenge(verifier),
                code_challenge_method: "S256",
              }),
            ),
          ),
        identify: (entry, { state, nonce, verifier }, answer) =>
          Effect.flatMap(configurationOf(entry), (configuration) =>
            request(async () => {
              const tokens = await authorizationCodeGrant(configuration, answer, {
                expectedState: state,
                expectedNonce: nonce,
                pkceCodeVerifier: verifier,
                idTokenExpected: true,
              })
              const claims = tokens.claims()
              if (claims === undefined) throw new Error("there is no ID token")
              const { iss: issuer, sub: subject } = claims
              if (!isStorable(subject) || subject.length > maxSubjectLength) throw new Error("the subject is malformed")
              const { provider } = entry
              const hasUserinfo = configuration.serverMetadata().userinfo_endpoint !== undefined
              const all: Claims =
                hasUserinfo && needsUserinfo(provider, claims)
                  ? { ...(await fetchUserInfo(configuration, tokens.access_token, subject)), ...claims }
                  : claims
              return {
                issuer,
                subject,
                email: addressOf(provider, all),
                isDenied: deniesAddress(all),
                groups: groupsOf(provider, all),
              }
            }),
          ),
      })
    }),
  )
}

/** Sends the client secret in the header, unless the provider accepts it only in the body. RFC 6749 section 2.3.1. */
const byEitherSecret = (secret: string): ClientAuth => {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)]
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported
    const usesPost = methods?.includes("client_secret_post") === true && !methods.includes("client_secret_basic")
    return (usesPost ? post : basic)(server, client, body, headers)
  }
}

/** The OAuth client that Weir is at a provider. Most often it belongs to one organisation. */
interface Client {
  readonly issuer: string
  readonly clientId: string
  readonly secret: string | undefined
}

/** OpenID Connect Core 1.0 section 2: a subject has at most 255 ASCII characters. */
const maxSubjectLength = 255

/** The maximum number of providers in the cache: each organisation may have its own. */
const mostKept = 1000
const keptFor = Duration.minutes(10)
const timeout = Duration.seconds(10)

/** Maximum size of a provider's reply. */
const maxReplyBytes = 1024 * 1024

/** The provider did not answer. */
class ProviderSilent extends Data.TaggedError("ProviderSilent")<{ readonly cause: unknown }> {}

/** The fetch function of openid-client, which connects only to the address that was checked. */
const makeGuardedFetch = Effect.gen(function* () {
  const egress = yield* Egress
  const proxyFor = yield* makeEnvironmentProxy
  const agent = yield* Effect.acquireRelease(
    Effect.sync(
      () => new Agent({ connect: makeConnector({ proxyFor, guard: egress }), maxResponseSize: maxReplyBytes }),
    ),
    (open) => Effect.promise(() => open.destroy()),
  )
  const guardedFetch: CustomFetch = async (url, { body, headers, method, redirect, signal }) => {
    const { origin, pathname } = new URL(url)
    const checked = egress.check(`${origin}${pathname}`)
    if (Result.isFailure(checked)) throw checked.failure
    try {
      const sent = { method, headers, redirect, body: body ?? null, ...(signal !== undefined && { signal }) }
      const reply = await fetch(url, { ...sent, dispatcher: agent })
      const bytes = await reply.arrayBuffer()
      return new Response(bytes, { status: reply.status, headers: [...reply.headers] })
    } catch (cause) {
      throw new ProviderSilent({ cause })
    }
  }
  return guardedFetch
})

/** Distinguishes a provider that does not answer from one whose answer is invalid. */
const toProviderError = (error: unknown): ProviderError => {
  const chain = causesOf(error)
  // Messages only: the attached data identifies people, and the message of a syntax error quotes it.
  const told = (each: unknown) => (each instanceof SyntaxError ? each.name : errorName(each))
  const cause = chain.map(told).join(" < ")
  const blocked = chain.find((error) => error instanceof EgressBlocked)
  if (blocked !== undefined) {
    const detail = { reason: `egress_${blocked.reason}` }
    return serviceError("idp_untrusted", "The identity provider's address is not allowed", {
      detail,
      cause,
    })
  }
  return chain.some((error) => error instanceof ProviderSilent)
    ? serviceError("upstream_error", "The identity provider did not answer", { cause })
    : serviceError("idp_untrusted", "The identity provider's reply is invalid", { cause })
}

const errorName = (error: unknown): string => (error instanceof Error ? `${error.name}: ${error.message}` : "")

const causesOf = (error: unknown): ReadonlyArray<unknown> =>
  error instanceof Error && error.cause !== undefined ? [error, ...causesOf(error.cause)] : [error]
