/** Every metric of Weir. `/metrics` exposes them in Prometheus format. */
import { type Context, Effect, Metric, type Scope } from "effect"
import type { PolicyHit } from "../protocol/control/usage-record.ts"
import { type Tier, type TimeoutInForce, tiers } from "../protocol/timeout-tiers.ts"
import type { EstimatedReason } from "../protocol/usage.ts"

type Attributes = Readonly<Record<string, string>>

/** A metric with the labels that lead to it, and those with more. */
interface Branch<M> {
  metric: M | undefined
  readonly next: Map<string, Branch<M>>
}

const branch = <M>(): Branch<M> => ({ metric: undefined, next: new Map() })

const follow = <M>(at: Branch<M>, label: string): Branch<M> => {
  let next = at.next.get(label)
  if (next === undefined) {
    next = branch()
    at.next.set(label, next)
  }
  return next
}

/**
 * A metric for each set of attributes. With its own attributes it finds its series by a key that it computes once, which takes
 * longer than the update; `Metric.withAttributes` would compute it each time.
 */
const byAttributes = <M>(make: (attributes: Attributes) => M): ((attributes?: Attributes) => M) => {
  const root = branch<M>()
  return (attributes = {}) => {
    let at = root
    for (const name in attributes) at = follow(follow(at, name), attributes[name] ?? "")
    at.metric ??= make(attributes)
    return at.metric
  }
}
const counter = (name: string, description: string) =>
  byAttributes((attributes) => Metric.counter(name, { description, incremental: true, attributes }))
const gauge = (name: string, description: string) =>
  byAttributes((attributes) => Metric.gauge(name, { description, attributes }))
const histogram = (name: string, description: string, boundaries: ReadonlyArray<number>) =>
  byAttributes((attributes) => Metric.histogram(name, { description, boundaries, attributes }))

const steps = [1, 1.5, 2, 3, 5, 7]
/** The steps of fine boundaries: in the usual range of limits, each is at most a quarter above the one before. */
const fineSteps = [1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8]

/** From a millisecond to an hour, six steps per power of ten; twice as many from a second to 100, to tune timeouts. */
export const tierBoundaries: ReadonlyArray<number> = [
  ...[1, 10, 100].flatMap((power) => steps.map((step) => step * power)),
  ...[1000, 10_000].flatMap((power) => fineSteps.map((step) => step * power)),
  ...[100_000, 1_000_000].flatMap((power) => steps.map((step) => step * power)),
  3_600_000,
].filter((boundary) => boundary <= 3_600_000)

/**
 * Observed time of each timeout tier, in milliseconds; attributes `tier`, `vendor` and the vendor's name of the
 * `model`.
 */
const tierMillis = histogram(
  "weir_upstream_tier_ms",
  "Observed time of each upstream timeout tier, in milliseconds, of calls that the tier did not end",
  tierBoundaries,
)
const tierLimit = gauge(
  "weir_upstream_tier_limit_ms",
  "The timeout in force of each upstream tier, in milliseconds, and the source that it comes from",
)

const tierTimeouts = counter("weir_upstream_tier_timeouts_total", "Upstream calls that a timeout tier ended")

const exchanges = counter("weir_exchanges_total", "Exchanges by outcome: a stop reason, or an error code")

