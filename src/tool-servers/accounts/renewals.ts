/**
 * Renews accounts: on one node at a time, under a lease, and once for all calls that wait. A refresh token that is used twice may
 * end the whole account.
 */
import { Effect, Fiber } from "effect"
import type { ToolServerEntry } from "../../catalogue/snapshot.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { isSameIssuer } from "../../tools/oauth/addresses.ts"
import type { IssuerMetadata } from "../../tools/oauth/metadata.ts"
import type { ServerFailed } from "../ask-server.ts"
import { type AccountKey, type AccountStore, leaseMs, type RenewedTokens, type StoredAccount } from "./account-store.ts"
import { discover, discoverIssuer } from "./discovery.ts"
import { type Tokens, tokensForClient, tokensForRefresh } from "./grants.ts"
import { accountNeeded, platform, unreachable } from "./needed.ts"
import { OAuthFailed, type Reach, type ReachServices, reachFor } from "./reach.ts"
import { declaredClient } from "./registration.ts"

type Fork = <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>

/** Error codes with which an authorisation server says that an account has ended. RFC 6749 section 5.2. */
const ends: ReadonlySet<string | undefined> = new Set(["invalid_grant", "invalid_client", "unauthorized_client"])
/** Error codes with which it says that the gateway itself can have no account. */
const foreign: ReadonlySet<string | undefined> = new Set(["unauthorized_client", "unsupported_grant_type"])

export const makeRenewals = (store: AccountStore["Service"], services: ReachServices, fork: Fork) => {
  const running = new Map<string, Fiber.Fiber<StoredAccount | undefined, ServerFailed>>()

  /** Runs once for all that ask at the same time; it goes on when they leave. */
  const once = (
    name: string,
    work: Effect.Effect<StoredAccount | undefined, ServerFailed>,
  ): Effect.Effect<StoredAccount | undefined, ServerFailed> =>
    Effect.suspend(() => {
      const known = running.get(name)
      if (known !== undefined) return Fiber.join(known)
      const fiber = fork(work)
      running.set(name, fiber)
      fiber.addObserver(() => running.delete(name))
      return Fiber.join(fiber)
    })

  /** The first account of the gateway itself; undefined if its authorisation server has none, or if it must be connected. */
  const first = (entry: ToolServerEntry, key: AccountKey): Effect.Effect<StoredAccount | undefined, ServerFailed> => {
    const client = declaredClient(entry)
    if (key.owner !== platform || client?.secret === undefined) return Effect.undefined
    const made = Effect.gen(function* () {
      const { url = "", oauth } = entry.server
      const reach = reachFor(services, entry)
      const { issuer, resource, scopes: named = [] } = yield* discover(reach, entry, { resourceMetadata: undefined })
      if (issuer.grant_types_supported?.includes("client_credentials") === false) return undefined
      const scopes = oauth?.scopes ?? named
      const tokens = yield* tokensForClient({ reach, issuer, client, resource }, scopes)
      const secret = { client, resource, accessToken: tokens.accessToken, isMachine: true }
      yield* store.write({ ...key, url, issuer: issuer.issuer, scopes, secret, expiresInS: tokens.expiresInS })
      return yield* store.read(key)
    })
    const orNothing = Effect.catch(made, (error) =>
      error._tag === "OAuthFailed" && foreign.has(error.code) ? Effect.undefined : failed(entry, error),
    )
    return once(JSON.stringify(["first", key.server]), orNothing)
  }

  const failed = (entry: ToolServerEntry, cause: OAuthFailed | StoreUnavailable) =>
    Effect.andThen(
      Effect.logWarning("An account at a server of tools was not renewed", { server: entry.server.id, cause }),
      Effect.fail(unreachable(cause)),
    )

  /** @returns the account with a new token, by this node or another one */
  const renew = (
    entry: ToolServerEntry,
    account: StoredAccount,
    scopes: ReadonlyArray<string> = account.scopes,
  ): Effect.Effect<StoredAccount, ServerFailed> => {
    const { server, owner, revision } = account
    const key = { server, owner }
    const work = Effect.gen(function* () {
      for (let waited = 0; waited < leaseMs; waited += lookAgainMs) {
        const now = yield* store.read(key)
        if (now === undefined || now.wantedScopes !== undefined) return undefined
        if (now.revision !== revision) return now
        const lease = yield* store.lease(key, revision)
        if (lease !== undefined) return yield* renewUnder(lease, entry, now, scopes)
        yield* Effect.sleep(lookAgainMs)
      }
      return yield* new OAuthFailed({ message: "another node renews the account", isPassing: true })
    })
    const named = once(
      JSON.stringify([server, owner, revision]),
      Effect.catch(work, (cause) => failed(entry, cause)),
    )
    return Effect.flatMap(named, (renewed) =>
      renewed === undefined ? Effect.fail(accountNeeded(entry, key)) : Effect.succeed(renewed),
    )
  }

  /** @returns undefined if its owner must consent again */
  const renewUnder = Effect.fnUntraced(function* (
    lease: string,
    entry: ToolServerEntry,
    account: StoredAccount,
    scopes: ReadonlyArray<string>,
  ): Effect.fn.Return<StoredAccount | undefined, OAuthFailed | StoreUnavailable> {
    const key = { server: account.server, owner: account.owner }
    const tokens = yield* Effect.result(tokensOf(reachFor(services, entry), entry, account, scopes))
    if (tokens._tag === "Failure") {
      const error = tokens.failure
      if (!ends.has(error.code)) {
        yield* store.release(key, lease)
        return yield* error
      }
      yield* store.needConsent(key, account.revision, account.scopes)
      const { redirectUri } = account.secret
      if (error.code === "invalid_client" && redirectUri !== undefined)
        yield* store.forgetClient(account.issuer, redirectUri)
      return undefined
    }
    yield* store.renewed(key, lease, renewedOf(account, tokens.success, scopes))
    return yield* store.read(key)
  })

  /** Renews an account that its server has refused. @returns whether there is a new one, or none any more */
  const again = (entry: ToolServerEntry, account: StoredAccount, scopes: ReadonlyArray<string>) =>
    Effect.match(renew(entry, account, scopes), {
      onFailure: ({ reason }) => reason === "account",
      onSuccess: () => true,
    })

  return { first, renew, again }
}

