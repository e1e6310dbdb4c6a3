/** The job that folds usage records by the hour and by the day. Any node may run it. */
import { Context, Effect, Layer, Semaphore } from "effect"
import { afterStart, forAll, runEvery } from "../background.ts"
import { LongQueries } from "../store/connections.ts"
import { withDeadline } from "../store/database.ts"
import type { Shard } from "../store/shards/shard.ts"
import { inEach } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { tierBoundaries } from "../telemetry/metrics.ts"

export class UsageRollups extends Context.Service<
  UsageRollups,
  {
    /** Folds until nothing is left to fold; returns the hours that it folded. */
    readonly fold: Effect.Effect<number, StoreUnavailable>
  }
>()("weir/money/UsageRollups") {
  static readonly layer = Layer.effect(
    UsageRollups,
    Effect.gen(function* () {
      const { shards } = yield* LongQueries
      const foldOne = Effect.fnUntraced(function* ({ run }: Shard) {
        const batch = run(
          ({ sql, books }) => sql<{ hours: number }>`
            select ${books}usage_fold(${hoursAtOnce}::int, ${boundariesText}::text::float8[]) as hours`,
        ).pipe(withDeadline(deadline))
        let folded = 0
        for (let hours = hoursAtOnce; hours === hoursAtOnce; folded += hours) hours = (yield* batch)[0]?.hours ?? 0
        return folded
      })
      // A second fold at the same time finds the database's lock taken, and folds nothing.
      const oneAtATime = yield* Semaphore.make(1)
      const fold = oneAtATime.withPermit(
        Effect.map(forAll(shards.all, foldOne), (hours) => hours.reduce((sum, each) => sum + each, 0)),
      )
      const retain = inEach(
        shards,
        ({ sql, books }) => sql`select ${books}retain_rollups(${keptDaysOfHours}::int, ${keptDays}::int)`,
      ).pipe(withDeadline(deadline))
      yield* runEvery("1 minute", "Folding usage", fold)
      yield* runEvery("1 day", "Removing old folded usage", retain, afterStart)
      return UsageRollups.of({ fold })
    }),
  )
}

/** The upper boundaries of times to the first frame, for PostgreSQL. */
export const boundariesText = `{${tierBoundaries.join()}}`

/** Hours that a transaction folds. */
const hoursAtOnce = 24
/** Days for which sums of hours are kept; those of days are kept longer. */
export const keptDaysOfHours = 100
const keptDays = 400
const deadline = "5 minutes"
