/**
 * Organisations' identity providers: where a browser is sent, and whom an answer names. All that is read from a provider
 * passes the egress guard. Source: OpenID Connect Core 1.0 section 3.1 (code flow), RFC 7636 (PKCE), RFC 9207.
 */
import { Context, Data, Duration, Effect, Layer, Redacted, Result } from "effect"
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
} from "openid-client"
import { Agent, fetch } from "undici"
import type { SsoEntry } from "../catalogue/snapshot.ts"
import { Egress, EgressBlocked } from "../net/egress.ts"
import { fingerprint } from "../protocol/canonical.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { FlowSecrets } from "./sso-flow.ts"

/** Whom a provider says that it has before it. */
export interface FederatedIdentity {
  readonly issuer: string
  readonly subject: string
  /** What the provider says; nothing is proven by it. */
  readonly email: string | undefined
}

export type ProviderError = ServiceError<"idp_untrusted" | "upstream_error">

export class IdentityProviders extends Context.Service<
  IdentityProviders,
  {
    /** Where the browser goes to log in. */
    readonly authorizationUrl: (
      entry: SsoEntry,
      flow: FlowSecrets,
      redirectUri: string,
    ) => Effect.Effect<URL, ProviderError>
    /** Exchanges the answer's code, and checks all that it must hold. @param answer the callback's whole URL */
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
      const discovered = new Map<string, Discovered>()

      /** What a provider says of itself, read again after a while; a failure is not remembered. */
      const configurationOf = ({ provider, clientSecret }: SsoEntry): Promise<Configuration> => {
        const secret = clientSecret && Redacted.value(clientSecret)
        const key = fingerprint([provider.issuer, provider.clientId, secret ?? null])
        const known = discovered.get(key)
        if (known !== undefined && known.goodUntilMs > Date.now()) return known.configuration
        const authentication = secret === undefined ? None() : byEitherSecret(secret)
        const configuration = discovery(new URL(provider.issuer), provider.clientId, secret, authentication, {
          execute: [enableNonRepudiationChecks],
          timeout: Duration.toSeconds(timeout),
          [customFetch]: guardedFetch,
        })
        discovered.set(key, { configuration, goodUntilMs: Date.now() + discoveryTtlMs })
        configuration.catch(() => discovered.delete(key))
        return configuration
      }

      const asking = <A>(ask: () => Promise<A>): Effect.Effect<A, ProviderError> =>
        Effect.tryPromise({ try: ask, catch: toProviderError })

      return IdentityProviders.of({
        authorizationUrl: (entry, { state, nonce, verifier }, redirectUri) =>
          asking(async () => {
            const configuration = await configurationOf(entry)
            return buildAuthorizationUrl(configuration, {
              redirect_uri: redirectUri,
              scope: "openid email",
              state,
              nonce,
              code_challenge: await calculatePKCECodeChallenge(verifier),
              code_challenge_method: "S256",
            })
          }),
        identify: (entry, { state, nonce, verifier }, answer) =>
          asking(async () => {
            const configuration = await configurationOf(entry)
            const tokens = await authorizationCodeGrant(configuration, answer, {
              expectedState: state,
              expectedNonce: nonce,
              pkceCodeVerifier: verifier,
              idTokenExpected: true,
            })
            const claims = tokens.claims()
            if (claims === undefined) throw new Error("there is no ID token")
            const { iss: issuer, sub: subject } = claims
            const said =
              claims["email"] ??
              (configuration.serverMetadata().userinfo_endpoint === undefined
                ? undefined
                : (await fetchUserInfo(configuration, tokens.access_token, subject)).email)
            return { issuer, subject, email: typeof said === "string" ? said : undefined }
          }),
      })
    }),
  )
}

/** The secret in the header, unless the provider says that it wants it in the body alone. RFC 6749 section 2.3.1. */
const byEitherSecret = (secret: string): ClientAuth => {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)]
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported
    const wantsPost = methods?.includes("client_secret_post") === true && !methods.includes("client_secret_basic")
    return (wantsPost ? post : basic)(server, client, body, headers)
  }
}

interface Discovered {
  readonly configuration: Promise<Configuration>
  readonly goodUntilMs: number
}

const discoveryTtlMs = 10 * 60_000
const timeout = Duration.seconds(10)

/** No provider says more than this about itself or a person. */
const maxReplyBytes = 1024 * 1024

/** The provider could not be asked at all. */
class ProviderSilent extends Data.TaggedError("ProviderSilent")<{ readonly cause: unknown }> {}

/** What openid-client fetches with: the address that was checked is the one that is called. */
const makeGuardedFetch = Effect.gen(function* () {
  const egress = yield* Egress
  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => new Agent({ connect: { lookup: egress.lookup }, maxResponseSize: maxReplyBytes })),
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

/** A provider that does not answer is one thing; one that answers what it must not is another. */
const toProviderError = (error: unknown): ProviderError => {
  const chain = causesOf(error)
  // Their messages alone: what is attached to them names people.
  const cause = chain.map((each) => (each instanceof Error ? `${each.name}: ${each.message}` : "")).join(" < ")
  const blocked = chain.find((error) => error instanceof EgressBlocked)
  if (blocked !== undefined) {
    const detail = { reason: `egress_${blocked.reason}` }
    return serviceError("idp_untrusted", "The identity provider is at an address that may not be called", {
      detail,
      cause,
    })
  }
  return chain.some((error) => error instanceof ProviderSilent)
    ? serviceError("upstream_error", "The identity provider could not be reached", { cause })
    : serviceError("idp_untrusted", "The identity provider's answer does not hold", { cause })
}

const causesOf = (error: unknown): ReadonlyArray<unknown> =>
  error instanceof Error && error.cause !== undefined ? [error, ...causesOf(error.cause)] : [error]