/** Source of the names, attributes and boundaries: OpenTelemetry semantic conventions, generative AI metrics. */
const callSeconds = histogram(
  "gen_ai.client.operation.duration",
  "Duration of calls to models, in seconds",
  [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
)
const callTokens = histogram(
  "gen_ai.client.token.usage",
  "Tokens of calls to models, input and output",
  [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864],
)

const toolSeconds = histogram(
  "weir_tool_call_seconds",
  "Duration of calls of tools, in seconds, by server, tool and outcome (result, failed, or an error); beyond 1000 tools they are `other`",
  [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68],
)

const gateFailures = counter(
  "weir_gate_failures_total",
  "Admissions without an answer of the gate's store, by mode: enforce refuses them, shadow and off admit them",
)

const sheds = counter(
  "weir_shed_total",
  "Calls refused because of overload, by cause: busy (the event loop is late, or most organisations' holds wait), long waits of their own organisation, too many open, memory, or no file or port for the vendor",
)
const newFields = counter(
  "weir_new_fields_total",
  "Fields of carried requests that the gateway does not know, by the API's dialect and name; beyond 100 names they are `other`",
)
const capacity = gauge("weir_exchanges_max", "Exchanges that may be open at once, by configuration, files and ports")()

const journaled = gauge(
  "weir_journal_settlements",
  "Settlements in the journal of this node: on their way to the database (`following`), or not taken by it (`waiting`)",
)

const problems = gauge("weir_problems", "Problems of this node although it serves calls, 1 each")
const problemsBegun = counter(
  "weir_problems_total",
  "Problems of this node that have begun, e.g. a changed file that was refused, or a failing export of telemetry",
)

const usageEstimates = counter(
  "weir_usage_estimated_total",
  "Exchanges whose usage was estimated, by reason: upstream_usage_implausible is a vendor's report that cannot be true",
)

const ledgerEvents = counter(
  "weir_ledger_events_total",
  "Allotments: refill (asked ahead of need), recall (asked other nodes), recalled (gave back), duplicate (not billed)",
)
const budgets = counter(
  "weir_budgets_total",
  "Decisions of budgets: rejected (enforce), would_reject (shadow), near (a threshold was reached)",
)
const allotted = gauge(
  "weir_ledger_allotted",
  "Allotments of this node for all organisations, by counter (a currency, tokens or budgets) and state: free, or held",
)
const holdWaits = histogram(
  "weir_ledger_hold_wait_ms",
  "How long holds waited for the database that this node's allotment did not cover, in milliseconds",
  [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000],
)()

const deliveries = counter(
  "weir_webhook_deliveries_total",
  "Attempts to deliver events by outcome: delivered, again, failed; webhooks of organisations are one series",
)
const deliveryLag = gauge(
  "weir_webhook_oldest_pending_seconds",
  "Age of the oldest event that was not delivered to a webhook yet; webhooks of organisations are one series",
)
const exportedRows = counter("weir_export_records_total", "Records that are in files of exports, by export and kind")
const exportedFiles = counter("weir_export_files_total", "Files that exports have written")
const exportFailures = counter(
  "weir_export_failures_total",
  "Windows of exports that were not written, and are tried again",
)
const exportLag = gauge(
  "weir_export_lag_seconds",
  "Age of the oldest record that may be in no file yet, by export and kind: the shard that is behind most",
)
const booksOverdue = gauge(
  "weir_books_overdue_seconds",
  "How long ago the oldest open month of the books should have been closed; 0 if none should",
)
const vendorBatches = gauge(
  "weir_batches_at_vendors",
  "Parts of batches that run at vendors, of all nodes, by vendor and state: waiting (not sent), sending (may be there), running",
)
const vendorBatchLines = gauge(
  "weir_batch_lines_at_vendors",
  "Requests of the parts of batches that run at vendors, of all nodes, by vendor and state",
)
const cooldowns = counter(
  "weir_target_cooldowns_total",
  "Cooldowns of targets, by cause: the breaker opened, the vendor asked to wait, is busy, or refuses the target",
)

const reviews = counter(
  "weir_reviews_total",
  "Safety reviews by mode (review before or withholding, sample of a stream) and verdict: allowed, denied, failed, dropped",
)

const policyHits = counter(
  "weir_policy_hits_total",
  "Exchanges in which a content policy found something, by policy, place (request, reply) and consequence",
)

const engineFailures = counter(
  "weir_policy_engine_failures_total",
  "Texts without a verdict, by kind of engine and reason; unauthorized and credential need an operator, cooling is not called",
)

const concurrency = counter(
  "weir_plan_gate_total",
  "Sessions checked against their plan's concurrency: admitted, rejected (enforce), would_reject (shadow)",
)

const cachedReplies = counter(
  "weir_reply_cache_total",
  "Requests whose reply may be kept, by outcome: hit, wait (for an equal call that ran), miss; and model",
)
const cacheSaved = counter("weir_reply_cache_saved_total", "Savings of replies from the cache, by currency and model")
const cacheFailures = counter(
  "weir_reply_cache_failures_total",
  "Questions to the store of kept replies without an answer, which are misses, by cause: slow, unavailable",
)
const cacheBytes = gauge("weir_reply_cache_bytes", "Memory for kept replies of this node, in bytes")()

const backgroundResponses = gauge(
  "weir_background_responses",
  "Responses of this node that run without their client, in the background",
)()
const unopened = counter(
  "weir_kept_unopened_total",
  "Kept responses, conversations and files that this node could not open: they were sealed with another SVC_MASTER_KEY",
)()

const retentionRuns = counter("weir_retention_runs_total", "Runs of the retention job")()
const droppedPartitions = counter(
  "weir_retention_partitions_dropped_total",
  "Usage partitions dropped after their retention",
)()
const retentionRemoved = counter("weir_retention_rows_removed_total", "Rows removed after their retention")()

const tenantReads = counter("weir_tenant_reads_total", "Queries for tenants and keys that this node did not know")()
const tenantBytes = gauge("weir_tenant_cache_bytes", "Memory for tenants and keys that were active, in bytes")()

const identities = gauge(
  "weir_identity_valid",
  "Whether the gateway's identity at a vendor on a cloud works, or was not needed yet: 1, or 0",
)

const openExchanges = gauge("weir_exchanges_open", "Open exchanges of this node")()

const spoolFiles = gauge("weir_spool_files", "Files of running calls, those in memory among them")()
const spoolBytes = gauge("weir_spool_bytes", "Disk for files and large replies of running calls, in bytes")()

const openSockets = gauge("weir_sockets_open", "Open WebSockets of this node, by kind")

const realtimeResponses = counter(
  "weir_realtime_responses_total",
  "Responses of realtime sessions, by how they stopped; not_billed had no output",
)
const realtimeSeconds = counter(
  "weir_realtime_audio_seconds_total",
  "Seconds of sound of realtime sessions, by direction",
)

/** The same for labels without their names, which need no object. */
const bound = <Labels extends ReadonlyArray<string>, M>(make: (...labels: Labels) => M): ((...labels: Labels) => M) => {
  const root = branch<M>()
  return (...labels) => {
    let at = root
    for (const label of labels) at = follow(at, label)
    at.metric ??= make(...labels)
    return at.metric
  }
}

/**
 * Gauges of things that come and go, such as webhooks. Each update has the values of all, and a thing that is not among
 * them has no series any more: its last value, and the alert about it, would stay until the process ends. So do all of them
 * when the scope closes: a process may have another gateway after this one.
 */
const seriesOf = <Labels extends ReadonlyArray<string>>(
  gaugeOf: (...labels: Labels) => Metric.Gauge<number>,
): Effect.Effect<SetSeries<Labels>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const services = yield* Effect.context<never>()
    let known: ReadonlySet<Metric.Gauge<number>> = new Set()
    const set: SetSeries<Labels> = (values) => {
      const updated = new Set<Metric.Gauge<number>>()
      for (const [labels, value] of values) {
        const series = gaugeOf(...labels)
        series.updateUnsafe(value, services)
        updated.add(series)
      }
      for (const series of known) if (!updated.has(series)) Metric.removeUnsafe(series, services)
      known = updated
    }
    yield* Effect.addFinalizer(() => Effect.sync(() => set([])))
    return set
  })

