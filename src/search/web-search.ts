/**
 * Web search: admitted, held, asked of one provider after the other, billed once for the one that answered. The query is
 * in the request to the vendor, and nowhere else. Source: interface.md "POST /t1/websearch".
 */
import { Clock, Context, Data, Effect, Layer, Redacted, type Scope } from "effect"
import type { AdmissionError, DailyCount } from "../admission/gate.ts"
import { Gate } from "../admission/gate.ts"
import { rateWindows } from "../admission/rates.ts"
import { dayOf } from "../admission/utc8.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { SearchProviderEntry } from "../catalogue/snapshot.ts"
import { WeirConfig } from "../config.ts"
import { AppConfigs } from "../identity/app-configs.ts"
import type { Caller } from "../identity/caller.ts"
import type { Amount } from "../money/amount.ts"
import { type HoldError, Ledger, type UsageRecord } from "../money/ledger.ts"
import { Settler } from "../money/settler.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { SearchRequest, SearchResult } from "../protocol/search.ts"
import { recordOutcome } from "../telemetry.ts"
import { type UpstreamBroken, type UpstreamCall, VendorClient } from "../vendor/client.ts"
import { parseObject } from "../vendor/dialects/json.ts"
import { TargetHealth, type TargetResting } from "../vendor/health.ts"
import { retryAfterOf } from "../vendor/retry-after.ts"
import { normalise, refusalCode, type SearchDialect } from "./dialects/dialect.ts"
import { searchDialectOf } from "./dialects/index.ts"
import { maxSearchResults, priceOf, weightOf } from "./directory.ts"

export type SearchError =
  | AdmissionError
  | HoldError
  | ServiceError<"websearch_not_configured" | "upstream_error" | "forbidden" | "bad_request">

export class WebSearch extends Context.Service<
  WebSearch,
  {
    readonly search: (
      requestId: string,
      caller: Caller,
      request: SearchRequest,
    ) => Effect.Effect<ReadonlyArray<SearchResult>, SearchError>
  }
