/**
 * Counts of a window that slides with the time: it is counted in parts, and a part leaves as a whole. Never more than the
 * limit is within the window, wherever it begins; the window is longer by one part at most. Pure.
 */

/** Parts of a window. More of them would refuse less early, and take more room. */
export const windowParts = 100

/** The length of a part; its number is the time divided by it. */
export const partMsOf = (windowMs: number): number => Math.max(1, Math.ceil(windowMs / windowParts))

/** The number of whole parts that count beside the present one. */
export const keptParts = (windowMs: number): number => Math.ceil(windowMs / partMsOf(windowMs))

export class SlidingWindow {
  readonly #partMs: number
  readonly #kept: number
  /** Numbers of parts that have a count, rising, and their counts; those before `#from` have left. */
  readonly #parts: Array<number> = []
  readonly #counts: Array<number> = []
  #from = 0
  #sum = 0

  constructor(windowMs: number) {
    this.#partMs = partMsOf(windowMs)
    this.#kept = keptParts(windowMs)
  }

  /** The present part. A clock that goes back does not let a part come again. */
  partAt(nowMs: number): number {
    return Math.max(Math.floor(nowMs / this.#partMs), this.#parts.at(-1) ?? 0)
  }

  /** The sum of the window that ends now. */
  used(nowMs: number): number {
    const oldest = this.partAt(nowMs) - this.#kept
    while ((this.#parts[this.#from] ?? oldest) < oldest) this.#sum -= this.#counts[this.#from++] ?? 0
    if (this.#from > windowParts) {
      this.#parts.splice(0, this.#from)
      this.#counts.splice(0, this.#from)
      this.#from = 0
    }
    return this.#sum
  }

  /** @returns the part in which it was counted, for {@link correct} */
  add(amount: number, nowMs: number): number {
    const part = this.partAt(nowMs)
    if (this.#parts.at(-1) !== part) {
      this.#parts.push(part)
      this.#counts.push(0)
    }
    this.#counts[this.#counts.length - 1] = (this.#counts.at(-1) ?? 0) + amount
    this.#sum += amount
    return part
  }

  /** Takes back a part of what was counted; nothing, if that has left the window. */
  takeBack(amount: number, part: number, nowMs: number): void {
    this.used(nowMs)
    const at = this.#parts.indexOf(part, this.#from)
    if (at < 0) return
    const less = Math.min(amount, this.#counts[at] ?? 0)
    this.#counts[at] = (this.#counts[at] ?? 0) - less
    this.#sum -= less
  }

  /** The time until the window has room for an amount; undefined if it never has. */
  msUntilRoom(amount: number, limit: number, nowMs: number): number | undefined {
    if (amount > limit) return undefined
    let over = this.used(nowMs) + amount - limit
    for (let at = this.#from; over > 0 && at < this.#parts.length; at++) {
      over -= this.#counts[at] ?? 0
      if (over <= 0) return ((this.#parts[at] ?? 0) + this.#kept + 1) * this.#partMs - nowMs
    }
    return 0
  }

  /** Whether nothing is within the window any more. */
  isEmpty(nowMs: number): boolean {
    this.used(nowMs)
    return this.#from === this.#parts.length
  }
}
