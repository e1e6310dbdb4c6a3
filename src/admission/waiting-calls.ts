/**
 * Calls that wait for their hold, by organisation. One whose rows are locked, or whose shard is slow, gets less room for itself,
 * and takes none from the others.
 */

/** The calls of one organisation. */
interface Lane {
  waiting: number
  /** The most that waited at one time in this window. */
  peak: number
  /** Waits that ended in this window, and their sum in ms. */
  seen: number
  sumMs: number
  /** The number that may wait. */
  most: number
  /** Windows since its last call. */
  idle: number
}

/** Waits of a window. */
export interface Waits {
  /** Organisations with a wait that ended. */
  readonly orgs: number
  /** Organisations with a call in the last windows. */
  readonly active: number
  /** Calls that got their hold. */
  readonly seen: number
  /** The shortest wait, in ms; infinite if there is none. */
  readonly leastMs: number
  /** The average wait of an organisation's calls, in ms: of three quarters of the organisations it is at least that. */
  readonly usualMs: number
  readonly peak: number
}

/** Windows for which an organisation without calls is remembered: ten seconds. */
const remembered = 50

export class WaitingCalls {
  readonly #lanes = new Map<string, Lane>()
  #seen = 0
  #leastMs = Number.POSITIVE_INFINITY
  #peak = 0
  /** The calls of all organisations that wait. */
  count = 0

  enter(org: string): void {
    let lane = this.#lanes.get(org)
    if (lane === undefined) {
      lane = { waiting: 0, peak: 0, seen: 0, sumMs: 0, most: Number.POSITIVE_INFINITY, idle: 0 }
      this.#lanes.set(org, lane)
    }
    lane.waiting++
    lane.idle = 0
    if (lane.waiting > lane.peak) lane.peak = lane.waiting
    this.count++
    if (this.count > this.#peak) this.#peak = this.count
  }

  /** A call got its hold. */
  held(org: string, waitedMs: number): void {
    this.#seen++
    if (waitedMs < this.#leastMs) this.#leastMs = waitedMs
    this.#end(org, waitedMs)
  }

  /** A call got no hold, after a long wait: it says nothing about other organisations. */
  failed(org: string, waitedMs: number): void {
    this.#end(org, waitedMs)
  }

  /** A call waits for something else, or was refused: that says nothing about waits for holds. */
  leave(org: string): void {
    this.count--
    const lane = this.#lanes.get(org)
    if (lane !== undefined) lane.waiting--
  }

  #end(org: string, waitedMs: number): void {
    this.leave(org)
    const lane = this.#lanes.get(org)
    if (lane === undefined) return
    lane.seen++
    lane.sumMs += waitedMs
  }

  /** Whether one more call of an organisation has room beside its own. */
  hasRoom(org: string): boolean {
    const lane = this.#lanes.get(org)
    return lane === undefined || lane.waiting <= lane.most
  }

  /**
   * Ends a window.
   * @param next the number of calls of an organisation that may wait from now on
   */
  turn(next: (most: number, averageMs: number, peak: number) => number): Waits {
    const averages: Array<number> = []
    for (const [org, lane] of this.#lanes) {
      if (lane.seen > 0) {
        const averageMs = lane.sumMs / lane.seen
        averages.push(averageMs)
        lane.most = next(lane.most, averageMs, lane.peak)
      } else if (lane.waiting === 0 && lane.idle++ > remembered) this.#lanes.delete(org)
      lane.seen = 0
      lane.sumMs = 0
      lane.peak = lane.waiting
    }
    averages.sort((a, b) => a - b)
    const waits = {
      orgs: averages.length,
      active: this.#lanes.size,
      seen: this.#seen,
      leastMs: this.#leastMs,
      usualMs: averages[(averages.length - 1) >> 2] ?? 0,
      peak: this.#peak,
    }
    this.#seen = 0
    this.#leastMs = Number.POSITIVE_INFINITY
    this.#peak = this.count
    return waits
  }
}
