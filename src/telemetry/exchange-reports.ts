/**
 * Reports of exchanges that failed or needed several vendor calls: written in the background, in batches. Never a
 * prompt or an answer.
 *
 * **Gotchas**: reports are lost with the process that has not written them yet, and where more come than are kept;
 * all failures are counted.
 */
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { queryDeadline } from "../store/database.ts"
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
    /** Writes what was taken. */
    readonly flush: Effect.Effect<void, StoreUnavailable>
  }
>()("weir/telemetry/ExchangeReports") {
  static readonly layer = Layer.effect(
    ExchangeReports,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline
      let reports: Array<ExchangeReport> = []
      let counts = new Map<string, Count>()

      const count = ({ org, app, key, model, code, atMs }: ExchangeReport) => {
        if (code === undefined) return
        const at = atMs - (atMs % 60_000)
        const id = JSON.stringify([org, app, key, model, code, at])
        const known = counts.get(id)
        if (known === undefined) counts.set(id, { org, app, key, model, code, at, calls: 1 })
        else known.calls += 1
      }

      const flush = Effect.gen(function* () {
        if (reports.length === 0 && counts.size === 0) return
        const rows = reports.map(({ atMs, requestId, sessionId, isBilled, tookMs, traceId, ...same }) => ({
          ...same,
          at: atMs,
          req: requestId,
          session: sessionId,
          billed: isBilled,
          took: Math.round(tookMs),
          trace: traceId,
        }))
        const sums = [...counts.values()]
        reports = []
        counts = new Map()
        yield* bounded(
          sql`select report_exchanges(${JSON.stringify(rows)}::text::json, ${JSON.stringify(sums)}::text::json)`,
        )
      })
      yield* Effect.forkScoped(
        Effect.repeat(
          Effect.catch(flush, (error) => Effect.logWarning("Reports of failed exchanges were lost", error)),
          Schedule.spaced(every),
        ),
      )
      yield* Effect.addFinalizer(() => Effect.ignore(flush))
      return ExchangeReports.of({
        flush,
        add: (report) => {
          count(report)
          if (report.code !== "rate_limited" && reports.length < keptPerFlush) reports.push(report)
        },
      })
    }),
  )
}

interface Count {
  readonly org: string
  readonly app: string
  readonly key: string
  readonly model: string
  readonly code: string
  readonly at: number
  calls: number
}

const every = "2 seconds"
/** A flood of refusals must not become a flood of rows: those of rate limits are only counted. */
const keptPerFlush = 50