/** The pause after which a node looks whether another one has renewed an account. */
const lookAgainMs = 100

const tokensOf = Effect.fnUntraced(function* (
  reach: Reach,
  entry: ToolServerEntry,
  { issuer, secret }: StoredAccount,
  scopes: ReadonlyArray<string>,
): Effect.fn.Return<Tokens, OAuthFailed> {
  const metadata = yield* issuerMetadata(reach, entry, issuer)
  const { client, resource, refreshToken, isMachine } = secret
  const party = { reach, issuer: metadata, client: declaredClient(entry) ?? client, resource }
  if (isMachine === true) return yield* tokensForClient(party, scopes)
  if (refreshToken === undefined)
    return yield* new OAuthFailed({ message: "the account cannot be renewed", isPassing: false, code: "invalid_grant" })
  return yield* tokensForRefresh(party, refreshToken)
})

/** The metadata of the issuer of an account. A server of the first version may have none: then it is found as it was then. */
export const issuerMetadata = Effect.fnUntraced(function* (
  reach: Reach,
  entry: ToolServerEntry,
  issuer: string,
): Effect.fn.Return<IssuerMetadata, OAuthFailed> {
  const found = yield* discoverIssuer(reach, issuer)
  if (found !== undefined) return found
  const discovered = yield* discover(reach, entry, { resourceMetadata: undefined })
  if (isSameIssuer(discovered.issuer.issuer, issuer)) return discovered.issuer
  return yield* new OAuthFailed({ message: "the authorisation server has changed", isPassing: false })
})

/** An authorisation server that gives no new refresh token keeps the one that it gave. RFC 6749 section 6. */
const renewedOf = (
  { secret }: StoredAccount,
  { accessToken, refreshToken = secret.refreshToken, expiresInS }: Tokens,
  scopes: ReadonlyArray<string>,
): RenewedTokens => ({
  secret: { ...secret, accessToken, ...(refreshToken !== undefined && { refreshToken }) },
  expiresInS,
  scopes,
})
