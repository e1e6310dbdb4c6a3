/**
 * Reports of exchanges that failed, needed several vendor calls, or are traced: written in the background, in batches. Never
 * a prompt or an answer.
 *
 * **Gotchas**: reports are lost if their process ends before it has written them, or if more come than are kept; all failures
 * are counted, and all vendor calls that a timeout tier ended.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { forAll, runEvery } from "../background.ts"
import { type Tier, tierOfCode } from "../protocol/timeout-tiers.ts"
import { queryDeadline } from "../store/database.ts"
import { Shards } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

/** A vendor call that failed. */
export interface Attempt {
  readonly vendor: string
  /** The vendor's own name of the model. */
  readonly model: string
  /** When it began, after the exchange began, and what it took; in milliseconds. */
  readonly atMs: number
  readonly tookMs: number
  /** An error code, or `status NNN`. */
  readonly error: string
}

export interface ExchangeReport {
  /** The gateway's own request id. */
  readonly ref: string
  readonly atMs: number
  readonly org: string
  readonly app: string
  readonly key: string
  /** The caller's request id. */
  readonly requestId: string | undefined
  readonly sessionId: string | undefined
  readonly purpose: string
  /** The model handle; `unknown` if the catalogue does not have it. */
  readonly model: string
  /** Undefined if the exchange succeeded after other vendor calls had failed. */
  readonly code: string | undefined
  readonly isBilled: boolean
  readonly tookMs: number
  readonly attempts: ReadonlyArray<Attempt>
  readonly traceId: string | undefined
}

export class ExchangeReports extends Context.Service<
  ExchangeReports,
  {
    /** Takes a report; called between frames, so it is not an effect. */
    readonly add: (report: ExchangeReport) => void
    /** Writes the reports that were taken. */
    readonly flush: Effect.Effect<void, StoreUnavailable>
  }
>()("weir/telemetry/ExchangeReports") {
  static readonly layer = Layer.effect(
    ExchangeReports,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const shards = yield* Shards
      const bounded = yield* queryDeadline
      let reports: Array<ExchangeReport> = []
      let traced: Array<ExchangeReport> = []
      const failures = new Tally<FailedCalls>()
      const timeouts = new Tally<EndedCalls>()

      const add = (report: ExchangeReport) => {
        const { org, app, key, model, code, atMs, attempts } = report
        const at = atMs - (atMs % 60_000)
        if (code !== undefined) failures.add({ org, app, key, model, code, at })
        for (const { vendor, error } of attempts) {
          const tier = tierOfCode(error)
          if (tier !== undefined) timeouts.add({ vendor, model, tier, at })
        }
        if (code === "rate_limited") return
        if (code !== undefined || attempts.length > 0) keep(reports, report, reportsPerFlush)
        else keep(traced, report, tracedPerFlush)
      }

      const flush = Effect.gen(function* () {
        const rows = [...reports, ...traced].map(
          ({ atMs, requestId, sessionId, isBilled, tookMs, traceId, ...same }) => ({
            ...same,
            at: atMs,
            req: requestId,
            session: sessionId,
            billed: isBilled,
            took: Math.round(tookMs),
            trace: traceId,
          }),
        )
        const failed = failures.take()
        const ended = timeouts.take()
        reports = []
        traced = []
        const orgs = new Set([...rows, ...failed].map(({ org }) => org))
        // A shard that does not answer loses its own reports.
        const writing = forAll(Map.groupBy(orgs, shards.of), ([shard, own]) => {
          const jsonOf = (all: ReadonlyArray<{ readonly org: string }>) =>
            JSON.stringify(own.length === orgs.size ? all : all.filter(({ org }) => own.includes(org)))
          const report = shard.run(
            ({ sql, books }) => sql`
              select ${books}report_exchanges(${jsonOf(rows)}::text::json, ${jsonOf(failed)}::text::json)`,
          )
          return bounded(report)
        })
        const written = yield* Effect.result(writing)
        if (ended.length > 0) yield* bounded(sql`select report_ended_calls(${JSON.stringify(ended)}::text::json)`)
        yield* Effect.fromResult(written)
      })
      yield* runEvery(every, "Storing reports of failed exchanges", flush)
      yield* Effect.addFinalizer(() => Effect.ignore(flush))
      return ExchangeReports.of({ add, flush })
    }),
  )
}

/** Calls that failed, of a minute. */
interface FailedCalls {
  readonly org: string
  readonly app: string
  readonly key: string
  readonly model: string
  readonly code: string
  readonly at: number
}

/** Vendor calls that a timeout tier ended, of a minute. */
interface EndedCalls {
  readonly vendor: string
  readonly model: string
  readonly tier: Tier
  readonly at: number
}

/** Counts calls by what they have in common. */
class Tally<A extends object> {
  readonly #counts = new Map<string, A & { calls: number }>()

  add(of: A): void {
    const id = JSON.stringify(of)
    const known = this.#counts.get(id)
    if (known === undefined) this.#counts.set(id, { ...of, calls: 1 })
    else known.calls += 1
  }

  /** Returns the counts and sets them to zero. */
  take(): ReadonlyArray<A & { readonly calls: number }> {
    const counted = [...this.#counts.values()]
    this.#counts.clear()
    return counted
  }
}

const keep = (reports: Array<ExchangeReport>, report: ExchangeReport, most: number): void => {
  if (reports.length < most) reports.push(report)
}

const every = "2 seconds"
/** A flood of refusals must not become a flood of rows: those of rate limits are only counted. */
const reportsPerFlush = 50
/** The most traced exchanges that succeeded at once, per flush; failures do not compete with them. */
const tracedPerFlush = 500
