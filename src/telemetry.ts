/** What operators see: metrics in Prometheus' format, and structured logs that never hold a prompt or a secret. */
import { type Context, Effect, Layer, Logger, type LogLevel, Metric, References } from "effect"
import type { Tier } from "./exchange/tiers.ts"

/** From a millisecond to an hour, in steps of two and a half. */
const tierBoundaries = [
  1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 600_000, 3_600_000,
]

/** What each timeout tier really took, in milliseconds, per vendor; attributes `tier` and `vendor`. */
const tierMillis = Metric.histogram("weir_upstream_tier_ms", {
  description: "Actual time of each upstream timeout tier, in milliseconds",
  boundaries: tierBoundaries,
})

const counter = (name: string, description: string) => Metric.counter(name, { description, incremental: true })

const exchanges = counter("weir_exchanges_total", "Exchanges by outcome: a stop reason, or an error code")

const gateFailures = counter(
  "weir_gate_failures_total",
  "Admissions that the gate's store did not answer, by mode: enforce refuses them, shadow and off let them pass",
)

const sheds = counter(
  "weir_shed_total",
  "Calls that were turned away because this process had too much to do, by cause: busy, or too many open",
)

const rests = counter(
  "weir_target_rests_total",
  "Times that a target was left alone: its breaker opened, or its vendor asked for it with Retry-After",
)

const reviews = counter(
  "weir_reviews_total",
  "Safety reviews by mode (review before or withholding, sample of a stream) and verdict: allowed, denied, failed, dropped",
)

const concurrency = counter(
  "weir_plan_gate_total",
  "Sessions judged by their plan's concurrency: admitted, rejected (enforce), would_reject (shadow)",
)

const retentionRuns = counter("weir_retention_runs_total", "Runs of the retention job")
const retentionDropped = counter(
  "weir_retention_partitions_dropped_total",
  "Usage partitions dropped because they were past keeping",
)
const retentionRemoved = counter("weir_retention_rows_removed_total", "Rows removed because they were past keeping")

const openExchanges = Metric.gauge("weir_exchanges_open", { description: "Exchanges in flight on this node" })

/** Metrics with their attributes bound are kept, because binding costs more than counting. */
const bound = <M>(make: (a: string, b: string) => M): ((a: string, b: string) => M) => {
  const known = new Map<string, Map<string, M>>()
  return (a, b) => {
    const seen = known.get(a)?.get(b)
    if (seen !== undefined) return seen
    const metric = make(a, b)
    known.set(a, (known.get(a) ?? new Map<string, M>()).set(b, metric))
    return metric
  }
}

const tierMetric = bound((tier, vendor) => Metric.withAttributes(tierMillis, { tier, vendor }))
const concurrencyMetric = bound((decision) => Metric.withAttributes(concurrency, { decision }))
const outcomeMetric = bound((outcome, model) => Metric.withAttributes(exchanges, { outcome, model }))

type Services = Context.Context<never>

/** Records how long a tier took; called between frames, so it must not be an effect. */
export const recordTier = (services: Services, tier: Tier, vendor: string, millis: number): void =>
  tierMetric(tier, vendor).updateUnsafe(millis, services)

/** Counts an exchange by how it ended. Handles outside the catalogue are not label values: pass `unknown`. */
export const recordOutcome = (services: Services, outcome: string, model: string): void =>
  outcomeMetric(outcome, model).updateUnsafe(1, services)

export const recordOpenExchanges = (services: Services, open: number): void =>
  openExchanges.updateUnsafe(open, services)

/** JSON lines on standard output; people at a terminal get a readable form. */
export const layerLogs = (level: LogLevel.LogLevel, readable: boolean): Layer.Layer<never> =>
  Layer.mergeAll(
    Logger.layer([readable ? Logger.consolePretty() : Logger.consoleJson]),
    Layer.succeed(References.MinimumLogLevel, level),
  )

/** Logs under one request id. */
export const withRequestId = (requestId: string) => Effect.annotateLogs({ requestId })

/** Counts an admission that had to be decided without the gate's store. */
export const recordGateFailure = (services: Services, mode: string): void =>
  Metric.withAttributes(gateFailures, { mode }).updateUnsafe(1, services)

/** Counts a call that was turned away unread. */
export const recordShed = (services: Services, cause: "busy" | "open"): void =>
  Metric.withAttributes(sheds, { cause }).updateUnsafe(1, services)

/** Counts a run of the retention job. */
export const recordRetention = (services: Services, dropped: number, removed: number): void => {
  retentionRuns.updateUnsafe(1, services)
  retentionDropped.updateUnsafe(dropped, services)
  retentionRemoved.updateUnsafe(removed, services)
}

/** Counts a target that is left alone from now on for a while. @param target names vendor and model */
export const recordRest = (services: Services, target: string, cause: string): void =>
  Metric.withAttributes(rests, { target, cause }).updateUnsafe(1, services)

/** Counts a safety review. */
export const recordReview = (
  services: Services,
  mode: "review" | "sample",
  verdict: "allowed" | "denied" | "failed" | "dropped",
): void => Metric.withAttributes(reviews, { mode, verdict }).updateUnsafe(1, services)

/** Counts a session that was judged by its plan. */
export const recordConcurrency = (services: Services, decision: "admitted" | "rejected" | "would_reject"): void =>
  concurrencyMetric(decision, "").updateUnsafe(1, services)
