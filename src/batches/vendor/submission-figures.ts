/** The figures of the parts of batches that run at vendors. */
import { Effect } from "effect"
import { runEvery } from "../../background.ts"
import { vendorBatchSeries, vendorLineSeries } from "../../telemetry/metrics.ts"
import { SubmissionStore } from "./submission-store.ts"

export const watchSubmissions = Effect.gen(function* () {
  const store = yield* SubmissionStore
  const reportSubmissions = yield* vendorBatchSeries
  const reportLines = yield* vendorLineSeries

  const watch = Effect.map(store.open, (open) => {
    // Each shard has its own.
    const sums = new Map<string, (typeof open)[number]>()
    for (const each of open) {
      const key = `${each.state} ${each.vendor}`
      const { submissions = 0, lines = 0 } = sums.get(key) ?? {}
      sums.set(key, { ...each, submissions: submissions + each.submissions, lines: lines + each.lines })
    }
    const all = [...sums.values()]
    reportSubmissions(all.map(({ vendor, state, submissions }) => [[vendor, state], submissions]))
    reportLines(all.map(({ vendor, state, lines }) => [[vendor, state], lines]))
  })
  yield* runEvery("15 seconds", "Figures of batches at vendors", watch)
})
