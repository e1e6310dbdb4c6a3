/**
 * The leases of a node on parts of batches. Each taking has a name of its own, and only leases of parts that the node works on are
 * prolonged: a part that it took without knowing it, because the answer was lost, or could not give back, is free again in time.
 */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"

export class Leases {
  /** The parts in hand, by the name of their lease. */
  readonly #parts = new Map<string, number>()

  /** The name of a lease that was never used. */
  newName(): string {
    return randomUUID()
  }

  /** The names of the leases that are to be prolonged. */
  get names(): ReadonlyArray<string> {
    return [...this.#parts.keys()]
  }

  /** Works on a part. Its lease counts from now on, also before the effect runs. */
  during<A, E, R>(lease: string, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    this.#parts.set(lease, (this.#parts.get(lease) ?? 0) + 1)
    return Effect.ensuring(
      work,
      Effect.sync(() => this.#end(lease)),
    )
  }

  #end(lease: string): void {
    const left = (this.#parts.get(lease) ?? 0) - 1
    if (left > 0) this.#parts.set(lease, left)
    else this.#parts.delete(lease)
  }
}
