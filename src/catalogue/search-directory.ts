/** Active search providers as callers see them. Pure. */

import { type Amount, formatAmount, parseAmount } from "../money/amount.ts"
import type { SearchDirectory } from "../protocol/kinds/search.ts"
import type { CatalogueSnapshot, SearchProviderEntry } from "./snapshot.ts"

/** Maximum results of any provider. */
export const maxSearchResults = 20

export const weightOf = ({ provider }: SearchProviderEntry): number => provider.weight ?? 1

export const priceOf = ({ provider }: SearchProviderEntry): Amount | undefined => parseAmount(provider.pricePerCall)

/** A safe projection: without credential, cost, weight, timeout and address. */
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
