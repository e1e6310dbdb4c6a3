/**
 * Amounts that are moving between a node and the store, or that a waiting hold has taken and may release. A hold that finds
 * too little waits for them: otherwise it would be refused although the amount comes back a moment later.
 */
import { Deferred, Effect } from "effect"

/** An allotment whose amount moves. */
export interface Moving {
  readonly beginMovement: (movement: Movement) => void
  readonly endMovement: (movement: Movement) => void
  /** The movements that have not ended. */
  readonly movements: () => ReadonlyArray<Movement>
}

export class Movement {
  readonly #allotments: ReadonlyArray<Moving>
  #ended: Deferred.Deferred<void> | undefined

  /**
   * Begins a movement.
   * @param allotments whose amounts move
   */
  constructor(allotments: ReadonlyArray<Moving>) {
    this.#allotments = allotments
    for (const allotment of allotments) allotment.beginMovement(this)
  }

  end(): void {
    for (const allotment of this.#allotments) allotment.endMovement(this)
    if (this.#ended !== undefined) Deferred.doneUnsafe(this.#ended, Effect.void)
  }

  /** Completes when the movement has ended. */
  wait(): Effect.Effect<void> {
    this.#ended ??= Deferred.makeUnsafe<void>()
    return Deferred.await(this.#ended)
  }
}

/** Waits for the movements of this moment, not for later ones. */
export const waitForMovements = (allotment: Moving): Effect.Effect<void> =>
  Effect.suspend(() =>
    Effect.all(
      allotment.movements().map((movement) => movement.wait()),
      { discard: true },
    ),
  )
