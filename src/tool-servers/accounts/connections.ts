/** Connects accounts: an owner consents once in the browser; and ends them, here and at their authorisation server. */
import { Context, Effect, Layer } from "effect"
import { calculatePKCECodeChallenge, randomPKCECodeVerifier, randomState } from "openid-client"
import { runEvery } from "../../background.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import type { ToolServerEntry } from "../../catalogue/snapshot.ts"
import { CallDeadlines } from "../../deadlines.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { type Challenge, readChallenge } from "../../tools/oauth/challenge.ts"
import { type IssuerMetadata, union } from "../../tools/oauth/metadata.ts"
import { VendorClient } from "../../upstream/client.ts"
import { type AskServices, ask, type ServerFailed } from "../ask-server.ts"
import { gatewayItself, negotiate } from "../negotiate.ts"
import { isStateless, statelessMeta } from "../server-session.ts"
import { type AccountKey, AccountStore, type Flow, type StoredAccount } from "./account-store.ts"
import { type Discovered, discover } from "./discovery.ts"
import { revoke, tokensForCode } from "./grants.ts"
import { platform } from "./needed.ts"
import { OAuthFailed, ownOrigins, type ReachServices, reachFor } from "./reach.ts"
import { type ClientPlace, clientAt } from "./registration.ts"
import { issuerMetadata } from "./renewals.ts"

export type ConnectError = ServiceError<"not_found" | "bad_request" | "forbidden" | "upstream_error"> | StoreUnavailable

/** An account, as its owner sees it. */
export interface AccountState {
  readonly entry: ToolServerEntry
  readonly state: "connected" | "expired" | "missing"
  readonly connectedAt: Date | undefined
}

export class AccountConnections extends Context.Service<
  AccountConnections,
  {
    /** The servers that have accounts of this sort, with the owner's own. @param owner empty for the platform */
    readonly states: (owner: string) => Effect.Effect<ReadonlyArray<AccountState>, StoreUnavailable>
    /** Begins a consent. @returns the address at which the owner gives it */
    readonly begin: (key: AccountKey, place: ClientPlace) => Effect.Effect<URL, ConnectError>
    /** The owner of the consent to which a callback belongs. */
    readonly flowOwner: (state: string) => Effect.Effect<AccountKey | undefined, StoreUnavailable>
    /** Ends a consent. @param answer the query of the callback @returns the id of the server */
    readonly finish: (answer: URLSearchParams) => Effect.Effect<string, ConnectError>
    /** Removes an account, and ends its tokens. */
    readonly disconnect: (key: AccountKey) => Effect.Effect<boolean, StoreUnavailable>
  }
