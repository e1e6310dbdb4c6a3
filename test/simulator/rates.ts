/**
 * Leased rates on virtual time: four nodes with a store that does what Redis' script does, random load, lost and late answers,
 * kills, outages, and calls that do not take place. A seed repeats its run exactly.
 */
import {
  type GrantedShare,
  type RateAsk,
  RateShares,
  restLastsMs,
  shareMs,
  shareOfRest,
  type UnusedShare,
  windowToleranceMs,
} from "../../src/admission/rate-shares.ts"
import { randomOf } from "../support/random.ts"

/** The counters of Redis, on the simulation's time. */
class Store {
  readonly #windows = new Map<string, { used: number; endMs: number }>()
  nowMs = 0

  #current(key: string) {
    const window = this.#windows.get(key)
    return window !== undefined && window.endMs > this.nowMs ? window : undefined
  }

  ask(asks: ReadonlyArray<RateAsk>): ReadonlyArray<GrantedShare> | "rate" {
    for (const { key, back, backEndMs } of asks) this.giveBack({ key, count: back, endMs: backEndMs })
    if (asks.some(({ key, limit }) => (this.#current(key)?.used ?? 0) >= limit)) return "rate"
    return asks.map(({ key, limit, windowMs, want }) => {
      const window = this.#current(key) ?? { used: 0, endMs: this.nowMs + windowMs }
      const [rest, elapsedMs] = [limit - window.used, windowMs - (window.endMs - this.nowMs)]
      const lasts = rest * elapsedMs > window.used * restLastsMs
      const count = lasts && want * shareOfRest < rest ? want : 0
      window.used += 1 + count
      this.#windows.set(key, window)
      return { count, leftMs: window.endMs - this.nowMs, endMs: window.endMs }
    })
  }

  giveBack({ key, count, endMs }: UnusedShare): void {
    const window = this.#current(key)
    if (window === undefined || count <= 0 || Math.abs(window.endMs - endMs) >= windowToleranceMs) return
    window.used -= Math.min(count, window.used)
  }

  /** When the present window ends. */
  endOf(key: string): number | undefined {
    return this.#current(key)?.endMs
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
  /** Whether a node is killed now and then. */
  readonly kills: boolean
  /** Whether the store is gone for a second now and then. */
  readonly outages: boolean
}

/** Four nodes with random load; @returns by window what was admitted, and refusals while others had idle shares. */
export const simulateRates = (seed: number, limit: number, { seconds, perSecond, kills, outages }: RateLoad) => {
  const random = randomOf(seed)
  const store = new Store()
  const key = "k"
  const windowMs = 10_000
  const rates = [{ bucket: "b", limit, windowMs }]
  const nodes: Array<Node> = Array.from({ length: 4 }, () => ({
    shares: new RateShares(),
    skewMs: Math.floor(random() * 1e6),
  }))
  const events: Array<Event> = []
  const at = (delayMs: number, run: () => void) => events.push({ atMs: store.nowMs + delayMs, run })
  /** The window in which a call took place is the store's at that time. */
  const admitted = new Map<number, number>()
  const windows = new Set<number>()
  let calls = 0
  let asked = 0
  let early = 0
  let earlyMs = 0
  let refusedSinceMs: number | undefined
  let goneUntilMs = 0
  const admit = () => {
    const endMs = store.endOf(key) ?? -1
    admitted.set(endMs, (admitted.get(endMs) ?? 0) + 1)
    refusedSinceMs = undefined
  }
  const call = (node: Node) => {
    const nowMs = store.nowMs + node.skewMs
    calls++
    if (node.shares.take([key], rates, nowMs)) {
      // Some calls do not take place after all.
      if (random() < 0.02) return node.shares.undoing([key])()
      return admit()
    }
    asked++
    const asks = node.shares.ask([key], rates, nowMs)
    // The question and the answer travel, and may be lost.
    at(random() * 20, () => {
      if (store.nowMs < goneUntilMs) return
      const isLost = random() < 0.01
      const answer = store.ask(asks)
      if (answer !== "rate") {
        windows.add(store.endOf(key) ?? -1)
        if (!isLost) admit()
      } else {
        const idle = nodes.some((other) => other !== node && hasIdle(other))
        if (idle) {
          early++
          refusedSinceMs ??= store.nowMs
          earlyMs = Math.max(earlyMs, store.nowMs - refusedSinceMs)
        } else refusedSinceMs = undefined
      }
      if (answer !== "rate" && !isLost) {
        at(random() < 0.01 ? 1500 : random() * 20, () => node.shares.grant(asks, answer, nowMs))
      }
    })
  }
  const hasIdle = ({ shares, skewMs }: Node) => {
    const isIdle = shares.take([key], rates, store.nowMs + skewMs)
    if (isIdle) shares.undoing([key])()
    return isIdle
  }
  for (let ms = 0; ms < seconds * 1000; ms++) {
    store.nowMs = ms
    for (const event of events.filter(({ atMs }) => atMs <= ms)) {
      events.splice(events.indexOf(event), 1)
      event.run()
    }
    // The load of a node changes.
    for (const [index, node] of nodes.entries()) {
      const load = (perSecond / 4) * (1 + Math.sin(ms / 700 + index * 2)) * (index === 3 ? 0.1 : 1)
      for (let due = load / 1000; due > 0; due--) if (random() < due) call(node)
      if (ms % 250 === index) {
        const unused = node.shares.unused(ms + node.skewMs)
        if (random() > 0.01 && ms >= goneUntilMs) at(random() * 20, () => unused.map((each) => store.giveBack(each)))
      }
    }
    if (outages && random() < 0.0002) goneUntilMs = ms + 1000
    const [first] = nodes
    if (kills && first !== undefined && random() < 0.0002) {
      // Killed, and started again: what it had is lost.
      first.shares = new RateShares()
    }
  }
  return { admitted, early, earlyMs, windows: windows.size, asked: asked / calls }
}

const limits = [1, 10, 600, 100_000]
const loads = [20, 300, 2000]

/** The problem of a run as a sentence; undefined if there is none: a limit that was exceeded, or a lasting refusal. */
export const rateProblem = (seed: number): string | undefined => {
  const limit = limits[seed % limits.length] ?? 1
  const perSecond = loads[seed % loads.length] ?? 20
  // Each limit with and without faults.
  const hasFaults = Math.floor(seed / limits.length) % 2 === 0
  const { admitted, earlyMs } = simulateRates(seed, limit, {
    seconds: 12,
    perSecond,
    kills: hasFaults,
    outages: hasFaults,
  })
  for (const [endMs, count] of admitted) {
    if (count > limit) return `a rate of ${limit} a window let in ${count} in the window that ended at ${endMs} ms`
  }
  // The shares of a killed node count as used, because its use is not known.
  if (hasFaults || earlyMs <= shareMs + 250) return undefined
  return `a rate of ${limit} a window refused calls for ${earlyMs} ms while other nodes had idle shares`
}
