/** Web search: one call to one provider, billed by the call. The query is only in the request to the provider. */
import { Result } from "effect"
import type { Kind } from "../../calls/kind.ts"
import { withOwnKeys } from "../../calls/model.ts"
import { maxSearchResults } from "../../catalogue/search-directory.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import { normalise } from "../../dialects/search/dialect.ts"
import type { EncodeRefusal } from "../../dialects/wire.ts"
import { type Counts, noTokens } from "../../money/pricing.ts"
import type { SearchRequest, SearchResponse, SearchResult } from "../../protocol/kinds/search.ts"
import { dailyCountsOf } from "../daily-counts.ts"
import { WholeTask } from "../whole/whole-task.ts"
import { providersFor, searchKeys } from "./providers.ts"

const defaultResults = 8
const purpose = "websearch"

export const search: Kind<SearchRequest, SearchResponse> = {
  name: "search",
  purpose,
  modelOf: () => undefined,
  capability: "webSearch",
  dailyCounts: dailyCountsOf("websearch"),
  reviewed: ({ query }) => query,
  plan: ({ services, request, caller, catalogue }) => {
    const keys = searchKeys(catalogue, caller.upstreamKeys)
    return Result.map(
      providersFor(catalogue, caller.org.currency, caller.config?.searchProviderId, keys),
      (providers) => {
        const { query, max_results = defaultResults } = request
        const byKey = new Map(providers.map((ready) => [ready.target.vendor.id, ready]))
        const readyOf = ({ vendor }: CallTarget) => byKey.get(vendor.id)
        const countAt = (target: CallTarget) =>
          Math.min(max_results, readyOf(target)?.entry.provider.maxResultsCap ?? maxSearchResults, maxSearchResults)
        return new WholeTask<ReadonlyArray<SearchResult>, SearchResponse>(
          {
            model: purpose,
            targets: withOwnKeys(
              providers.map(({ target }) => target),
              caller.org.id,
              keys,
            ),
            timeoutsOf: (target) => services.timeoutsOf(catalogue, target),
            currency: caller.org.currency,
            // The most expensive provider.
            holdAmount: providers.reduce((most, { price }) => (price > most ? price : most), 0n),
            holdTokens: 0,
            operation: "search",
            hasNoModel: true,
            tellsCode: true,
            triesAfterRefusal: true,
            encode: (target) =>
              target.dialect.search === undefined
                ? Result.fail(noSearch)
                : Result.succeed(target.dialect.search.encode({ query, count: countAt(target) })),
            decode: (target, body) => {
              const results = target.dialect.search?.decode(body)
              return results && normalise(results, countAt(target))
            },
            bill: () => ({ counts: oneSearch }),
            charge: (_bill, target) => ({ cost: readyOf(target)?.price ?? 0n, cacheNetSaving: 0n }),
            answered: (parts) =>
              parts
                .flat()
                .map(({ title, snippet }) => `${title}\n${snippet}`)
                .join("\n"),
            edited: (part, edit) =>
              part.map((result) => ({
                ...result,
                title: edit(result.title, "toolResults", false),
                snippet: edit(result.snippet, "toolResults", false),
              })),
            finish: (parts) => () => ({ results: parts.flat() }),
          },
          services,
        )
      },
    )
  },
}

const noSearch: EncodeRefusal = { capability: "search", message: "this vendor has no search" }

const oneSearch: Counts = { ...noTokens, dims: { web_search: 1 } }