/** Sets the values of all series of a gauge. */
type SetSeries<Labels extends ReadonlyArray<string>> = (
  values: Iterable<readonly [labels: Labels, value: number]>,
) => void

const tierMetric = bound((tier: Tier, vendor: string, model: string) => tierMillis({ tier, vendor, model }))
const concurrencyMetric = bound((decision: string) => concurrency({ decision }))
const outcomeMetric = bound((outcome: string, model: string) => exchanges({ outcome, model }))

const callAttributes = (operation: string, provider: string, model: string) => ({
  "gen_ai.operation.name": operation,
  "gen_ai.provider.name": provider,
  "gen_ai.request.model": model,
})
const callSecondsMetric = bound((operation: string, provider: string, model: string, error: string) =>
  callSeconds({
    ...callAttributes(operation, provider, model),
    ...(error !== "" && { "error.type": error }),
  }),
)
const callTokensMetric = bound((operation: string, provider: string, model: string, type: string) =>
  callTokens({ ...callAttributes(operation, provider, model), "gen_ai.token.type": type }),
)

type Services = Context.Context<never>

/** The target of an upstream call. */
interface Upstream {
  readonly vendor: { readonly id: string }
  /** The vendor's own name of the model. */
  readonly model: string
}

/** Records the time of a tier; called between frames, so it is not an effect. */
export const recordTier = (services: Services, tier: Tier, { vendor, model }: Upstream, millis: number): void =>
  tierMetric(tier, vendor.id, model).updateUnsafe(millis, services)

