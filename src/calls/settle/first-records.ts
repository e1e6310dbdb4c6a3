/**
 * Records calls in the books before they are sent. Calls of one organisation that come while others are written wait, and are
 * written together: a slow organisation holds up no other.
 */
import { Deferred, Effect } from "effect"
import type { Checkpoint, Ledger } from "../../money/ledger.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"

interface Waiting {
  readonly checkpoint: Checkpoint
  readonly done: Deferred.Deferred<void, StoreUnavailable>
}

/** The most calls that are written together. */
const most = 200

export class FirstRecords {
  readonly #ledger: Pick<Ledger["Service"], "checkpoint">
  /** The calls that wait, by organisations of which others are being written. */
  readonly #waiting = new Map<string, Array<Waiting>>()

  constructor(ledger: Pick<Ledger["Service"], "checkpoint">) {
    this.#ledger = ledger
  }

  record(checkpoint: Checkpoint): Effect.Effect<void, StoreUnavailable> {
    return Effect.suspend(() => {
      const { orgId } = checkpoint.hold
      const waiting = this.#waiting.get(orgId)
      const own = { checkpoint, done: Deferred.makeUnsafe<void, StoreUnavailable>() }
      if (waiting !== undefined) waiting.push(own)
      else this.#waiting.set(orgId, [own])
      const written = waiting === undefined ? this.#write(orgId) : Effect.void
      return Effect.andThen(written, Deferred.await(own.done))
    })
  }

  /** Writes until nothing waits. A caller that leaves does not leave others without their record. */
  #write(orgId: string): Effect.Effect<void> {
    const next = Effect.suspend((): Effect.Effect<void> => {
      const waiting = this.#waiting.get(orgId) ?? []
      const batch = waiting.splice(0, most)
      if (batch.length === 0) {
        this.#waiting.delete(orgId)
        return Effect.void
      }
      const written = Effect.exit(this.#ledger.checkpoint(batch.map(({ checkpoint }) => checkpoint)))
      return Effect.flatMap(written, (exit) => {
        for (const { done } of batch) Deferred.doneUnsafe(done, exit)
        return next
      })
    })
    return Effect.asVoid(Effect.forkDetach(Effect.uninterruptible(next)))
  }
}
