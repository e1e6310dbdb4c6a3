/** Settlements that follow their replies: the journal has them, and the ledger gets them for the first time. */
import { Deferred, Effect, FiberSet, type Scope } from "effect"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { Settlement } from "./settlement.ts"

export interface Following {
  /** Whether a settlement is on its way. */
  readonly has: (ref: string) => boolean
  readonly size: () => number
  /** Counts a settlement that goes to the journal. */
  readonly begin: (ref: string) => void
  /** A settlement is not on its way any more. */
  readonly end: (ref: string) => void
  /** Gives the ledger a settlement that the journal has, and returns at once. @param booked called when the ledger has it */
  readonly follow: (settlement: Settlement, booked: () => void) => void
}

/** @param book gives the ledger a settlement, patiently */
export const makeFollowing = (
  book: (settlement: Settlement) => Effect.Effect<unknown, StoreUnavailable>,
): Effect.Effect<Following, never, Scope.Scope> =>
  Effect.gen(function* () {
    const following = new Set<string>()
    const fibers = yield* FiberSet.make<void>()
    const run = yield* FiberSet.runtime(fibers)()
    // A process that ends waits for them: its ledger is still there.
    yield* Effect.addFinalizer(() => FiberSet.awaitEmpty(fibers))

    let together: Deferred.Deferred<void> | undefined
    const release = (due: Deferred.Deferred<void>) =>
      Effect.sync(() => {
        together = undefined
        Deferred.doneUnsafe(due, Effect.void)
      })
    /** A batch costs the database little more than one settlement. */
    const waitForOthers = Effect.suspend(() => {
      if (together === undefined) {
        together = Deferred.makeUnsafe<void>()
        run(Effect.delay(release(together), followEveryMs))
      }
      return Deferred.await(together)
    })
    return {
      has: (ref) => following.has(ref),
      size: () => following.size,
      begin: (ref) => void following.add(ref),
      end: (ref) => void following.delete(ref),
      follow: (settlement, booked) => {
        const { ref } = settlement.hold
        run(
          Effect.andThen(waitForOthers, book(settlement)).pipe(
            Effect.map(booked),
            Effect.catch((cause) => Effect.logError("A settlement waits in the journal", cause, { ref })),
            Effect.ensuring(Effect.sync(() => following.delete(ref))),
          ),
        )
      },
    }
  })

/** The time for which settlements that follow their replies are collected. */
const followEveryMs = 20