>()("weir/tools/AccountConnections") {
  static readonly layer = Layer.effect(
    AccountConnections,
    Effect.gen(function* () {
      const store = yield* AccountStore
      const catalogue = yield* Catalogue
      const services = { client: yield* VendorClient, deadlines: yield* CallDeadlines }
      const entryOf = (server: string) => catalogue.current().toolServers.get(server)

      /** The server of an account. */
      const declared = ({ server, owner }: AccountKey) => {
        const entry = entryOf(server)
        const of = owner === platform ? "platform" : "person"
        return entry?.server.oauth?.of === of ? Effect.succeed(entry) : Effect.fail(noSuchServer)
      }

      const begin = Effect.fnUntraced(function* (key: AccountKey, place: ClientPlace) {
        const entry = yield* declared(key)
        const made = Effect.gen(function* () {
          const reach = reachFor(services, entry)
          const challenge = yield* probe(services, entry)
          const found = yield* discover(reach, entry, challenge)
          if (found.issuer.authorization_endpoint === undefined)
            return yield* new OAuthFailed({
              message: "the authorisation server asks nobody for consent",
              isPassing: false,
            })
          if (!isOwnPlace(entry, found.issuer))
            return yield* new OAuthFailed({
              message: "the authorisation server asks for consent at another one: write issuer into the catalogue",
              isPassing: false,
            })
          const client = yield* clientAt(store, reach, entry, found.issuer, place)
          const scopes = scopesFor(entry, found, challenge, yield* store.read(key))
          const flow: Flow = {
            url: entry.server.url ?? "",
            issuer: found.issuer,
            client,
            resource: found.resource,
            scopes,
            verifier: randomPKCECodeVerifier(),
            redirectUri: place.redirectUri,
          }
          const state = randomState()
          const url = yield* addressOf(entry, flow, state)
          yield* store.beginFlow(state, key, flow)
          return url
        })
        return yield* Effect.mapError(made, (error) => toConnectError(entry, error))
      })

      const finish = Effect.fnUntraced(function* (answer: URLSearchParams) {
        const state = answer.get("state") ?? ""
        const begun = yield* store.endFlow(state)
        if (begun === undefined) return yield* noSuchFlow
        const { flow, server, owner } = begun
        const entry = yield* declared({ server, owner })
        if (entry.server.url !== flow.url) return yield* noSuchFlow
        const { issuer, client, resource, scopes, verifier, redirectUri } = flow
        const url = new URL(redirectUri)
        url.search = answer.toString()
        const party = { reach: reachFor(services, entry), issuer, client, resource }
        const tokens = yield* tokensForCode(party, url, { state, verifier }).pipe(
          Effect.tapError(({ code }) =>
            code === "invalid_client" ? Effect.ignore(store.forgetClient(issuer.issuer, redirectUri)) : Effect.void,
          ),
          Effect.mapError((error) => toConnectError(entry, error)),
        )
        const { accessToken, refreshToken, expiresInS } = tokens
        const secret = {
          client,
          resource,
          redirectUri,
          accessToken,
          ...(refreshToken !== undefined && { refreshToken }),
        }
        // The tokens of a former consent are not ended: some servers end all of a person's then.
        yield* store.write({ server, owner, url: flow.url, issuer: issuer.issuer, scopes, secret, expiresInS })
        return server
      })

      /** Ends the tokens of an account that is stored no more, as far as its authorisation server helps. */
      const end = (entry: ToolServerEntry | undefined, { issuer, secret }: StoredAccount): Effect.Effect<void> => {
        const { client, resource, refreshToken, accessToken } = secret
        const token = refreshToken ?? accessToken
        if (entry === undefined || token === undefined) return Effect.void
        const reach = reachFor(services, entry)
        const revoked = Effect.flatMap(issuerMetadata(reach, entry, issuer), (metadata) =>
          revoke({ reach, issuer: metadata, client, resource }, token),
        )
        return Effect.catch(revoked, (cause) =>
          Effect.logWarning("A token of a removed account was not ended at its authorisation server", {
            server: entry.server.id,
            cause,
          }),
        )
      }

      const disconnect = Effect.fnUntraced(function* (key: AccountKey) {
        const account = yield* store.remove(key)
        if (account !== undefined) yield* end(entryOf(key.server), account)
        return account !== undefined
      })

      const removeAbandoned = Effect.flatMap(store.abandoned, (keys) =>
        Effect.forEach(keys, disconnect, { discard: true }),
      )
      yield* runEvery("30 seconds", "Removing accounts of people who have left", removeAbandoned)

      return AccountConnections.of({
        begin,
        finish,
        disconnect,
        flowOwner: store.flowOwner,
        states: (owner) =>
          Effect.forEach(
            [...catalogue.current().toolServers.values()].filter(
              ({ server: { oauth } }) => oauth?.of === (owner === platform ? "platform" : "person"),
            ),
            (entry) =>
              Effect.map(store.read({ server: entry.server.id, owner }), (account) => ({
                entry,
                state: stateOf(entry, account),
                connectedAt: account?.connectedAt,
              })),
            { concurrency: 4 },
          ),
      })
    }),
  )
}

const stateOf = ({ server: { url } }: ToolServerEntry, account: StoredAccount | undefined): AccountState["state"] => {
  if (account === undefined || account.url !== url) return "missing"
  const { accessToken, refreshToken, isMachine } = account.secret
  const canRenew = refreshToken !== undefined || isMachine === true
  const isUsable = accessToken !== undefined && (canRenew || !account.isOver)
  return account.wantedScopes === undefined && isUsable ? "connected" : "expired"
}

