/**
 * Leased rates: no limit is ever exceeded, for any order of requests and any delay of answers; nobody is refused for long
 * while others have idle shares. On virtual time, with a store that does what the script does.
 */
import { describe, expect, it } from "vitest"
import { RateShares, shareMs } from "../../../src/admission/rate-shares.ts"
import { simulateRates } from "../../simulator/rates.ts"

describe.each([1, 10, 600, 100_000])("a limit of %i in a window, at four nodes", (limit) => {
  it("is never exceeded, with kills, lost and late answers, and calls that do not take place", () => {
    for (let seed = 1; seed <= 12; seed++) {
      const perSecond = [20, 300, 2000][seed % 3] ?? 20
      const { admitted } = simulateRates(seed, limit, { seconds: 40, perSecond, kills: true, outages: true })
      for (const [, count] of admitted) expect(count, `seed ${seed}`).toBeLessThanOrEqual(limit)
    }
  }, 120_000)
})

it("a limit that is far away is asked about for few of the calls", () => {
  const { asked } = simulateRates(1, 100_000, { seconds: 30, perSecond: 500, kills: false, outages: false })
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
    // The rest of a share goes back with the next question.
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
      const run = simulateRates(seed, 600, { seconds: 60, perSecond: 80, kills: false, outages: false })
      early += run.early > 0 ? 1 : 0
      windows += run.windows
      expect(run.earlyMs).toBeLessThanOrEqual(shareMs + 250)
    }
    expect(early / windows).toBeLessThan(0.01)
  }, 120_000)
})
