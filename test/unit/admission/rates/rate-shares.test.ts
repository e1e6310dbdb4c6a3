/**
 * Leased rates: no window ever has more than its limit, for any order of requests and any delay of answers; hardly anybody is refused
 * too early. On virtual time, with a store that does what the script does.
 */
import { describe, expect, it } from "vitest"
import { RateShares, shareMsOf } from "../../../../src/admission/rates/rate-shares.ts"
import { simulateRates } from "../../../simulator/rates.ts"

const calm = { faults: false, mostAmount: 1, windowMs: 60_000 }

describe.each([1, 10, 600, 100_000])("a limit of %i in a window, at four nodes", (limit) => {
  it("is never exceeded, with kills, lost and late answers, and calls that do not take place", () => {
    for (let seed = 1; seed <= 12; seed++) {
      const { most } = simulateRates(seed, limit, {
        seconds: 40,
        perSecond: [20, 300, 2000][seed % 3] ?? 20,
        windowMs: [1000, 10_000, 30_000][seed % 3] ?? 1000,
        mostAmount: seed % 2 === 0 ? Math.ceil(limit / 20) : 1,
        faults: true,
      })
      expect(most, `seed ${seed}`).toBeLessThanOrEqual(limit)
    }
  }, 120_000)
})

it("a limit that is far away is asked about for few of the calls", () => {
  const { asked } = simulateRates(1, 1_000_000, { ...calm, seconds: 30, perSecond: 500 })
  expect(asked).toBeLessThan(0.15)
})

describe.each([
  ["calls", 1, 600],
  ["tokens", 2000, 200_000],
])("%s that one exact window would admit", (_, mostAmount, limit) => {
  it("are refused in less than one case in a hundred, below the limit, at it and above it", () => {
    for (const perSecond of [8, 10, 12, 30]) {
      const { early } = simulateRates(perSecond, limit, {
        ...calm,
        seconds: 233,
        // Tokens come in larger pieces.
        perSecond: mostAmount === 1 ? perSecond : perSecond / 3,
        mostAmount,
      })
      expect(early, `${perSecond} a second`).toBeLessThan(0.01)
    }
  }, 120_000)
})

describe("a share", () => {
  const rates = [{ bucket: "b", limit: 1000, windowMs: 60_000 }]
  const lastsMs = shareMsOf(60_000)
  const busy = () => {
    const shares = new RateShares()
    for (let call = 0; call < 50; call++) shares.ask(["k"], rates, call)
    return shares
  }

  it("is the amount that was used lately, and none after a single call", () => {
    const shares = new RateShares()
    expect(shares.ask(["k"], rates, 0)).toMatchObject([{ want: 0, back: 0 }])
    expect(shares.ask(["k"], [{ bucket: "b", limit: 1000, windowMs: 60_000, amount: 30 }], 1)).toMatchObject([
      { want: 31 },
    ])
    expect(shares.ask(["k"], rates, 100_000)).toMatchObject([{ want: 0 }])
    expect(busy().ask(["k"], rates, 100)).toMatchObject([{ want: 51 }])
  })

  it("is none of a window that is too short for it", () => {
    const short = [{ bucket: "b", limit: 1000, windowMs: 10_000 }]
    const shares = new RateShares()
    for (let call = 0; call < 50; call++) shares.ask(["k"], short, call)
    expect(shares.ask(["k"], short, 50)).toMatchObject([{ want: 0 }])
  })

  it("lasts a part of its window, from when it was asked for; the rest goes back to the part in which it was counted", () => {
    const shares = busy()
    const asks = shares.ask(["k"], rates, 100)
    shares.grant(asks, [{ share: 5, room: 100, atMs: 9000 }], 100)
    expect(shares.take(["k"], rates, 100 + lastsMs - 1)).toEqual([{ part: 16, room: 104 }])
    expect(shares.take(["k"], rates, 100 + lastsMs)).toBeUndefined()
    expect(shares.unused(100 + lastsMs - 1)).toEqual([])
    expect(shares.unused(100 + lastsMs)).toEqual([{ key: "k", windowMs: 60_000, amount: -4, part: 16 }])
    shares.grant(asks, [{ share: 5, room: 100, atMs: 9000 }], 600)
    // The rest of a share goes back with the next question.
    expect(shares.ask(["k"], rates, 2000)).toMatchObject([{ back: 5, backPart: 16 }])
  })

  it("of another limit is not used, and a call that is undone is not counted, unless its share is over", () => {
    const shares = busy()
    const asks = shares.ask(["k"], rates, 100)
    shares.grant(asks, [{ share: 2, room: 100, atMs: 9000 }], 100)
    expect(shares.take(["k"], [{ bucket: "b", limit: 999, windowMs: 60_000 }], 101)).toBeUndefined()
    const taken = shares.take(["k"], rates, 101) ?? []
    shares.undo(["k"], rates, taken)
    expect(shares.unused(10_000)).toMatchObject([{ amount: -2 }])
    shares.grant(asks, [{ share: 2, room: 100, atMs: 70_000 }], 10_000)
    shares.undo(["k"], rates, taken)
    expect(shares.unused(20_000)).toMatchObject([{ amount: -2 }])
  })

  it("counts a call in all windows, or in none, each by its amount", () => {
    const shares = new RateShares()
    const two = [...rates, { bucket: "c", limit: 10_000, windowMs: 60_000, unit: "tokens" as const, amount: 300 }]
    for (let call = 0; call < 5; call++) shares.ask(["k", "c"], two, call)
    const asks = shares.ask(["k", "c"], two, 10)
    const grants = [5, 500].map((share) => ({ share, room: 100, atMs: 9000 }))
    shares.grant(asks, grants, 10)
    expect(shares.take(["k", "c"], two, 11)).toHaveLength(2)
    expect(shares.take(["k", "c"], two, 11)).toBeUndefined()
    expect(shares.unused(9000)).toMatchObject([
      { key: "k", amount: -4 },
      { key: "c", amount: -200 },
    ])
  })
})
