/** The times of the last use of keys, to the minute: noted in memory, and written in the background. */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { runEvery } from "../background.ts"
import { queryDeadline } from "../store/database.ts"

export class KeyUses extends Context.Service<
  KeyUses,
  {
    /** A key was used now. */
    readonly note: (keyId: string) => void
  }
>()("weir/identity/KeyUses") {
  static readonly layer = Layer.effect(
    KeyUses,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const bounded = yield* queryDeadline
      /** The minute in which a key was used here last, and those that are not written yet. */
      const minutes = new Map<string, number>()
      const unwritten = new Map<string, number>()

      const write = Effect.suspend(() => {
        if (unwritten.size === 0) return Effect.void
        const due = [...unwritten].slice(0, mostAtOnce)
        for (const [id] of due) unwritten.delete(id)
        const uses = Object.fromEntries(due.map(([id, minute]) => [id, new Date(minute * minuteMs).toISOString()]))
        return bounded(sql`select key_uses_note(${JSON.stringify(uses)}::text::jsonb)`).pipe(
          Effect.tapError(() =>
            Effect.sync(() => {
              for (const [id, minute] of due) if (!unwritten.has(id)) unwritten.set(id, minute)
            }),
          ),
        )
      })
      yield* runEvery("15 seconds", "Noting uses of keys", write)
      yield* Effect.addFinalizer(() => Effect.ignore(write))

      return KeyUses.of({
        note: (keyId) => {
          const minute = Math.floor(clock.currentTimeMillisUnsafe() / minuteMs)
          if (minutes.get(keyId) === minute) return
          if (minutes.size >= mostKnown) minutes.clear()
          minutes.set(keyId, minute)
          unwritten.set(keyId, minute)
        },
      })
    }),
  )
}

const minuteMs = 60_000
/** Keys of one statement. */
const mostAtOnce = 5000
/** Keys whose minute is remembered: beyond it, all are written once more. */
const mostKnown = 100_000
