/**
 * Writes an event when calls to a target begin to fail or to be refused, and when they work again: once for
 * all nodes together.
 */
import { Effect, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { queryDeadline } from "../store/database.ts"
import { TargetHealth, type TargetTurn } from "../upstream/health.ts"

export const layerTargetWatch = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const bounded = yield* queryDeadline
    const { turns } = yield* TargetHealth
    const write = ({ target, isDown, reason }: TargetTurn) =>
      bounded(sql`select target_turned(${target}, ${isDown}, ${reason ?? null})`).pipe(
        Effect.retry({ times: 3 }),
        Effect.catch((cause) => Effect.logWarning("The event of a target's change could not be written", cause)),
      )
    yield* Effect.forkScoped(Stream.runForEach(turns, write), { startImmediately: true })
  }),
)
