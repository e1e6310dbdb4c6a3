/** The search providers that are active: their order, and what may be told of them. Pure. */

import type { CatalogueSnapshot, SearchProviderEntry } from "../catalogue/snapshot.ts"
import { type Amount, formatAmount, parseAmount } from "../money/amount.ts"
import type { SearchDirectory } from "../protocol/search.ts"

/** The most results that any provider gives. */
export const maxSearchResults = 20

/** By weight, then the newest, then by id: the directory's order, and that of failover. */
export const byDirectory = (a: SearchProviderEntry, b: SearchProviderEntry): number =>
  weightOf(b) - weightOf(a) || b.changedAtMs - a.changedAtMs || (a.provider.id < b.provider.id ? -1 : 1)

export const weightOf = ({ provider }: SearchProviderEntry): number => provider.weight ?? 1

export const priceOf = ({ provider }: SearchProviderEntry): Amount | undefined => parseAmount(provider.pricePerCall)

/** A safe projection: no credential, cost, weight, timeout or address. */
export const searchDirectory = (snapshot: CatalogueSnapshot): SearchDirectory => {
  const { defaultSearchProvider } = snapshot.document
  const active = snapshot.searchProviders
  const defaultProviderId = active.find(({ provider }) => provider.id === defaultSearchProvider)?.provider.id ?? null
  return {
    defaultProviderId,
    data: active.map((entry) => {
      const { id, name, vendor, currency, maxResultsCap = maxSearchResults } = entry.provider
      return {
        id,
        name,
        vendor,
        pricePerCall: formatAmount(priceOf(entry) ?? 0n),
        currency,
        maxResultsCap,
        isDefault: id === defaultProviderId,
      }
    }),
  }
}
