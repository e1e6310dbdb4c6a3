/** The holds that this process has made and not closed, and the store's knowledge of each. */
import { Deferred, Effect, Exit } from "effect"
import { Keyed } from "../collections.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { Need } from "./allotments.ts"
import type { LedgerStore } from "./ledger-store.ts"
import type { Node } from "./node.ts"
import type { HoldFacts, OpenHold } from "./settlement.ts"

/** A hold that has not ended. */
interface Running {
  readonly node: Node
  readonly needs: ReadonlyArray<Need>
  /** Whether an open hold may have been written, and whether it has. */
  mayBeOpen: boolean
  isWritten: boolean
  /** Whether the outcome of a first checkpoint is unknown: it may arrive late. */
  isUncertain: boolean
  /** A checkpoint that is under way. */
  writing: Deferred.Deferred<void> | undefined
  /** Whether it is being settled or released: no checkpoint may follow. */
  isEnding: boolean
  /** Whether its allotments have its cost, and the books do not yet. */
  isAhead: boolean
}

export class OpenHolds {
  readonly #store: LedgerStore["Service"]
  readonly #running = new Keyed<Running>()

  constructor(store: LedgerStore["Service"]) {
    this.#store = store
  }

  has(ref: string): boolean {
    return this.#running.has(ref)
  }

  /** The amounts and the node of a hold that has not ended. */
  get(ref: string): Pick<Running, "node" | "needs"> | undefined {
    return this.#running.get(ref)
  }

  begin(ref: string, node: Node, needs: ReadonlyArray<Need>): void {
    node.holds++
    const state = {
      mayBeOpen: false,
      isWritten: false,
      isUncertain: false,
      writing: undefined,
      isEnding: false,
      isAhead: false,
    }
    this.#running.set(ref, { node, needs, ...state })
  }

  /** A hold whose settlement the books get later; undefined if it is another process's, or is ending. */
  endAhead(ref: string): Pick<Running, "node" | "needs"> | undefined {
    const each = this.#running.get(ref)
    if (each === undefined || each.isEnding) return undefined
    each.isEnding = true
    each.isAhead = true
    return each
  }

  /** Removes a hold. Returns its amounts and its node; undefined if it is another process's, or has ended. */
  end(ref: string): Pick<Running, "node" | "needs" | "isAhead"> | undefined {
    const ended = this.#running.take(ref)
    if (ended !== undefined) ended.node.holds--
    return ended
  }

  /** Ensures that no checkpoint follows. Returns whether the store may have the hold. */
  close(hold: HoldFacts): Effect.Effect<boolean, StoreUnavailable> {
    const each = this.#running.get(hold.ref)
    if (each === undefined) return Effect.succeed(true)
    each.isEnding = true
    if (each.writing === undefined && !each.isUncertain) return Effect.succeed(each.mayBeOpen)
    return Effect.gen({ self: this }, function* () {
      if (each.writing !== undefined) yield* Deferred.await(each.writing)
      // A request id blocks a late checkpoint on its own: it is spent.
      if (each.isUncertain && hold.requestId === undefined) yield* this.#store.forbidCheckpoint(hold)
      return each.mayBeOpen
    })
  }

  /** Writes the settlements that running exchanges would have now. */
  checkpoint(checkpoints: ReadonlyArray<Omit<OpenHold, "isFirst">>): Effect.Effect<void, StoreUnavailable> {
    return Effect.suspend(() => {
      const open = checkpoints.flatMap((each) => {
        const state = this.#running.get(each.hold.ref)
        return state === undefined || state.isEnding || state.writing !== undefined ? [] : [{ each, state }]
      })
      if (open.length === 0) return Effect.void
      const holds = open.map(({ each, state }) => ({ ...each, isFirst: !state.isWritten }))
      const written = Deferred.makeUnsafe<void>()
      for (const { state } of open) {
        state.mayBeOpen = true
        state.writing = written
      }
      return Effect.onExit(Effect.uninterruptible(this.#store.checkpoint(holds)), (exit) =>
        Effect.suspend(() => {
          for (const { state } of open) {
            state.isUncertain ||= Exit.isFailure(exit) && !state.isWritten
            state.isWritten ||= Exit.isSuccess(exit)
            state.writing = undefined
          }
          return Deferred.succeed(written, undefined)
        }),
      )
    })
  }
}
