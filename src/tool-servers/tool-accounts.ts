/** The account with which a server of tools is asked, if it wants more than the catalogue's credential. */
import { Cache, Context, Duration, Effect, Equal, Exit, Hash, Layer } from "effect"
import type { ToolServerEntry } from "../catalogue/snapshot.ts"
import { makeForkIn } from "../collections.ts"
import { CallDeadlines } from "../deadlines.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { isSameIssuer } from "../tools/oauth/addresses.ts"
import { readChallenge } from "../tools/oauth/challenge.ts"
import { union } from "../tools/oauth/metadata.ts"
import { VendorClient } from "../upstream/client.ts"
import { type AccountKey, AccountStore, type StoredAccount } from "./accounts/account-store.ts"
import { discoverResource, issuerOf } from "./accounts/discovery.ts"
import { accountNeeded, keyOf, unreachable } from "./accounts/needed.ts"
import { reachFor } from "./accounts/reach.ts"
import { makeRenewals } from "./accounts/renewals.ts"
import type { ServerFailed } from "./ask-server.ts"
import type { SessionOwner } from "./session-owner.ts"

export interface ToolAccount {
  /** Names the consent that it was made by; empty if the server has no accounts. */
  readonly id: string
  /** Counts the renewals of its token. */
  readonly revision: number
  /** The headers that carry it. */
  readonly headers: Readonly<Record<string, string>>
}

/** The refusal of a server. */
export interface Refusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

export class ToolAccounts extends Context.Service<
  ToolAccounts,
  {
    /** The account of an owner, renewed if its token ends soon. */
    readonly accountOf: (entry: ToolServerEntry, owner: SessionOwner) => Effect.Effect<ToolAccount, ServerFailed>
    /** The server has refused a request with an account. @returns whether the request should be sent again */
    readonly refused: (
      entry: ToolServerEntry,
      owner: SessionOwner,
      account: Pick<ToolAccount, "revision">,
      refusal: Refusal,
    ) => Effect.Effect<boolean>
  }
>()("weir/tools/ToolAccounts") {
  static readonly layer = Layer.effect(
    ToolAccounts,
    Effect.gen(function* () {
      const store = yield* AccountStore
      const services = { client: yield* VendorClient, deadlines: yield* CallDeadlines }
      const renewals = makeRenewals(store, services, yield* makeForkIn)

      const accountOf = Effect.fnUntraced(function* (
        entry: ToolServerEntry,
        key: AccountKey,
      ): Effect.fn.Return<ToolAccount, ServerFailed> {
        const stored = yield* Effect.mapError(store.read(key), unreachable)
        const account = stored ?? (yield* renewals.first(entry, key))
        // Its tokens are for the server that the catalogue had then.
        if (account === undefined || account.url !== entry.server.url) return yield* accountNeeded(entry, key)
        if (account.wantedScopes !== undefined) return yield* accountNeeded(entry, key)
        const isOver = account.isOver || account.secret.accessToken === undefined
        if (!account.isDue && !isOver) return asHeaders(account)
        const renewed = renewals.renew(entry, account)
        // A token that has not ended yet is used if it cannot be renewed now.
        return asHeaders(yield* isOver ? renewed : Effect.orElseSucceed(renewed, () => account))
      })

      /** For a moment: lists and calls ask for it often. */
      const accounts = yield* Cache.makeWith<AccountName, ToolAccount, ServerFailed>(
        ({ entry, key }) => accountOf(entry, key),
        { capacity: 10_000, timeToLive: (exit) => (Exit.isSuccess(exit) ? shortly : Duration.zero) },
      )

      /** Whether the server has another authorisation server now: then the account is of no use. */
      const hasMoved = (entry: ToolServerEntry, account: StoredAccount, resourceMetadata: string | undefined) =>
        Effect.match(discoverResource(reachFor(services, entry), account.url, { resourceMetadata }), {
          onFailure: () => false,
          onSuccess: (found) => found !== undefined && !isSameIssuer(issuerOf(entry, found) ?? "", account.issuer),
        })

      const refused = Effect.fnUntraced(function* (
        entry: ToolServerEntry,
        key: AccountKey,
        { revision }: Pick<ToolAccount, "revision">,
        { status, headers }: Refusal,
      ): Effect.fn.Return<boolean, StoreUnavailable> {
        const account = yield* store.read(key)
        if (account === undefined || account.revision !== revision) return account !== undefined
        const { scopes, error, resourceMetadata } = readChallenge(headers["www-authenticate"])
        const wanted = union(account.scopes, scopes ?? [])
        if (status === 403) {
          // A server that asks for scopes that were asked for already would ask for ever.
          if (error !== "insufficient_scope" || wanted.length === account.scopes.length) return false
          if (account.secret.isMachine === true) return yield* renewals.again(entry, account, wanted)
          yield* store.needConsent(key, revision, wanted)
          return true
        }
        if (status !== 401) return false
        if (yield* hasMoved(entry, account, resourceMetadata)) {
          yield* store.needConsent(key, revision, scopes ?? [])
          return true
        }
        // The server takes no token, not even a new one.
        if (account.isFresh) return false
        if (account.secret.isMachine === true || account.secret.refreshToken !== undefined)
          return yield* renewals.again(entry, account, account.scopes)
        yield* store.needConsent(key, revision, wanted)
        return true
      })

      return ToolAccounts.of({
        accountOf: (entry, owner) => {
          const { oauth } = entry.server
          if (oauth === undefined) return Effect.succeed(noAccount)
          const key = keyOf(entry, owner)
          return key === undefined
            ? Effect.fail(accountNeeded(entry, undefined))
            : Cache.get(accounts, new AccountName(entry, key))
        },
        refused: (entry, owner, account, refusal) => {
          const key = entry.server.oauth === undefined ? undefined : keyOf(entry, owner)
          if (key === undefined) return Effect.succeed(false)
          return Effect.ensuring(
            Effect.orElseSucceed(refused(entry, key, account, refusal), () => false),
            Cache.invalidate(accounts, new AccountName(entry, key)),
          )
        },
      })
    }),
  )
}

const noAccount: ToolAccount = { id: "", revision: 0, headers: {} }

const asHeaders = ({ consent, revision, secret: { accessToken = "" } }: StoredAccount): ToolAccount => ({
  id: consent,
  revision,
  headers: { authorization: `Bearer ${accessToken}` },
})

/** The time within which other nodes notice that an account was removed. */
const shortly = Duration.seconds(2)

/** Keys are equal if their account is, at the same declaration of the server. */
class AccountName implements Equal.Equal {
  readonly entry: ToolServerEntry
  readonly key: AccountKey

  constructor(entry: ToolServerEntry, key: AccountKey) {
    this.entry = entry
    this.key = key
  }

  [Hash.symbol](): number {
    return Hash.string(`${this.key.server} ${this.key.owner}`)
  }

  [Equal.symbol](that: Equal.Equal): boolean {
    if (!(that instanceof AccountName) || that.entry.server !== this.entry.server) return false
    return that.key.server === this.key.server && that.key.owner === this.key.owner
  }
}
