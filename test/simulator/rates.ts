/**
 * Leased rates on virtual time: four nodes with a store that does what Redis' script does, random load, lost and late answers,
 * kills, outages, and calls that do not take place. A seed repeats its run exactly.
 */
import {
  type Correction,
  type RateAsk,
  type RateGrant,
  RateShares,
  roomLastsMs,
  shareMsOf,
  shareOfRoom,
} from "../../src/admission/rates/rate-shares.ts"
import { keptParts, partMsOf } from "../../src/admission/rates/sliding-window.ts"
import { randomOf } from "../support/random.ts"

/** The windows of Redis, on the simulation's time: parts by their number, also parts that shares end in. */
class Store {
  readonly #windows = new Map<string, Map<number, number>>()
  nowMs = 0

  #look(key: string, windowMs: number) {
    const parts = this.#windows.get(key) ?? new Map<number, number>()
    this.#windows.set(key, parts)
    const present = Math.floor(this.nowMs / partMsOf(windowMs))
    for (const part of parts.keys()) if (part < present - keptParts(windowMs)) parts.delete(part)
    const add = (part: number, amount: number) => parts.set(part, (parts.get(part) ?? 0) + amount)
    return { parts, present, add, sum: [...parts.values()].reduce((sum, each) => sum + each, 0) }
  }

  ask(asks: ReadonlyArray<RateAsk>): ReadonlyArray<RateGrant> | "rate" {
    for (const { key, windowMs, back, backPart } of asks) this.correct({ key, windowMs, amount: -back, part: backPart })
    const isFull = ({ key, windowMs, limit, amount }: RateAsk) => this.#look(key, windowMs).sum + amount > limit
    if (asks.some(isFull)) return "rate"
    return asks.map(({ key, limit, windowMs, amount, want }) => {
      const { parts, present, add, sum } = this.#look(key, windowMs)
      add(present, amount)
      const [room, used] = [limit - sum - amount, sum + amount]
      const elapsedMs = Math.min(windowMs, (present - Math.min(...parts.keys())) * partMsOf(windowMs))
      const share = room * elapsedMs > used * roomLastsMs && want * shareOfRoom < room ? want : 0
      if (share > 0) add(Math.floor((this.nowMs + shareMsOf(windowMs)) / partMsOf(windowMs)), share)
      return { share, room: room - share, atMs: this.nowMs }
    })
  }

  correct({ key, windowMs, amount, part }: Correction): void {
    const { parts, present, add } = this.#look(key, windowMs)
    if (amount > 0) add(present, amount)
    else if (parts.has(part)) add(part, -Math.min(-amount, parts.get(part) ?? 0))
  }
}

/** Admitted calls, with the exact sum of the window that ends now. */
class Exactly {
  readonly #calls: Array<{ readonly atMs: number; readonly amount: number }> = []
  #first = 0
  #within = 0
  all = 0
  most = 0

  within(nowMs: number, windowMs: number): number {
    for (let oldest = this.#calls[this.#first]; oldest !== undefined && oldest.atMs <= nowMs - windowMs; ) {
      this.#within -= oldest.amount
      oldest = this.#calls[++this.#first]
    }
    return this.#within
  }

  add(amount: number, nowMs: number, windowMs: number): void {
    this.#calls.push({ atMs: nowMs, amount })
    this.#within += amount
    this.all += amount
    this.most = Math.max(this.most, this.within(nowMs, windowMs))
  }
}

interface Node {
  shares: RateShares
  /** Its clock is ahead or behind. */
  readonly skewMs: number
}

interface Event {
  readonly atMs: number
  readonly run: () => void
}

export interface RateLoad {
  readonly seconds: number
  readonly perSecond: number
  readonly windowMs: number
  /** The most that a call counts. */
  readonly mostAmount: number
  /** Whether a node is killed now and then, the store is gone for a second, answers are lost, and calls do not take place. */
  readonly faults: boolean
}

/**
 * Four nodes with random load; @returns the most that any window had, and the amount, also as a part, that was refused of what one
 * exact window would have admitted of the same calls.
 */