/** Counts a call that a tier ended. */
export const recordTierTimeout = (services: Services, tier: Tier, { vendor, model }: Upstream): void =>
  tierTimeouts({ tier, vendor: vendor.id, model }).updateUnsafe(1, services)

const limitMetric = bound((tier: Tier, vendor: string, model: string, source: string) =>
  tierLimit({ tier, vendor, model, source }),
)
/** The last source of a target's limit: its series ends when the limit has another source. */
const limitSource = bound((_tier: Tier, _vendor: string, _model: string) => ({ last: "" }))

/** Records the timeouts in force for a target. */
export const recordTierLimits = (
  services: Services,
  { vendor, model }: Upstream,
  timeouts: Readonly<Record<Tier, TimeoutInForce>>,
): void => {
  for (const tier of tiers) {
    const { ms, source } = timeouts[tier]
    const known = limitSource(tier, vendor.id, model)
    if (known.last !== "" && known.last !== source) {
      Metric.removeUnsafe(limitMetric(tier, vendor.id, model, known.last), services)
    }
    known.last = source
    limitMetric(tier, vendor.id, model, source).updateUnsafe(ms, services)
  }
}

/** Records a call to a model. @param error the kind of failure @param usage the usage that the vendor reported */
export const recordModelCall = (
  services: Services,
  call: {
    readonly operation: string
    readonly provider: string
    readonly model: string
    readonly millis: number
    readonly error?: string
  },
  usage: { readonly inTokens: number; readonly outTokens?: number | undefined } | undefined,
): void => {
  const { operation, provider, model, millis, error = "" } = call
  callSecondsMetric(operation, provider, model, error).updateUnsafe(millis / 1000, services)
  if (usage === undefined) return
  callTokensMetric(operation, provider, model, "input").updateUnsafe(usage.inTokens, services)
  if (usage.outTokens !== undefined)
    callTokensMetric(operation, provider, model, "output").updateUnsafe(usage.outTokens, services)
}

const toolMetric = bound((server: string, tool: string, outcome: string) => toolSeconds({ server, tool, outcome }))

/** Names of tools that have been counted: servers choose them, and each is a series. */
const chartedTools = new Set<string>()
const mostChartedTools = 1000

/** The name of a tool, with its server's, as the value of a label. */
const chartedTool = (handle: string): string => {
  if (chartedTools.has(handle)) return handle
  if (chartedTools.size >= mostChartedTools) return "other"
  chartedTools.add(handle)
  return handle
}

/** Records a call of a tool. @param outcome `result`, `failed` if the tool says so, or the kind of error */
export const recordToolCall = (
  services: Services,
  call: { readonly server: string; readonly handle: string; readonly outcome: string; readonly millis: number },
): void => toolMetric(call.server, chartedTool(call.handle), call.outcome).updateUnsafe(call.millis / 1000, services)

/** Counts an exchange by its outcome. Unknown handles are not label values: pass `unknown`. */
export const recordOutcome = (services: Services, outcome: string, model: string): void =>
  outcomeMetric(outcome, model).updateUnsafe(1, services)

/** Counts a query for tenants. @param bytes what is known after it */
export const recordTenantRead = (services: Services, bytes: number): void => {
  tenantReads.updateUnsafe(1, services)
  tenantBytes.updateUnsafe(bytes, services)
}

