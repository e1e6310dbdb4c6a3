/** Work that one node does at a time: it holds a lease while it works, and records when, and why, it is done again. */
import { Cause, Effect } from "effect"
import { TargetFailed } from "../object-storage/target.ts"
import { StoreUnavailable } from "../store/unavailable.ts"
import { EncoderFailed } from "./encoder.ts"
import type { ExportStore, Lease } from "./export-store.ts"

const renewEvery = "20 seconds"

interface Work<E, R> {
  readonly work: Effect.Effect<void, E, R>
  /** The time after which it is due again. */
  readonly everyMs: number
  /** The work, as a line of the log names it if it fails. */
  readonly what: string
  readonly onFailure: () => void
}

/** Does the work and releases the lease, unless another node takes the lease in the meantime, which then does the same. */
export const leased = Effect.fnUntraced(function* <E, R>(
  store: ExportStore["Service"],
  node: string,
  lease: Lease,
  { work, everyMs, what, onFailure }: Work<E, R>,
) {
  const { export: id, records, shard } = lease
  const untilTaken = Effect.gen(function* () {
    while (true) {
      yield* Effect.sleep(renewEvery)
      const isKept = yield* Effect.catch(store.renew(lease, node), () => Effect.succeed(true))
      if (!isKept) return undefined
    }
  })
  const outcome = yield* Effect.raceFirst(Effect.exit(work), untilTaken)
  if (outcome === undefined) return
  if (outcome._tag === "Success") return yield* store.release(lease, node, everyMs, undefined)
  if (Cause.hasInterruptsOnly(outcome.cause)) return
  const problem = problemOf(outcome.cause)
  onFailure()
  const isKnown = Cause.squash(outcome.cause) instanceof TargetFailed
  yield* Effect.logWarning(what, { export: id, records, shard, problem }, ...(isKnown ? [] : [outcome.cause]))
  yield* store.release(lease, node, againAfter(lease.failures), problem)
})

/** The reason why it was not done, in a sentence that operators can read. */
const problemOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (error instanceof TargetFailed) return error.problem
  if (error instanceof EncoderFailed) return "the thread that encodes files has failed"
  if (error instanceof Cause.TimeoutError) return "it took too long: a transaction may not have ended"
  return error instanceof StoreUnavailable ? "the database does not answer" : "the records could not be read"
}

/** The wait after a failure: a second at first, then twice as long each time, up to five minutes. */
const againAfter = (failures: number): number => Math.min(1000 * 2 ** failures, 300_000)
