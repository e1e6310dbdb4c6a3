/**
 * Rates leased to this node: it takes a share of what a window has left, and counts in its memory until the share is
 * used up. A limit is never exceeded: a share is counted in the store as used, and ends before its window does. A rest
 * that is not used goes back after {@link shareMs}. Pure: the store is {@link RateStore}'s.
 */
import type { RateWindow } from "./gate.ts"

/** The time in which a share may be used. */
export const shareMs = 2000
/**
 * The part of a window's rest that a share may be at most. A share is the amount that its node uses in {@link shareMs}; above
 * this part there is none, so that shares are used or returned before the limit is reached.
 */
export const shareOfRest = 8
/** The time in which all nodes together, at their pace in this window, would use the rest: below it there is no share. */
export const restLastsMs = 3 * shareMs

/** One window that is asked about. */
export interface RateAsk {
  readonly key: string
  readonly limit: number
  readonly windowMs: number
  /** The count that this node would like to have beyond this call. */
  readonly want: number
  /** The unused count of its last share, and the end of that share's window in the store's time. */
  readonly back: number
  readonly backEndMs: number
}

/** The count that the store gives beyond the call itself. */
export interface GrantedShare {
  readonly count: number
  /** The time until the window ends. */
  readonly leftMs: number
  /** The end of the window, in the store's time. */
  readonly endMs: number
}

export interface UnusedShare {
  readonly key: string
  readonly count: number
  readonly endMs: number
}

class Share {
  readonly limit: number
  /** The number of calls that may be counted here. */
  left = 0
  /** The end of the share, in this node's time. */
  untilMs = 0
  endMs = 0
  /** The number of calls in the present and the last {@link shareMs}. */
  #used = 0
  #usedBefore = 0
  #sinceMs: number
  usedAtMs: number

  constructor(limit: number, nowMs: number) {
    this.limit = limit
    this.#sinceMs = nowMs
    this.usedAtMs = nowMs
  }

  take(nowMs: number): void {
    this.left--
    this.count(nowMs)
  }

  /** Counts a call, here or in the store. */
  count(nowMs: number): void {
    this.#turn(nowMs)
    this.#used++
    this.usedAtMs = nowMs
  }

  /** The count that was used lately. One call is no reason to take more. */
  lately(nowMs: number): number {
    this.#turn(nowMs)
    const most = Math.max(this.#used, this.#usedBefore)
    return most < 2 ? 0 : most
  }

  #turn(nowMs: number): void {
    const passedMs = nowMs - this.#sinceMs
    if (passedMs < shareMs) return
    this.#usedBefore = passedMs < 2 * shareMs ? this.#used : 0
    this.#used = 0
    this.#sinceMs = nowMs
  }
}

/** The number of calls in {@link shareMs} from which on a call waits for the share that another one asks for. */
const busyCalls = 16

/** The time after which an unused window is removed. */
const forgetMs = 10_000

export class RateShares {
  readonly #shares = new Map<string, Share>()

  /** Counts a call in all its windows if each has a share left; otherwise counts nothing. */
  take(keys: ReadonlyArray<string>, rates: ReadonlyArray<RateWindow>, nowMs: number): boolean {
    let at = 0
    for (const { limit } of rates) {
      const share = this.#shares.get(keys[at++] ?? "")
      if (share === undefined || share.left === 0 || share.untilMs <= nowMs || share.limit !== limit) return false
    }
    for (const key of keys) this.#shares.get(key)?.take(nowMs)
    return true
  }

  /** A function that takes back what was just counted: the call did not take place. */
  undoing(keys: ReadonlyArray<string>): () => void {
    const taken = keys.flatMap((key) => this.#shares.get(key) ?? [])
    const ends = taken.map(({ endMs }) => endMs)
    return () => {
      for (const [at, share] of taken.entries()) {
        // A count that went back in the meantime, or that is of another window, cannot be taken back: the call stays counted.
        if (share.left > 0 && share.endMs === ends[at]) share.left++
      }
    }
  }

  /** Whether a share for these calls is worth waiting for. */
  isBusy(keys: ReadonlyArray<string>, nowMs: number): boolean {
    return keys.every((key) => (this.#shares.get(key)?.lately(nowMs) ?? 0) >= busyCalls)
  }

  /** The counts to ask for when a call is not covered; the unused rest goes back with them. */
  ask(keys: ReadonlyArray<string>, rates: ReadonlyArray<RateWindow>, nowMs: number): ReadonlyArray<RateAsk> {
    return rates.map(({ limit, windowMs }, at) => {
      const key = keys[at] ?? ""
      const known = this.#shares.get(key)
      const back = known?.left ?? 0
      const backEndMs = known?.endMs ?? 0
      const share = known?.limit === limit ? known : new Share(limit, nowMs)
      this.#shares.set(key, share)
      share.left = 0
      share.count(nowMs)
      return { key, limit, windowMs, want: share.lately(nowMs), back, backEndMs }
    })
  }

  /** @param askedMs when the question was sent: the answer's time is counted from then, so that a share never ends late */
  grant(asks: ReadonlyArray<RateAsk>, granted: ReadonlyArray<GrantedShare>, askedMs: number): void {
    for (const [at, { key, limit }] of asks.entries()) {
      const share = this.#shares.get(key)
      const more = granted[at]
      if (share === undefined || more === undefined || share.limit !== limit || more.count === 0) continue
      // Two questions at once: the shares of one window add up, those of another window do not.
      const isSame = share.left > 0 && Math.abs(share.endMs - more.endMs) < windowToleranceMs
      if (share.left > 0 && !isSame) continue
      share.untilMs = Math.min(
        askedMs + Math.min(shareMs, more.leftMs),
        isSame ? share.untilMs : Number.POSITIVE_INFINITY,
      )
      share.left += more.count
      share.endMs = more.endMs
    }
  }

  /** Removes and returns the shares that must go back now, and removes windows that nobody uses. */
  unused(nowMs: number): ReadonlyArray<UnusedShare> {
    const unused: Array<UnusedShare> = []
    for (const [key, share] of this.#shares) {
      if (share.left > 0 && share.untilMs <= nowMs) {
        unused.push({ key, count: share.left, endMs: share.endMs })
        share.left = 0
      }
      if (share.left === 0 && nowMs - share.usedAtMs > forgetMs) this.#shares.delete(key)
    }
    return unused
  }
}

/** Ends of a window that two questions computed differ by milliseconds, those of two windows by a window. */
export const windowToleranceMs = 1000
