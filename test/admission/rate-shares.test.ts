/**
 * Leased rates: no limit is ever exceeded, whatever nodes do and however late answers are; nobody is refused for long while
 * others have idle shares. On virtual time, with a store that does what the script does.
 */
import { describe, expect, it } from "vitest"
import { randomOf } from "../../scripts/random.ts"
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
  isDead: boolean
}

interface Event {
  readonly atMs: number
  readonly run: () => void
}

/** Four nodes with random load; @returns by window what was admitted, and refusals while others had idle shares. */
const simulate = (
  seed: number,
  limit: number,
  { seconds, perSecond, kills }: { seconds: number; perSecond: number; kills: boolean },
) => {
  const random = randomOf(seed)
  const store = new Store()
  const key = "k"
  const windowMs = 10_000
  const rates = [{ bucket: "b", limit, windowMs }]
  const nodes: Array<Node> = Array.from({ length: 4 }, () => ({
    shares: new RateShares(),
    skewMs: Math.floor(random() * 1e6),
    isDead: false,
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
  const admit = () => {
    const endMs = store.endOf(key) ?? -1
    admitted.set(endMs, (admitted.get(endMs) ?? 0) + 1)
    refusedSinceMs = undefined
  }
  const call = (node: Node) => {
    if (node.isDead) return
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
        at(random() < 0.01 ? 1500 : random() * 20, () => node.isDead || node.shares.grant(asks, answer, nowMs))
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
        const unused = node.isDead ? [] : node.shares.unused(ms + node.skewMs)
        if (random() > 0.01) at(random() * 20, () => unused.map((each) => store.giveBack(each)))
      }
    }
    const [first] = nodes
    if (kills && first !== undefined && random() < 0.0002) {
      // Killed, and started again: what it had is lost.
      first.shares = new RateShares()
    }
  }
  return { admitted, early, earlyMs, windows: windows.size, asked: asked / calls }
}

describe.each([1, 10, 600, 100_000])("a limit of %i in a window, at four nodes", (limit) => {
  it("is never exceeded, with kills, lost and late answers, and calls that do not take place", () => {
    for (let seed = 1; seed <= 12; seed++) {
      const perSecond = [20, 300, 2000][seed % 3] ?? 20
      const { admitted } = simulate(seed, limit, { seconds: 40, perSecond, kills: true })
      for (const [, count] of admitted) expect(count, `seed ${seed}`).toBeLessThanOrEqual(limit)
    }
  }, 120_000)
})

it("a limit that is far away is asked about for few of the calls", () => {
  const { asked } = simulate(1, 100_000, { seconds: 30, perSecond: 500, kills: false })
  expect(asked).toBeLessThan(0.15)
})

describe("a share", () => {
  const rates = [{ bucket: "b", limit: 1000, windowMs: 60_000 }]
  const busy = () => {
    const shares = new RateShares()
    for (let call = 0; call < 50; call++) shares.ask(["k"], rates, call)
    return shares
  }

  it("is what was used lately, and none after a single call", () => {
    const shares = new RateShares()
    expect(shares.ask(["k"], rates, 0)).toMatchObject([{ want: 0, back: 0 }])
    expect(shares.ask(["k"], rates, 1)).toMatchObject([{ want: 2 }])
    expect(shares.ask(["k"], rates, 100_000)).toMatchObject([{ want: 0 }])
    expect(busy().ask(["k"], rates, 100)).toMatchObject([{ want: 51 }])
  })

  it("ends with its window, counted from when it was asked for, and after two seconds; the rest goes back", () => {
    const shares = busy()
    const asks = shares.ask(["k"], rates, 100)
    shares.grant(asks, [{ count: 5, leftMs: 500, endMs: 9000 }], 100)
    expect(shares.take(["k"], rates, 599)).toBe(true)
    expect(shares.take(["k"], rates, 600)).toBe(false)
    expect(shares.unused(599)).toEqual([])
    expect(shares.unused(600)).toEqual([{ key: "k", count: 4, endMs: 9000 }])
    shares.grant(asks, [{ count: 5, leftMs: 50_000, endMs: 9000 }], 600)
    expect(shares.take(["k"], rates, 600 + shareMs - 1)).toBe(true)
    expect(shares.take(["k"], rates, 600 + shareMs)).toBe(false)
    // What is left goes back with the next question.
    expect(shares.ask(["k"], rates, 600 + shareMs)).toMatchObject([{ back: 4, backEndMs: 9000 }])
  })

  it("of another limit is not used, and a call that is undone is not counted, unless its window is over", () => {
    const shares = busy()
    const asks = shares.ask(["k"], rates, 100)
    shares.grant(asks, [{ count: 2, leftMs: 5000, endMs: 9000 }], 100)
    expect(shares.take(["k"], [{ bucket: "b", limit: 999, windowMs: 60_000 }], 101)).toBe(false)
    expect(shares.take(["k"], rates, 101)).toBe(true)
    const undo = shares.undoing(["k"])
    undo()
    expect(shares.unused(10_000)).toEqual([{ key: "k", count: 2, endMs: 9000 }])
    shares.grant(asks, [{ count: 2, leftMs: 5000, endMs: 70_000 }], 10_000)
    undo()
    expect(shares.unused(20_000)).toEqual([{ key: "k", count: 2, endMs: 70_000 }])
  })

  it("counts a call in all windows, or in none", () => {
    const shares = new RateShares()
    const two = [...rates, { bucket: "c", limit: 10, windowMs: 60_000 }]
    for (let call = 0; call < 5; call++) shares.ask(["k", "c"], two, call)
    const asks = shares.ask(["k", "c"], two, 10)
    shares.grant(
      asks,
      [
        { count: 5, leftMs: 5000, endMs: 9000 },
        { count: 1, leftMs: 5000, endMs: 9000 },
      ],
      10,
    )
    expect(shares.take(["k", "c"], two, 11)).toBe(true)
    expect(shares.take(["k", "c"], two, 11)).toBe(false)
    expect(shares.unused(9000)).toEqual([{ key: "k", count: 4, endMs: 9000 }])
  })
})

describe("a refusal while others have idle shares", () => {
  it("is rare, and lasts two seconds at most", () => {
    let early = 0
    let windows = 0
    for (let seed = 1; seed <= 12; seed++) {
      const run = simulate(seed, 600, { seconds: 60, perSecond: 80, kills: false })
      early += run.early > 0 ? 1 : 0
      windows += run.windows
      expect(run.earlyMs).toBeLessThanOrEqual(shareMs + 250)
    }
    expect(early / windows).toBeLessThan(0.01)
  }, 120_000)
})
