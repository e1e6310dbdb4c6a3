/** Windows that slide: against an exact one that remembers every call. */
import { describe, expect, it } from "vitest"
import { partMsOf, SlidingWindow } from "../../../../src/admission/rates/sliding-window.ts"
import { randomOf } from "../../../support/random.ts"

const exactly = (
  calls: ReadonlyArray<{ readonly atMs: number; readonly amount: number }>,
  nowMs: number,
  lengthMs: number,
) => calls.reduce((sum, { atMs, amount }) => (atMs > nowMs - lengthMs ? sum + amount : sum), 0)

describe.each([1, 250, 1000, 60_000, 3_600_000])("a window of %i ms", (windowMs) => {
  it("has at least what is within it, and at most that of a window one part longer", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = randomOf(seed)
      const window = new SlidingWindow(windowMs)
      const calls: Array<{ atMs: number; amount: number; part: number }> = []
      let nowMs = Math.floor(random() * 1e12)
      for (let step = 0; step < 300; step++) {
        nowMs += Math.floor((random() * windowMs) / 20)
        const used = window.used(nowMs)
        expect(used).toBeGreaterThanOrEqual(exactly(calls, nowMs, windowMs))
        expect(used).toBeLessThanOrEqual(exactly(calls, nowMs, windowMs + 2 * partMsOf(windowMs)))
        const amount = 1 + Math.floor(random() * 50)
        calls.push({ atMs: nowMs, amount, part: window.add(amount, nowMs) })
        const early = calls.at(-3)
        if (early !== undefined && random() < 0.3 && early.amount > 0) {
          window.takeBack(early.amount, early.part, nowMs)
          early.amount = 0
        }
      }
    }
  })
})

describe("the time until there is room", () => {
  it("is when enough has left, and undefined if one call is more than the limit", () => {
    const window = new SlidingWindow(60_000)
    window.add(6, 1_000_000)
    window.add(4, 1_030_000)
    expect(window.msUntilRoom(1, 11, 1_030_000)).toBe(0)
    const [first, all] = [window.msUntilRoom(1, 10, 1_030_000) ?? 0, window.msUntilRoom(10, 10, 1_030_000) ?? 0]
    expect(first).toBeGreaterThanOrEqual(30_000)
    expect(first).toBeLessThanOrEqual(30_600 + 600)
    expect(all).toBeGreaterThanOrEqual(60_000)
    expect(window.msUntilRoom(11, 10, 1_030_000)).toBeUndefined()
    expect(window.used(1_030_000 + first - 1)).toBe(10)
    expect(window.used(1_030_000 + first)).toBe(4)
  })

  it("does not open when the clock goes back", () => {
    const window = new SlidingWindow(1000)
    window.add(5, 50_000)
    expect(window.used(10_000)).toBe(5)
    window.add(1, 10_000)
    expect(window.used(50_500)).toBe(6)
    expect(window.isEmpty(60_000)).toBe(true)
  })
})
