/**
 * Web search: admit, hold, call providers in order, settle once for the provider that answered. The query is only in
 * the request to the provider. Source: interface.md "POST /t1/websearch".
 */
import { Clock, Context, Effect, Layer } from "effect"
import { CallBudgets } from "../admission/budgets.ts"
import { type AdmissionError, type DailyCount, Gate, retryInBackground } from "../admission/gate.ts"
import { rateWindows } from "../admission/rates.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { SearchProviderEntry } from "../catalogue/snapshot.ts"
import { WeirConfig } from "../config.ts"
import { budgetSubjects, type Caller } from "../identity/caller.ts"
import { nearNotice, needsOf } from "../money/budget.ts"
import { BudgetWarnings } from "../money/budget-warnings.ts"
import { type HoldError, Ledger } from "../money/ledger.ts"
import type { UsageRecord } from "../money/settlement.ts"
import { Settler } from "../money/settler.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { SearchRequest, SearchResult } from "../protocol/search.ts"
import { dayOf } from "../protocol/utc8.ts"
import { recordOutcome } from "../telemetry/metrics.ts"
import { spanned } from "../telemetry/tracing.ts"
import { VendorClient } from "../upstream/client.ts"
import { CallDeadlines, type Deadlines } from "../upstream/deadlines.ts"
import { TargetHealth } from "../upstream/health.ts"
import { ask } from "./ask.ts"
import { providersFor } from "./providers.ts"

export type SearchError =
  | AdmissionError
  | HoldError
  | ServiceError<"websearch_not_configured" | "upstream_error" | "forbidden" | "bad_request">
  | ServiceError<"upstream_error" | "rate_limited">

export interface Found {
  readonly results: ReadonlyArray<SearchResult>
  /** What `x-svc-warning` tells. */
  readonly notice: string | undefined
}

export class WebSearch extends Context.Service<
  WebSearch,
  {
    readonly search: (requestId: string, caller: Caller, request: SearchRequest) => Effect.Effect<Found, SearchError>
  }
>()("weir/search/WebSearch") {
  static readonly layer = Layer.effect(
    WebSearch,
    Effect.gen(function* () {
      const services = {
        config: yield* WeirConfig,
        catalogue: yield* Catalogue,
        gate: yield* Gate,
        budgets: yield* CallBudgets,
        budgetWarnings: yield* BudgetWarnings,
        ledger: yield* Ledger,
        settler: yield* Settler,
        client: yield* VendorClient,
        deadlines: yield* CallDeadlines,
        health: yield* TargetHealth,
      }
      const context = yield* Effect.context<never>()
      return WebSearch.of({
        search: (requestId, caller, request) =>
          search(services, requestId, caller, request).pipe(
            Effect.tap(() => Effect.sync(() => recordOutcome(context, "end", "websearch"))),
            Effect.tapError((error) =>
              Effect.sync(() =>
                recordOutcome(context, error._tag === "ServiceError" ? error.code : "internal_error", "websearch"),
              ),
            ),
          ),
      })
    }),
  )
}

interface SearchServices {
  readonly config: WeirConfig["Service"]
  readonly catalogue: Catalogue["Service"]
  readonly gate: Gate["Service"]
  readonly budgets: CallBudgets["Service"]
  readonly budgetWarnings: BudgetWarnings["Service"]
  readonly ledger: Ledger["Service"]
  readonly settler: Settler["Service"]
  readonly client: VendorClient["Service"]
  readonly deadlines: Deadlines
  readonly health: TargetHealth["Service"]
}

const defaultResults = 8

const search = Effect.fnUntraced(function* (
  services: SearchServices,
  requestId: string,
  caller: Caller,
  { query, max_results = defaultResults }: SearchRequest,
): Effect.fn.Return<Found, SearchError> {
  const { gate, ledger, settler } = services
  if (caller.endUserId !== undefined && caller.org.capabilities?.["webSearch"] !== true) {
    return yield* serviceError("forbidden", "Web search is not enabled for end users", {
      detail: { capability: "webSearch" },
    })
  }
  const own = caller.config?.searchProviderId
  const snapshot = services.catalogue.current()
  const providers = yield* Effect.fromResult(providersFor(snapshot, caller.org.currency, own))
  const nowMs = yield* Clock.currentTimeMillis
  const counts = countsOf(caller, nowMs)
  const { keyId, nonce, org } = caller
  const admit = gate.admit({ owner: org.id, keyId, nonce, rates: rateWindows(caller), counts })
  // The hold covers the most expensive provider.
  const amount = providers.reduce((most, { price }) => (price > most ? price : most), 0n)
  const covering = services.budgets.covering(caller, budgetSubjects(caller), nowMs)
  const reserve = ledger.hold({
    ref: requestId,
    orgId: org.id,
    currency: org.currency,
    keyId,
    amount,
    day: dayOf(nowMs),
    budgets: needsOf(covering, { money: amount, tokens: 0n }),
  })

  // The hold is settled or released, even if the client disconnects.
  return yield* Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      yield* spanned("admit")(admit)
      const answered = Effect.gen(function* () {
        const hold = yield* spanned("hold")(reserve)
        const notice = nearNotice(services.budgetWarnings.take(org.id, covering))
        const asked = restore(ask(services, providers, query, max_results))
        const { provider, results } = yield* Effect.onError(asked, () => settler.release(hold))
        const atMs = yield* Clock.currentTimeMillis
        const record = recordOf(caller, provider.entry)
        yield* spanned("settle")(settler.settle({ hold, atMs, cost: provider.price, record }))
        services.budgetWarnings.charged(org.id, org.currency, covering)
        return { results, notice }
      })
      // A failed search does not count.
      const giveBack = counts.length === 0 ? Effect.void : retryInBackground(gate.giveBack(org.id, counts))
      return yield* Effect.onError(answered, () => giveBack)
    }),
  )
})

const countsOf = ({ plan, app, endUserId }: Caller, nowMs: number): ReadonlyArray<DailyCount> => {
  const day = dayOf(nowMs)
  const { websearchDaily, endUserWebsearchDaily } = plan ?? {}
  return [
    ...(websearchDaily === undefined ? [] : [{ bucket: "websearch", limit: websearchDaily, day }]),
    ...(endUserId === undefined || endUserWebsearchDaily === undefined
      ? []
      : [{ bucket: `websearch:${app?.id}:${endUserId}`, limit: endUserWebsearchDaily, day }]),
  ]
}

const recordOf = ({ app }: Caller, { provider }: SearchProviderEntry): UsageRecord => ({
  appId: app?.id ?? "",
  purpose: "websearch",
  model: "websearch",
  vendor: provider.id,
  counts: { inTokens: 0, outTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, dims: { web_search: 1 } },
  stop: "end",
  cacheNetSaving: 0n,
})
