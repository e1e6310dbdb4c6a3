/**
 * Calls at a time that this node holds of limits that all nodes share: it may hold some more than run here, so that short calls
 * ask the store rarely. Pure: {@link makeLeasedLimits} asks the store, where the number of each node has a lease.
 */

/** One limit that is asked about. */
export interface SlotAsk {
  readonly key: string
  readonly limit: number
  /** The calls that this node would have, with this one. */
  readonly need: number
  /** The number that it would like to hold. */
  readonly want: number
}

/** The number of a node that the store counts. */
export interface SlotReport {
  readonly key: string
  readonly held: number
  /** Whether the store keeps a higher number: an answer with it may be on its way. */
  readonly isLeast: boolean
}

/** The part of the free calls that a node may hold beyond those that it runs. */
export const shareOfFree = 8

interface Held {
  /** Calls that run here, or are being asked for. */
  used: number
  /** The number that the store counts for this node. */
  held: number
  /** Questions without an answer: until then no lower number is reported to the store. */
  asking: number
}

export class CallSlots {
  readonly #limits = new Map<string, Held>()

  /** Takes a call of each limit, if this node holds one; otherwise takes nothing. */
  take(keys: ReadonlyArray<string>): boolean {
    for (const key of keys) {
      const known = this.#limits.get(key)
      if (known === undefined || known.used >= known.held) return false
    }
    for (const key of keys) {
      const known = this.#limits.get(key)
      if (known !== undefined) known.used++
    }
    return true
  }

  /** Counts a call here and asks for it; it is left again if it is refused. */
  ask(keys: ReadonlyArray<string>, limits: ReadonlyArray<number>): ReadonlyArray<SlotAsk> {
    return keys.map((key, at) => {
      const known = this.#limits.get(key) ?? { used: 0, held: 0, asking: 0 }
      this.#limits.set(key, known)
      known.used++
      known.asking++
      return { key, limit: limits[at] ?? 0, need: known.used, want: known.used + Math.ceil(known.used / 4) }
    })
  }

  /** @param grants the number that the node holds now of each; undefined if none was given */
  answered(asks: ReadonlyArray<SlotAsk>, grants: ReadonlyArray<number> | undefined): void {
    for (const [at, { key }] of asks.entries()) {
      const known = this.#limits.get(key)
      if (known === undefined) continue
      known.asking--
      if (grants === undefined) known.used--
      else known.held = grants[at] ?? known.held
    }
  }

  leave(keys: ReadonlyArray<string>): void {
    for (const key of keys) {
      const known = this.#limits.get(key)
      if (known !== undefined) known.used--
    }
  }

  /**
   * Gives up the calls that are not used; @returns the numbers that the store needs: those that changed, all of them to renew their
   * leases, or none at all when this node stops.
   */
  reports(why: "changes" | "renewal" | "stop"): ReadonlyArray<SlotReport> {
    const reports: Array<SlotReport> = []
    for (const [key, known] of this.#limits) {
      // A limit that is asked for all the time must not lose its lease.
      const renewsOnly = known.asking > 0 && why === "renewal" && known.held > 0
      if (renewsOnly) reports.push({ key, held: known.held, isLeast: true })
      if (known.asking > 0) continue
      if (why === "stop") known.used = 0
      if (known.held !== known.used || (why === "renewal" && known.held > 0)) {
        known.held = known.used
        reports.push({ key, held: known.held, isLeast: false })
      }
      if (known.held === 0 && known.used === 0) this.#limits.delete(key)
    }
    return reports
  }
}
