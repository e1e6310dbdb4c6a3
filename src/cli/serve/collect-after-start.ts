/** Releases the memory that a start used. */
import { Effect } from "effect"
import { collectGarbage } from "../../memory.ts"

/** The time without a call after which memory is collected: a gateway that takes over from another has its first calls before. */
const unusedFor = "1 second"

/**
 * Collects once, unless a call came first: it stops the process for a fifth of a second, and code that runs already has to be
 * optimised again. V8 collects the garbage of a used gateway on its own.
 */
export const collectUnlessUsed = (isUsed: () => boolean, collect = collectGarbage): Effect.Effect<void> =>
  Effect.andThen(
    Effect.sleep(unusedFor),
    Effect.sync(() => {
      if (!isUsed()) collect()
    }),
  )
