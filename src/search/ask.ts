/** Calls search providers in order until one answers. */
import { Clock, Data, Effect, Exit, Option } from "effect"
import { overloaded } from "../admission/overload.ts"
import { parseObject } from "../dialects/json.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { SearchResult } from "../protocol/search.ts"
import { spanned } from "../telemetry/tracing.ts"
import { fetchWhole, isShortage, isTooSlow, type UpstreamBroken, type VendorClient } from "../upstream/client.ts"
import type { Deadlines } from "../upstream/deadlines.ts"
import type { TargetCoolingDown, TargetHealth, Verdict } from "../upstream/health.ts"
import { retryAfterOf } from "../upstream/retry-after.ts"
import { normalise, refusalCode } from "./dialects/dialect.ts"
import { maxSearchResults } from "./directory.ts"
import type { Ready } from "./providers.ts"

interface AskServices {
  readonly client: VendorClient["Service"]
  readonly deadlines: Deadlines
  readonly health: TargetHealth["Service"]
}

const defaultTimeoutMs = 8000

export interface Answer {
  readonly provider: Ready
  readonly results: ReadonlyArray<SearchResult>
}

/** The provider refused, or its reply is invalid. */
class SearchRejected extends Data.TaggedError("SearchRejected")<{
  readonly status: number
  readonly code: string
  readonly retryAfterMs?: number | undefined
}> {}

/** Calls providers in order; if all fail, the client gets the last refusal. */
export const ask = Effect.fnUntraced(function* (
  services: AskServices,
  providers: ReadonlyArray<Ready>,
  query: string,
  maxResults: number,
): Effect.fn.Return<Answer, ServiceError<"upstream_error" | "rate_limited">> {
  let last: SearchRejected | TargetCoolingDown | undefined
  for (const despiteBreaker of [false, true]) {
    for (const provider of providers) {
      const { key } = provider
      const { id, maxResultsCap = maxSearchResults } = provider.entry.provider
      const count = Math.min(maxResults, maxResultsCap, maxSearchResults)
      const attempt = askOne(services, provider, query, count).pipe(
        spanned(`search ${id}`, () => ({ kind: "client", attributes: { "weir.vendor": id } })),
      )
      const outcome = yield* services.health.begin(key, attempt, { judge, despiteBreaker }).pipe(Effect.result)
      if (outcome._tag === "Success") return { provider, results: outcome.success }
      const error = outcome.failure
      yield* Effect.logWarning("A search provider failed", { provider: id, ...describe(error) })
      if (error._tag === "SearchRejected" && error.retryAfterMs)
        yield* services.health.coolDown(key, error.retryAfterMs)
      if (last === undefined || error._tag === "SearchRejected") last = error
    }
    if (last?._tag === "SearchRejected") break
  }
  if (last === noRoom) return yield* overloaded()
  const rejected = last?._tag === "SearchRejected" ? last : new SearchRejected({ status: 429, code: "cooling_down" })
  return yield* serviceError("upstream_error", "The upstream rejected the request", {
    detail: { upstreamStatus: rejected.status, upstreamCode: rejected.code },
    retryAfterMs: rejected.retryAfterMs,
  })
})

const timedOut = new SearchRejected({ status: 504, code: "timeout" })

const judge = (exit: Exit.Exit<unknown, SearchRejected>): Verdict => {
  if (Exit.isSuccess(exit)) return "healthy"
  return Option.getOrUndefined(Exit.findErrorOption(exit)) === noRoom ? "ignored" : "failing"
}

const describe = (error: SearchRejected | TargetCoolingDown) =>
  error._tag === "SearchRejected" ? { status: error.status, code: error.code } : { cooldown: error.cause }

const maxReplyBytes = 4 * 1024 * 1024

const askOne = Effect.fnUntraced(function* (
  { client, deadlines }: AskServices,
  { entry, dialect, credential }: Ready,
  query: string,
  count: number,
): Effect.fn.Return<ReadonlyArray<SearchResult>, SearchRejected> {
  const { network, provider } = entry
  const request = { baseUrl: provider.baseUrl, network, ...dialect.encode({ query, count }, credential) }
  const { timeout: timeoutMs = defaultTimeoutMs } = provider
  const reply = fetchWhole(client, request, maxReplyBytes, { deadlines, timeoutMs })
  const { status, headers, body } = yield* Effect.mapError(reply, unreachable)
  if (status !== 200) {
    const retryAfterMs = retryAfterOf(headers, yield* Clock.currentTimeMillis)
    return yield* new SearchRejected({ status, code: refusalCode(body), retryAfterMs })
  }
  const json = parseObject(body)
  const results = json === undefined ? undefined : dialect.decode(json)
  return results === undefined
    ? yield* new SearchRejected({ status: 502, code: "malformed_reply" })
    : normalise(results, count)
})

const unreachable = (error: UpstreamBroken): SearchRejected => {
  if (isTooSlow(error)) return timedOut
  return isShortage(error) ? noRoom : new SearchRejected({ status: 502, code: "disconnected" })
}

/** This machine had no file or port for the connection: that says nothing about the provider. */
const noRoom = new SearchRejected({ status: 429, code: "no_room" })