export const recordOpenExchanges = (services: Services, open: number): void =>
  openExchanges.updateUnsafe(open, services)

export const recordSpool = (services: Services, files: number, bytes: number): void => {
  spoolFiles.updateUnsafe(files, services)
  spoolBytes.updateUnsafe(bytes, services)
}

export const recordOpenSockets = (services: Services, kind: string, open: number): void =>
  openSockets({ kind }).updateUnsafe(open, services)

export const recordBackgroundResponses = (services: Services, running: number): void =>
  backgroundResponses.updateUnsafe(running, services)

export const recordUnopened = (services: Services): void => unopened.updateUnsafe(1, services)

export const recordRealtimeResponse = (services: Services, stop: string): void =>
  realtimeResponses({ stop }).updateUnsafe(1, services)

export const recordRealtimeSeconds = (services: Services, direction: "in" | "out", seconds: number): void => {
  if (seconds > 0) realtimeSeconds({ direction }).updateUnsafe(seconds, services)
}

/** @param following on their way to the database @param waiting not taken by it */
export const recordJournal = (services: Services, following: number, waiting: number): void => {
  journaled({ state: "following" }).updateUnsafe(following, services)
  journaled({ state: "waiting" }).updateUnsafe(waiting, services)
}

export const recordCapacity = (services: Services, exchanges: number): void =>
  capacity.updateUnsafe(exchanges, services)

/** Counts an admission for which the gate's store did not answer. */
export const recordGateFailure = (services: Services, mode: string): void =>
  gateFailures({ mode }).updateUnsafe(1, services)

/** `organisation`: calls of its own organisation wait for too long. */
type Shed = "busy" | "organisation" | "open" | "memory" | "files"

/** Counts a call that was refused because of overload. */
export const recordShed = (services: Services, cause: Shed): void => sheds({ cause }).updateUnsafe(1, services)

/** Names of new fields that have been counted: callers choose them, and each is a series. */
const chartedFields = new Set<string>()
const mostChartedFields = 100

