/** Gives back the memory that a start took. */
import { Effect } from "effect"
import { collectGarbage } from "../../memory.ts"

/** A gateway that takes over from another has its first calls by then. */
const unusedFor = "1 second"

/**
 * Collects once, unless a call came first: it stops the process for a fifth of a second, and code that runs already has to be
 * optimised again. What a used gateway leaves behind V8 collects by itself.
 */
export const collectUnlessUsed = (isUsed: () => boolean, collect = collectGarbage): Effect.Effect<void> =>
  Effect.andThen(
    Effect.sleep(unusedFor),
    Effect.sync(() => {
      if (!isUsed()) collect()
    }),
  )
