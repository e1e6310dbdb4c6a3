/** Runs the parts of batches that run at vendors: each node takes those that are due, under a lease. A part outlives every node. */
import { Effect, FiberSet, Layer } from "effect"
import { forAll, lookForWork, runEvery } from "../../background.ts"
import { WeirConfig } from "../../config.ts"
import { Leases } from "../leases.ts"
import { LineCalls } from "../line-calls.ts"
import { makeRunSubmission } from "./run-submission.ts"
import { namesOf, type Submission } from "./submission.ts"
import { watchSubmissions } from "./submission-figures.ts"
import { SubmissionStore } from "./submission-store.ts"

/** Submissions that a node looks at at once. */
const mostAtOnce = 4
const failedPauseMs = 2000

export const layerSubmissionRunner = Layer.effectDiscard(
  Effect.gen(function* () {
    const store = yield* SubmissionStore
    const calls = yield* LineCalls
    const run = yield* makeRunSubmission
    const { leaseMs, checkpointMs } = yield* WeirConfig
    const leases = new Leases()
    const running = yield* FiberSet.make<void>()
    let isEnding = false
    // A result that is settled now is kept; the rest is left to other nodes.
    yield* Effect.addFinalizer(() => {
      isEnding = true
      return Effect.ignore(Effect.timeout(FiberSet.awaitEmpty(running), drainMs))
    })

    /** One whose look fails is looked at again later, but not for ever: its batch cannot end before, and holds its money. */
    const runLeased = (submission: Submission, lease: string): Effect.Effect<void> =>
      Effect.catchCause(run(submission, lease), (cause) =>
        submission.isLastTry
          ? Effect.andThen(
              Effect.logError(
                "A batch at a vendor could not be followed, and is given up; the vendor may bill it",
                namesOf(submission),
                cause,
              ),
              Effect.ignore(store.done(submission, lease, [])),
            )
          : Effect.andThen(
              Effect.logWarning(
                "A batch at a vendor could not be followed; it is tried again later",
                namesOf(submission),
                cause,
              ),
              Effect.ignore(store.back(submission, lease, failedPauseMs)),
            ),
      )

    const look = Effect.gen(function* () {
      const room = mostAtOnce - (yield* FiberSet.size(running))
      if (isEnding || room <= 0 || !(yield* calls.hasRoom)) return true
      // One that was taken is looked at, even if the node ends now.
      const lease = leases.newName()
      const taken = yield* Effect.uninterruptibleMask((restore) =>
        Effect.tap(restore(store.take(lease, room, leaseMs)), (taken) =>
          Effect.forEach(
            taken,
            (submission) => FiberSet.run(running, leases.during(lease, runLeased(submission, lease))),
            { discard: true },
          ),
        ),
      )
      return taken.length > 0
    })
    yield* lookForWork("500 millis", "Batches at vendors", look)

    const renew = Effect.suspend(() => forAll(leases.names, (lease) => store.renew(lease, leaseMs)))
    yield* runEvery(checkpointMs, "Leases of batches at vendors", renew)
    yield* watchSubmissions
  }),
)

const drainMs = 10_000