>()("weir/search/WebSearch") {
  static readonly layer = Layer.effect(
    WebSearch,
    Effect.gen(function* () {
      const services = {
        config: yield* WeirConfig,
        catalogue: yield* Catalogue,
        appConfigs: yield* AppConfigs,
        gate: yield* Gate,
        ledger: yield* Ledger,
        settler: yield* Settler,
        client: yield* VendorClient,
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
  readonly appConfigs: AppConfigs["Service"]
  readonly gate: Gate["Service"]
  readonly ledger: Ledger["Service"]
  readonly settler: Settler["Service"]
  readonly client: VendorClient["Service"]
  readonly health: TargetHealth["Service"]
}

/** A provider that passed the three gates: its wire is known, its price can be charged, its credential is there. */
interface Ready {
  readonly entry: SearchProviderEntry
  readonly dialect: SearchDialect
  readonly price: Amount
  readonly credential: string
}

const defaultResults = 8
const defaultTimeoutMs = 8000

const search = Effect.fnUntraced(function* (
  services: SearchServices,
  requestId: string,
  caller: Caller,
  { query, max_results = defaultResults }: SearchRequest,
): Effect.fn.Return<ReadonlyArray<SearchResult>, SearchError> {
  const { gate, ledger, settler, config } = services
  if (caller.endUserId !== undefined && caller.org.capabilities?.["webSearch"] !== true) {
    return yield* serviceError("forbidden", "Web search is not open to end users", {
      detail: { capability: "webSearch" },
    })
  }
  const providers = yield* providersFor(services, caller)
  const counts = countsOf(caller, yield* Clock.currentTimeMillis)
  yield* gate.admit({
    owner: caller.org.id,
    keyId: caller.keyId,
    nonce: caller.nonce,
    rates: rateWindows(caller),
    counts,
  })
  const uncount = counts.length === 0 ? Effect.void : Effect.ignore(gate.giveBack(caller.org.id, counts))

  return yield* Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      // Whichever provider answers, its price is covered.
      const amount = providers.reduce((most, { price }) => (price > most ? price : most), 0n)
      const currency = caller.org.currency
      const { keyId, org } = caller
      yield* ledger.hold({
        ref: requestId,
        orgId: org.id,
        currency,
        keyId,
        requestId,
        amount,
        leaseMs: config.leaseMs,
        quota: { tokens: 0, limit: undefined },
      })
      const answer = yield* restore(ask(services, providers, query, max_results)).pipe(
        Effect.tapError(() => settler.release(requestId)),
        Effect.onInterrupt(() => settler.release(requestId)),
      )
      const { entry, price } = answer.provider
      yield* settler.settle({ ref: requestId, cost: price, record: recordOf(caller, entry) })
      return answer.results
    }),
  ).pipe(
    Effect.tapError(() => uncount),
    Effect.onInterrupt(() => uncount),
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

/**
 * The providers to ask, in order: the application's own, or the platform's default, or one by lot; then the others in
 * the directory's order. An application's own provider that fails a gate is not replaced: fail-closed.
 */
const providersFor = (
  { catalogue, appConfigs }: SearchServices,
  caller: Caller,
): Effect.Effect<ReadonlyArray<Ready>, ServiceError<"websearch_not_configured">> => {
  const snapshot = catalogue.current()
  const ready = snapshot.searchProviders.flatMap((entry) => readyOf(entry, caller.org.currency) ?? [])
  const own = caller.app === undefined ? undefined : appConfigs.of(caller.app.id)?.searchProviderId
  const chosen = own ?? snapshot.document.defaultSearchProvider
  const first = ready.find(({ entry }) => entry.provider.id === chosen)
  if (typeof own === "string" && first === undefined) return Effect.fail(notConfigured)
  const preferred = first ?? drawn(ready)
  if (preferred === undefined) return Effect.fail(notConfigured)
  return Effect.succeed([preferred, ...ready.filter((provider) => provider !== preferred)])
}

const notConfigured = serviceError("websearch_not_configured", "Web search is not available at the moment")

const readyOf = (entry: SearchProviderEntry, currency: string): Ready | undefined => {
  const { provider, credential } = entry
  const dialect = searchDialectOf(provider.vendor)
  const price = priceOf(entry)
  const secret = credential === undefined ? undefined : Redacted.value(credential)
  if (dialect === undefined || price === undefined || provider.currency !== currency) return undefined
  if (secret === undefined && (dialect.needsCredential || provider.credential !== undefined)) return undefined
  return { entry, dialect, price, credential: secret ?? "" }
}

/** By lot, weighted. */
const drawn = (ready: ReadonlyArray<Ready>): Ready | undefined => {
  let lot = Math.random() * ready.reduce((sum, { entry }) => sum + weightOf(entry), 0)
  const found = ready.find(({ entry }) => {
    lot -= weightOf(entry)
    return lot < 0
  })
  return found ?? ready[0]
}

interface Answer {
  readonly provider: Ready
  readonly results: ReadonlyArray<SearchResult>
}

/** The provider said no, or something else. */
class SearchRejected extends Data.TaggedError("SearchRejected")<{
  readonly status: number
  readonly code: string
  readonly retryAfterMs?: number | undefined
}> {}

/** Asks one provider after the other; the last refusal is what the client hears of. */
const ask = Effect.fnUntraced(function* (
  services: SearchServices,
  providers: ReadonlyArray<Ready>,
  query: string,
  maxResults: number,
): Effect.fn.Return<Answer, ServiceError<"upstream_error">> {
  let last: SearchRejected | TargetResting | undefined
  for (const despiteBreaker of [false, true]) {
    for (const provider of providers) {
      const { id, baseUrl, timeout = defaultTimeoutMs, maxResultsCap = maxSearchResults } = provider.entry.provider
      const key = `search/${id}@${new URL(baseUrl).host}`
      const count = Math.min(maxResults, maxResultsCap, maxSearchResults)
      const call = Effect.scoped(askOne(services, provider, query, count)).pipe(
        Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(timedOut) }),
      )
      const outcome = yield* services.health.begin(key, call, { judge, despiteBreaker }).pipe(Effect.result)
      if (outcome._tag === "Success") return { provider, results: outcome.success }
      const error = outcome.failure
      yield* Effect.logWarning("A search provider failed", { provider: id, ...describe(error) })
      if (error._tag === "SearchRejected" && error.retryAfterMs) yield* services.health.rest(key, error.retryAfterMs)
      if (last === undefined || error._tag === "SearchRejected") last = error
    }
    if (last?._tag === "SearchRejected") break
  }
  const rejected = last?._tag === "SearchRejected" ? last : new SearchRejected({ status: 429, code: "resting" })
  return yield* serviceError("upstream_error", "The upstream rejected the request", {
    detail: { upstreamStatus: rejected.status, upstreamCode: rejected.code },
    retryAfterMs: rejected.retryAfterMs,
  })
})

const timedOut = new SearchRejected({ status: 504, code: "timeout" })

const judge = (exit: { readonly _tag: "Success" | "Failure" }) => (exit._tag === "Success" ? "healthy" : "failing")

const describe = (error: SearchRejected | TargetResting) =>
  error._tag === "SearchRejected" ? { status: error.status, code: error.code } : { rests: error.cause }

const maxReplyBytes = 4 * 1024 * 1024

const askOne = Effect.fnUntraced(function* (
  { client }: SearchServices,
  { entry, dialect, credential }: Ready,
  query: string,
  count: number,
): Effect.fn.Return<ReadonlyArray<SearchResult>, SearchRejected, Scope.Scope> {
  const wire = dialect.encode({ query, count }, credential)
  const call = yield* client.open({ baseUrl: entry.provider.baseUrl, ...wire })
  const answer = Effect.gen(function* () {
    const head = yield* call.head
    return { head, body: yield* readBody(call) }
  })
  const { head, body } = yield* Effect.mapError(answer, unreachable)
  if (head.status !== 200) {
    const retryAfterMs = retryAfterOf(head.headers, yield* Clock.currentTimeMillis)
    return yield* new SearchRejected({ status: head.status, code: refusalCode(body), retryAfterMs })
  }
  const json = parseObject(body)
  const results = json === undefined ? undefined : dialect.decode(json)
  return results === undefined
    ? yield* new SearchRejected({ status: 502, code: "malformed_reply" })
    : normalise(results, count)
})

const unreachable = (_error: UpstreamBroken): SearchRejected =>
  new SearchRejected({ status: 502, code: "disconnected" })

const readBody = Effect.fnUntraced(function* (call: UpstreamCall): Effect.fn.Return<string, UpstreamBroken> {
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  while (bytes <= maxReplyBytes) {
    const chunk = yield* call.read
    if (chunk === undefined) return Buffer.concat(chunks).toString("utf8")
    chunks.push(chunk)
    bytes += chunk.length
  }
  return ""
})
