/**
 * Rates leased to this node: it takes a share of the room that a window has, and counts in its memory until the share is
 * used up. A limit is never exceeded: a share is counted in the store as used, in the part of the window in which it ends. A rest
 * that is not used goes back after {@link shareMsOf}. Pure: {@link makeLeasedLimits} asks the store.
 */
import type { RateWindow } from "../gate.ts"
import { partMsOf } from "./sliding-window.ts"

/** The time in which a share may be used, at most. */
export const mostShareMs = 2000
export const leastShareMs = 250
/** The part of a window that a share may last: what it counts too early is refused too early. */
export const sharesOfWindow = 60

/** The time in which a share of a window may be used; 0 if the window is too short for shares. */
export const shareMsOf = (windowMs: number): number => {
  const ms = Math.min(mostShareMs, Math.floor(windowMs / sharesOfWindow))
  return ms < leastShareMs ? 0 : ms
}

/**
 * The part of a window's room that a share may be at most. A share is the amount that its node uses while it lasts; above
 * this part there is none, so that shares are used or returned before the limit is reached.
 */
export const shareOfRoom = 8
/** The time for which the room must last, at the pace of all nodes in this window: below it there is no share. */
export const roomLastsMs = 3 * mostShareMs

/** One window that is asked about. */
export interface RateAsk {
  readonly key: string
  readonly limit: number
  readonly windowMs: number
  readonly amount: number
  /** The amount that this node would like to have beyond this call. */
  readonly want: number
  /** The unused amount of its last share, and the part in which that was counted. */
  readonly back: number
  readonly backPart: number
}

/** The answer of the store for one window. */
export interface RateGrant {
  /** The amount that this node may use beyond the call itself. */
  readonly share: number
  /** The room that is left in the window. */
  readonly room: number
  /** The store's time. */
  readonly atMs: number
}

/** An amount that is corrected in the store: below zero if it goes back to the part in which it was counted. */
export interface Correction {
  readonly key: string
  readonly windowMs: number
  readonly amount: number
  readonly part: number
}

type Window = Pick<RateWindow, "limit" | "windowMs">

class Share {
  readonly limit: number
  readonly windowMs: number
  /** The amount that may be counted here. */
  left = 0
  /** The end of the share, in this node's time. */
  untilMs = 0
  /** The part of the window in which it is counted. */
  part = 0
  /** The room that the store had when it was asked. */
  room = 0
  /** The amounts of the present and the last {@link mostShareMs}, and the number of calls that used them. */
  #used = { amount: 0, calls: 0 }
  #before = { amount: 0, calls: 0 }
  #sinceMs: number
  usedAtMs: number

  constructor({ limit, windowMs }: Window, nowMs: number) {
    this.limit = limit
    this.windowMs = windowMs
    this.#sinceMs = nowMs
    this.usedAtMs = nowMs
  }

  isOf({ limit, windowMs }: Window): boolean {
    return this.limit === limit && this.windowMs === windowMs
  }

  take(amount: number, nowMs: number): void {
    this.left -= amount
    this.count(amount, nowMs)
  }

  /** Counts a call, here or in the store. */
  count(amount: number, nowMs: number): void {
    this.#turn(nowMs)
    this.#used.amount += amount
    this.#used.calls++
    this.usedAtMs = nowMs
  }

  /** The number of calls lately. */
  calls(nowMs: number): number {
    this.#turn(nowMs)
    return Math.max(this.#used.calls, this.#before.calls)
  }

  /** The amount that was used lately. One call is no reason to take more. */
  want(nowMs: number): number {
    return this.calls(nowMs) < 2 ? 0 : Math.max(this.#used.amount, this.#before.amount)
  }

  #turn(nowMs: number): void {
    const passedMs = nowMs - this.#sinceMs
    if (passedMs < mostShareMs) return
    this.#before = passedMs < 2 * mostShareMs ? this.#used : { amount: 0, calls: 0 }
    this.#used = { amount: 0, calls: 0 }
    this.#sinceMs = nowMs
  }
}

/** The number of calls in {@link mostShareMs} from which on a call waits for the share that another one asks for. */
const busyCalls = 16

/** The time after which an unused window is removed. */
const forgetMs = 10_000

export class RateShares {
  readonly #shares = new Map<string, Share>()