/** The scopes of the catalogue, or else those that the server asks for, or else those that it names; and those of before. */
const scopesFor = (
  { server: { oauth } }: ToolServerEntry,
  { scopes: named, issuer }: Discovered,
  challenge: Challenge,
  account: StoredAccount | undefined,
): ReadonlyArray<string> => {
  const asked = oauth?.scopes ?? challenge.scopes ?? named ?? []
  // Without it, many servers give no refresh token. Source: OpenID Connect Core 1.0 section 11.
  const offline = issuer.scopes_supported?.includes("offline_access") === true ? ["offline_access"] : []
  const wanted = account?.url === undefined ? [] : (account.wantedScopes ?? [])
  return union(asked, wanted, offline)
}

/**
 * Whether people consent at the authorisation server itself. One that nobody vouches for could send them to an honest one, and take the
 * code that comes back; answers that name their issuer are not mistaken. RFC 9700 section 4.4.
 */
const isOwnPlace = (
  { server: { oauth } }: ToolServerEntry,
  { issuer, authorization_endpoint = "", authorization_response_iss_parameter_supported: namesIssuer }: IssuerMetadata,
): boolean =>
  oauth?.issuer !== undefined ||
  namesIssuer === true ||
  URL.parse(authorization_endpoint)?.origin === URL.parse(issuer)?.origin

/** A browser is sent to a place with TLS, or to one that the catalogue names. RFC 6749 section 4.1.1, RFC 7636, RFC 8707. */
const addressOf = (
  entry: ToolServerEntry,
  { issuer, client, resource, scopes, verifier, redirectUri }: Flow,
  state: string,
): Effect.Effect<URL, OAuthFailed> =>
  Effect.gen(function* () {
    const url = URL.parse(issuer.authorization_endpoint ?? "")
    const isFit = url !== null && (url.protocol === "https:" || ownOrigins(entry).has(url.origin))
    if (!isFit || url.username !== "" || url.password !== "") {
      return yield* new OAuthFailed({
        message: "the authorisation server's address for consents is not allowed",
        isPassing: false,
      })
    }
    const challenge = yield* Effect.promise(() => calculatePKCECodeChallenge(verifier))
    const query = {
      response_type: "code",
      client_id: client.id,
      redirect_uri: redirectUri,
      resource,
      state,
      code_challenge: challenge,
      code_challenge_method: "S256",
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
      ...(scopes.includes("offline_access") && scopes.includes("openid") && { prompt: "consent" }),
    }
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    return url
  })

/** Asks a server without an account, for the challenge of its refusal. */
const probe = ({ client, deadlines }: ReachServices, entry: ToolServerEntry): Effect.Effect<Challenge> => {
  const [target] = entry.targets
  const none = readChallenge(undefined)
  if (target === undefined) return Effect.succeed(none)
  const asking: AskServices = { client, deadlines, timeoutMs: 10_000, maxBytes: 1024 * 1024 }
  const at = { entry, target, account: {} }
  const listed = Effect.flatMap(negotiate(asking, at, gatewayItself), (session) => {
    const params = isStateless(session) ? { _meta: statelessMeta() } : {}
    return ask(asking, at, session, { method: "tools/list", params }, "list")
  })
  return Effect.match(listed, {
    onFailure: ({ status, headers }: ServerFailed) =>
      status === 401 || status === 403 ? readChallenge(headers["www-authenticate"]) : none,
    onSuccess: () => none,
  })
}

const noSuchServer = serviceError("not_found", "There is no such server of tools with accounts of this sort")
const noSuchFlow = serviceError("bad_request", "The consent was not begun here, has expired, or has ended")

const toConnectError = ({ server: { id } }: ToolServerEntry, error: OAuthFailed | StoreUnavailable): ConnectError => {
  if (error._tag !== "OAuthFailed") return error
  return error.code === "access_denied"
    ? serviceError("forbidden", `The consent for ${id} was refused`)
    : serviceError("upstream_error", `No account at ${id}: ${error.message}`, { cause: error.cause })
}
