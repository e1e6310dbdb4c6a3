/** Long lists are processed in turns with other work, so that streams do not wait for them. */
import { Effect } from "effect"

/** Entries of a turn; each takes some microseconds. */
const turn = 50

/** Like `Effect.forEach`, and lets other work go on after some entries. */
export const inTurns = <A, B, E, R>(
  items: ReadonlyArray<A>,
  each: (item: A, at: number) => Effect.Effect<B, E, R>,
): Effect.Effect<Array<B>, E, R> =>
  Effect.forEach(items, (item, at) =>
    at % turn === turn - 1 ? Effect.andThen(Effect.yieldNow, each(item, at)) : each(item, at),
  )