  /** Counts a call in all its windows if each has a share left; otherwise counts nothing. @returns its parts and room */
  take(keys: ReadonlyArray<string>, rates: ReadonlyArray<RateWindow>, nowMs: number): Taken | undefined {
    let at = 0
    for (const rate of rates) {
      const share = this.#shares.get(keys[at++] ?? "")
      const amount = rate.amount ?? 1
      if (share === undefined || share.left < amount || share.untilMs <= nowMs || !share.isOf(rate)) return undefined
    }
    const taken: Array<{ readonly part: number; readonly room: number }> = []
    for (const [index, key] of keys.entries()) {
      const share = this.#shares.get(key)
      share?.take(rates[index]?.amount ?? 1, nowMs)
      taken.push({ part: share?.part ?? 0, room: (share?.left ?? 0) + (share?.room ?? 0) })
    }
    return taken
  }

  /** Takes back what was just counted: the call did not take place. */
  undo(keys: ReadonlyArray<string>, rates: ReadonlyArray<RateWindow>, taken: Taken): void {
    for (const [at, key] of keys.entries()) {
      const share = this.#shares.get(key)
      // An amount that went back in the meantime, or is of another share, cannot be taken back: the call stays counted.
      if (share !== undefined && share.left > 0 && share.part === taken[at]?.part) share.left += rates[at]?.amount ?? 1
    }
  }

  /** Whether a share for these calls is worth waiting for. */
  isBusy(keys: ReadonlyArray<string>, nowMs: number): boolean {
    return keys.every((key) => (this.#shares.get(key)?.calls(nowMs) ?? 0) >= busyCalls)
  }

  /** The amounts to ask for when a call is not covered; the unused rest goes back with them. */
  ask(keys: ReadonlyArray<string>, rates: ReadonlyArray<RateWindow>, nowMs: number): ReadonlyArray<RateAsk> {
    return rates.map((rate, at) => {
      const { limit, windowMs, amount = 1 } = rate
      const key = keys[at] ?? ""
      const known = this.#shares.get(key)
      const back = known?.windowMs === windowMs ? known.left : 0
      const backPart = known?.part ?? 0
      const share = known?.isOf(rate) === true ? known : new Share(rate, nowMs)
      this.#shares.set(key, share)
      share.left = 0
      share.count(amount, nowMs)
      const want = shareMsOf(windowMs) === 0 ? 0 : share.want(nowMs)
      return { key, limit, windowMs, amount, want, back, backPart }
    })
  }

  /** @param askedMs when the question was sent: a share is counted from then, so that it never ends late */
  grant(asks: ReadonlyArray<RateAsk>, grants: ReadonlyArray<RateGrant>, askedMs: number): void {
    for (const [at, ask] of asks.entries()) {
      const share = this.#shares.get(ask.key)
      const grant = grants[at]
      if (share === undefined || grant === undefined || !share.isOf(ask)) continue
      share.room = grant.room
      if (grant.share === 0) continue
      const lastsMs = shareMsOf(ask.windowMs)
      const part = Math.floor((grant.atMs + lastsMs) / partMsOf(ask.windowMs))
      // Two questions at once: their shares add up, and end with the first of them.
      const isAlone = share.left === 0
      share.part = isAlone ? part : Math.min(part, share.part)
      share.untilMs = isAlone ? askedMs + lastsMs : Math.min(askedMs + lastsMs, share.untilMs)
      share.left += grant.share
    }
  }

  /** Removes and returns the shares that must go back now, and removes windows that nobody uses. */
  unused(nowMs: number): ReadonlyArray<Correction> {
    const unused: Array<Correction> = []
    for (const [key, share] of this.#shares) {
      if (share.left > 0 && share.untilMs <= nowMs) {
        unused.push({ key, windowMs: share.windowMs, amount: -share.left, part: share.part })
        share.left = 0
      }
      if (share.left === 0 && nowMs - share.usedAtMs > forgetMs) this.#shares.delete(key)
    }
    return unused
  }
}

/** For each window, the part in which a call was counted, and the room that is left. */
export type Taken = ReadonlyArray<{ readonly part: number; readonly room: number }>
