/** The search providers for a search, in order. Source: interface.md "POST /t1/websearch". */
import { Redacted, Result } from "effect"
import type { CatalogueSnapshot, SearchProviderEntry } from "../catalogue/snapshot.ts"
import type { Amount } from "../money/amount.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { SearchDialect } from "./dialects/dialect.ts"
import { searchDialectOf } from "./dialects/index.ts"
import { priceOf, weightOf } from "./directory.ts"

/** A usable provider: known vendor, chargeable price, credential present. */
export interface Ready {
  readonly entry: SearchProviderEntry
  /** The name of its breaker: the same provider elsewhere has another. */
  readonly key: string
  readonly dialect: SearchDialect
  readonly price: Amount
  readonly credential: string
}

/**
 * The providers to call, in order: the application's own, or the platform's default, or one at random; then the others
 * in the directory's order. An application's own provider that is not usable is not replaced: fail-closed.
 */
export const providersFor = (
  snapshot: CatalogueSnapshot,
  currency: string,
  own: string | null | undefined,
): Result.Result<ReadonlyArray<Ready>, ServiceError<"websearch_not_configured">> => {
  const ready = readyIn(snapshot).filter(({ entry }) => entry.provider.currency === currency)
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
  const secret = credential === undefined ? undefined : Redacted.value(credential)
  if (dialect === undefined || price === undefined) return undefined
  if (secret === undefined && (dialect.needsCredential || provider.credential !== undefined)) return undefined
  const key = `search/${provider.id}@${new URL(provider.baseUrl).host}`
  return { entry, key, dialect, price, credential: secret ?? "" }
}

/** Random choice by weight. */
const drawn = (ready: ReadonlyArray<Ready>): Ready | undefined => {
  let draw = Math.random() * ready.reduce((sum, { entry }) => sum + weightOf(entry), 0)
  const found = ready.find(({ entry }) => {
    draw -= weightOf(entry)
    return draw < 0
  })
  return found ?? ready[0]
}