/** @param path e.g. `messages.0.content`; places in lists are one name */
const chartedField = (path: string): string => {
  const name = path.replace(/\.\d+(?=\.|$)/g, ".#")
  if (chartedFields.has(name)) return name
  if (chartedFields.size >= mostChartedFields || !/^[\w.#]{1,64}$/.test(name)) return "other"
  chartedFields.add(name)
  return name
}

/** Counts fields of a carried request that the gateway does not know. @param paths as their client named them */
export const recordNewFields = (services: Services, dialect: string, paths: ReadonlyArray<string>): void => {
  for (const path of paths) newFields({ dialect, field: chartedField(path) }).updateUnsafe(1, services)
}

const ledgerMetric = bound((event: string) => ledgerEvents({ event }))

/** Counts what happens to allotments. */
export const recordLedgerEvent = (services: Services, event: "refill" | "recall" | "recalled" | "duplicate"): void =>
  ledgerMetric(event).updateUnsafe(1, services)

const budgetMetric = bound((budget: string, decision: string) => budgets({ budget, decision }))

export const recordBudget = (
  services: Services,
  budgetId: string,
  decision: "rejected" | "would_reject" | "near",
): void => budgetMetric(budgetId, decision).updateUnsafe(1, services)

/** Whether the identities at vendors work, 1 or 0, by vendor. */
export const identitySeries = seriesOf(bound((vendor: string) => identities({ vendor })))

/** Problems of this node, 1 each. */
export const problemSeries = seriesOf(bound((what: string) => problems({ what })))
const problemsMetric = bound((what: string) => problemsBegun({ what }))

/** Counts a problem of this node when it begins, or becomes another: e.g. a file that was refused. */
export const recordProblem = (services: Services, what: string): void => problemsMetric(what).updateUnsafe(1, services)

/** The allotments of this node, in units of the counter. */
export const allottedSeries = seriesOf(bound((counter: string, state: "free" | "held") => allotted({ counter, state })))

/** Records how long a hold waited for the database. */
export const recordHoldWait = (services: Services, millis: number): void => holdWaits.updateUnsafe(millis, services)

/** Counts an exchange whose usage was estimated. @param model the vendor's name of the model */
export const recordUsageEstimate = (services: Services, reason: EstimatedReason, vendor: string, model: string): void =>
  usageEstimates({ reason, vendor, model }).updateUnsafe(1, services)

const cachedRepliesMetric = bound((outcome: string, model: string) => cachedReplies({ outcome, model }))
const cacheSavedMetric = bound((currency: string, model: string) => cacheSaved({ currency, model }))

/** Counts a request whose reply may be kept. */
export const recordCachedReply = (services: Services, outcome: "hit" | "wait" | "miss", model: string): void =>
  cachedRepliesMetric(outcome, model).updateUnsafe(1, services)

/** Adds what a reply from the cache saved. @param saved in the currency; charts need no exact money */
export const recordCacheSaving = (services: Services, saved: number, currency: string, model: string): void =>
  cacheSavedMetric(currency, model).updateUnsafe(saved, services)

export const recordReplyCacheFailure = (services: Services, cause: "slow" | "unavailable"): void =>
  cacheFailures({ cause }).updateUnsafe(1, services)

export const recordReplyCacheBytes = (services: Services, bytes: number): void =>
  cacheBytes.updateUnsafe(bytes, services)

/** Counts a run of the retention job. */
export const recordRetention = (services: Services, dropped: number, removed: number): void => {
  retentionRuns.updateUnsafe(1, services)
  droppedPartitions.updateUnsafe(dropped, services)
  retentionRemoved.updateUnsafe(removed, services)
}

/** Counts an attempt to deliver an event. */
export const recordDelivery = (services: Services, webhook: string, outcome: "delivered" | "again" | "failed"): void =>
  deliveries({ webhook, outcome }).updateUnsafe(1, services)

/** Seconds, by webhook; 0 if nothing waits. */
export const deliveryLagSeries = seriesOf(bound((webhook: string) => deliveryLag({ webhook })))

/** Counts a window that has landed. */
export const recordExported = (
  services: Services,
  id: string,
  records: string,
  { files, rows }: { readonly files: number; readonly rows: number },
): void => {
  exportedFiles({ export: id, records }).updateUnsafe(files, services)
  exportedRows({ export: id, records }).updateUnsafe(rows, services)
}

export const recordExportFailure = (services: Services, id: string, records: string): void =>
  exportFailures({ export: id, records }).updateUnsafe(1, services)

/** Parts of batches, by vendor and state. */
export const vendorBatchSeries = seriesOf(bound((vendor: string, state: string) => vendorBatches({ vendor, state })))
/** Their requests. */
export const vendorLineSeries = seriesOf(bound((vendor: string, state: string) => vendorBatchLines({ vendor, state })))

/** Seconds, by export and kind of records. */
export const exportLagSeries = seriesOf(bound((id: string, records: string) => exportLag({ export: id, records })))

export const recordBooksOverdue = (services: Services, shard: string, seconds: number): void =>
  booksOverdue({ shard }).updateUnsafe(seconds, services)

/** Counts a target that starts to cool down. @param target vendor and model, or that it is an organisation's own */
export const recordCooldown = (services: Services, target: string, cause: string): void =>
  cooldowns({ target, cause }).updateUnsafe(1, services)

/** Counts a safety review. */
export const recordReview = (
  services: Services,
  mode: "review" | "sample",
  verdict: "allowed" | "denied" | "failed" | "dropped",
): void => reviews({ mode, verdict }).updateUnsafe(1, services)

/** Counts an exchange for each policy that found something in it. */
export const recordPolicyHits = (services: Services, hits: ReadonlyArray<PolicyHit>): void => {
  for (const { policy, at, did } of hits) policyHits({ policy, at, did }).updateUnsafe(1, services)
}

/** Counts a text for which an engine of a policy had no verdict. */
export const recordEngineFailure = (services: Services, engine: string, reason: string): void =>
  engineFailures({ engine, reason }).updateUnsafe(1, services)

/** Counts a session that was checked against its plan. */
export const recordConcurrency = (services: Services, decision: "admitted" | "rejected" | "would_reject"): void =>
  concurrencyMetric(decision).updateUnsafe(1, services)