export const simulateRates = (seed: number, limit: number, load: RateLoad) => {
  const { seconds, perSecond, windowMs, mostAmount, faults } = load
  const random = randomOf(seed)
  const store = new Store()
  const key = "k"
  const nodes: Array<Node> = Array.from({ length: 4 }, () => ({
    shares: new RateShares(),
    skewMs: Math.floor(random() * 1e6),
  }))
  const events: Array<Event> = []
  const at = (delayMs: number, run: () => void) => events.push({ atMs: store.nowMs + delayMs, run })
  const admitted = new Exactly()
  const ideal = new Exactly()
  let calls = 0
  let asked = 0
  let goneUntilMs = 0
  const admit = (amount: number) => admitted.add(amount, store.nowMs, windowMs)
  const call = (node: Node) => {
    const nowMs = store.nowMs + node.skewMs
    const amount = 1 + Math.floor(random() * mostAmount)
    const rates = [{ bucket: "b", limit, windowMs, amount }]
    calls++
    if (ideal.within(store.nowMs, windowMs) + amount <= limit) ideal.add(amount, store.nowMs, windowMs)
    const taken = node.shares.take([key], rates, nowMs)
    if (taken !== undefined) {
      // Some calls do not take place after all.
      if (faults && random() < 0.02) return node.shares.undo([key], rates, taken)
      return admit(amount)
    }
    asked++
    const asks = node.shares.ask([key], rates, nowMs)
    // The question and the answer travel, and may be lost.
    at(random() * 20, () => {
      if (store.nowMs < goneUntilMs) return
      const answer = store.ask(asks)
      if (answer === "rate" || (faults && random() < 0.01)) return
      admit(amount)
      at(faults && random() < 0.01 ? 1500 : random() * 20, () => node.shares.grant(asks, answer, nowMs))
    })
  }
  for (let ms = 0; ms < seconds * 1000; ms++) {
    store.nowMs = ms
    for (const event of events.filter(({ atMs }) => atMs <= ms)) {
      events.splice(events.indexOf(event), 1)
      event.run()
    }
    // The load of a node changes.
    for (const [index, node] of nodes.entries()) {
      const rate = (perSecond / 4) * (1 + Math.sin(ms / 700 + index * 2)) * (index === 3 ? 0.1 : 1)
      for (let due = rate / 1000; due > 0; due--) if (random() < due) call(node)
      if (ms % 100 === index) {
        const unused = node.shares.unused(ms + node.skewMs)
        if (!(faults && random() < 0.01) && ms >= goneUntilMs)
          at(random() * 20, () => unused.map((each) => store.correct(each)))
      }
    }
    if (faults && random() < 0.0002) goneUntilMs = ms + 1000
    const [killed] = nodes
    if (faults && killed !== undefined && random() < 0.0002) {
      // Killed, and started again: what it had is lost.
      killed.shares = new RateShares()
    }
  }
  return {
    most: admitted.most,
    early: 1 - admitted.all / ideal.all,
    earlyAmount: ideal.all - admitted.all,
    asked: asked / calls,
  }
}

const limits = [1, 10, 600, 100_000]
const loads = [20, 300, 2000]
const lengths = [1000, 10_000, 60_000]

/** The problem of a run as a sentence; undefined if there is none: a limit that was exceeded, or too many early refusals. */
export const rateProblem = (seed: number): string | undefined => {
  const limit = limits[seed % limits.length] ?? 1
  const perSecond = loads[seed % loads.length] ?? 20
  const windowMs = lengths[Math.floor(seed / 2) % lengths.length] ?? 10_000
  // Each limit with and without faults, of requests and of tokens.
  const hasFaults = Math.floor(seed / limits.length) % 2 === 0
  const mostAmount = limit < 100 || seed % 3 === 0 ? 1 : limit / 50
  const { most, early, earlyAmount } = simulateRates(seed, limit, {
    seconds: 12,
    perSecond,
    windowMs,
    mostAmount,
    faults: hasFaults,
  })
  const subject = `a rate of ${limit} in ${windowMs} ms`
  if (most > limit) return `${subject} let in ${most}`
  // The shares of a killed node count as used, because its use is not known.
  if (hasFaults || early < 0.01) return undefined
  // A window is longer by a part and the way to the store: of 12 calls, one a second, the last may come after the end of the run.
  if (earlyAmount <= mostAmount) return undefined
  return `${subject} refused ${(early * 100).toFixed(1)} % of the calls too early`
}
