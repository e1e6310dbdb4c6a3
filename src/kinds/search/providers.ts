/** The search providers for a search, in order. */

import { Result } from "effect"
import { priceOf, weightOf } from "../../catalogue/search-directory.ts"
import type { CallTarget, CatalogueSnapshot, SearchProviderEntry } from "../../catalogue/snapshot.ts"
import { type SearchDialect, searchRefusal } from "../../dialects/search/dialect.ts"
import { searchDialectOf } from "../../dialects/search/index.ts"
import type { Amount } from "../../money/amount.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { UpstreamKey } from "../../upstream/upstream-keys.ts"

type OwnKeys = ReadonlyMap<string, UpstreamKey>

/**
 * The keys that an organisation has for search providers. A vendor may have the same name as a provider: its key is for
 * the vendor, and never sent to the provider.
 */
export const searchKeys = (snapshot: CatalogueSnapshot, keys: OwnKeys | undefined): OwnKeys | undefined =>
  keys === undefined ? undefined : new Map([...keys].filter(([id]) => snapshot.vendor(id) === undefined))

/** A usable provider: known vendor, chargeable price, a credential of the platform or of the organisation. */
export interface Ready {
  readonly entry: SearchProviderEntry
  readonly target: CallTarget
  readonly price: Amount
  /** Whether it can be called with an organisation's own key alone. */
  readonly lacksKey: boolean
}

/**
 * The providers to call, in order: the application's own, or the platform's default, or one at random; then the others
 * in the directory's order. An application's own provider that is not usable is not replaced: fail-closed.
 */
export const providersFor = (
  snapshot: CatalogueSnapshot,
  currency: string,
  own: string | null | undefined,
  ownKeys?: OwnKeys,
): Result.Result<ReadonlyArray<Ready>, ServiceError<"websearch_not_configured">> => {
  const ready = readyIn(snapshot).filter(
    ({ entry: { provider }, lacksKey }) =>
      provider.currency === currency && (!lacksKey || ownKeys?.has(provider.id) === true),
  )
  const chosen = own ?? snapshot.document.defaultSearchProvider
  const first = ready.find(({ entry }) => entry.provider.id === chosen)
  if (typeof own === "string" && first === undefined) return Result.fail(notConfigured)
  const preferred = first ?? drawn(ready)
  if (preferred === undefined) return Result.fail(notConfigured)
  return Result.succeed([preferred, ...ready.filter((provider) => provider !== preferred)])
}

const notConfigured = serviceError("websearch_not_configured", "No usable search provider is configured")

/** Made once for each catalogue. */
const made = new WeakMap<CatalogueSnapshot, ReadonlyArray<Ready>>()

const readyIn = (snapshot: CatalogueSnapshot): ReadonlyArray<Ready> => {
  const known = made.get(snapshot)
  if (known !== undefined) return known
  const ready = snapshot.searchProviders.flatMap((entry) => readyOf(entry) ?? [])
  made.set(snapshot, ready)
  return ready
}

const readyOf = (entry: SearchProviderEntry): Ready | undefined => {
  const { provider, credential } = entry
  const dialect = searchDialectOf(provider.vendor)
  const price = priceOf(entry)
  if (dialect === undefined || price === undefined) return undefined
  const lacksKey = credential === undefined && (dialect.needsCredential || provider.credential !== undefined)
  return { entry, target: targetOf(entry, dialect), price, lacksKey }
}

/** A provider as a target: the same provider elsewhere has another breaker. */
const targetOf = ({ provider, credential, network }: SearchProviderEntry, search: SearchDialect): CallTarget => {
  const { id, vendor: dialect, baseUrl, timeout = defaultTimeoutMs } = provider
  const { host } = new URL(baseUrl)
  return {
    key: `search/${id}@${host}`,
    vendor: {
      id,
      baseUrl,
      dialect,
      ...(provider.credential !== undefined && { credential: provider.credential }),
      timeouts: { connect: timeout, ttfb: timeout, idle: timeout },
    },
    dialect: {
      authorize: search.authorize,
      decodeError: searchRefusal,
      search,
    },
    model: id,
    credential,
    network,
    isOwn: false,
    identity: undefined,
    isGuarded: false,
    tier: 0,
    weight: 1,
  }
}

const defaultTimeoutMs = 8000

/** Random choice by weight. */
const drawn = (ready: ReadonlyArray<Ready>): Ready | undefined => {
  let draw = Math.random() * ready.reduce((sum, { entry }) => sum + weightOf(entry), 0)
  const found = ready.find(({ entry }) => {
    draw -= weightOf(entry)
    return draw < 0
  })
  return found ?? ready[0]
}
