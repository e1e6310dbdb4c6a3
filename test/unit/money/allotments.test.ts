/**
 * The amount that a node asks for when a hold is not covered, and the time when it takes money to be scarce. Source: README
 * of `src/money`.
 */
import { describe, expect, it } from "vitest"
import { Allotments } from "../../../src/money/allotments.ts"

const org = "org_slow"
const counter = "USD"
const need = { counter, amount: 100n }

const granted = (amount: bigint, isScarce: boolean, available = 1000n) => ({
  _tag: "Granted" as const,
  grants: new Map([[counter, amount]]),
  available: new Map([[counter, available]]),
  scarce: new Set(isScarce ? [counter] : []),
  balance: 10_000n,
})

/** A node that held, was granted so much, and settled for 5. */
const afterOne = (amount: bigint, isScarce: boolean, available?: bigint) => {
  const allotments = new Allotments()
  const reservation = allotments.reserve(org, [need], 0)
  reservation.grant(granted(amount, isScarce, available))
  const allotment = allotments.of(org, need, 0)
  allotment.end(100n, 5n, 1000)
  return { allotments, allotment, asked: reservation.counters }
}

describe("a hold that is not covered", () => {
  it("asks for the next one too: a caller that comes now and then does not wait each time", () => {
    const { allotments, asked } = afterOne(200n, false)
    expect(asked).toEqual([{ counter, need: 100n, want: 200n, limit: undefined }])
    for (let call = 1; call <= 10; call++) {
      const nowMs = call * 4500
      expect(allotments.hold(org, [need], nowMs)).toBe(true)
      allotments.of(org, need, nowMs).end(100n, 5n, nowMs + 100)
    }
  })

  it("is covered by exactly what it takes, and not by less", () => {
    const { allotments } = afterOne(205n, false)
    // The free amount is 205 less the 5 that were charged.
    expect(allotments.hold(org, [{ counter, amount: 201n }], 1000)).toBe(false)
    expect(allotments.hold(org, [{ counter, amount: 200n }], 1000)).toBe(true)
    expect(allotments.of(org, need, 1000).free).toBe(0n)
  })

  it("is all that is asked for while a grant is under way", () => {
    const allotments = new Allotments()
    allotments.reserve(org, [need], 0)
    expect(allotments.reserve(org, [need], 1).counters).toEqual([{ counter, need: 100n, want: 100n, limit: undefined }])
  })

  it("is scarce if no more than itself was granted, and not if only the next one was too much", () => {
    expect(afterOne(100n, true).allotment.isScarce).toBe(true)
    expect(afterOne(125n, true).allotment.isScarce).toBe(false)
    expect(afterOne(200n, false).allotment.isScarce).toBe(false)
  })

  it("is scarce if less than what is burnt was granted", () => {
    const { allotments, allotment } = afterOne(200n, false)
    for (let more = 0; more < 3; more++) {
      const reservation = allotments.reserve(org, [need], 1100)
      const want = reservation.counters[0]?.want ?? 0n
      reservation.grant(granted(want < 101n ? want : 101n, true))
    }
    expect(allotment.isScarce).toBe(true)
  })

  it("asks for the whole of what is scarce, and for what the node owes; what is at hand stays for smaller holds", () => {
    const { allotments, allotment } = afterOne(140n, false)
    allotment.isScarce = true
    const reservation = allotments.reserve(org, [{ counter, amount: 150n }], 1100)
    expect(reservation.counters).toEqual([{ counter, need: 150n, want: 150n, limit: undefined }])
    expect(allotments.hold(org, [need], 1100)).toBe(true)
    reservation.undo(1100)
    expect(allotment).toMatchObject({ free: 35n, held: 100n })
    allotment.end(100n, 240n, 1200)
    expect(allotments.reserve(org, [need], 1300).counters[0]?.need).toBe(205n)
  })
})

describe("what is not used", () => {
  /** When it goes back, by the second, and how much. */
  const returned = (available: bigint) => {
    const { allotment } = afterOne(200n, false, available)
    for (let nowMs = 1000; nowMs < 120_000; nowMs += 1000) {
      const amount = allotment.idle(nowMs)
      if (amount > 0n) return [nowMs, amount]
    }
    return []
  }

  it("goes back after five seconds, or after sixty if it is at most a 64th of what there was", () => {
    // The lowest of the first five seconds was while it was held.
    expect(returned(64n * 195n - 1n)).toEqual([10_000, 195n])
    expect(returned(64n * 195n)).toEqual([65_000, 195n])
  })

  it("may rest again each time that it is used", () => {
    const { allotments, allotment } = afterOne(200n, false, 64n * 200n)
    for (let nowMs = 1000; nowMs < 600_000; nowMs += 1000) {
      if (nowMs % 30_000 === 0) {
        expect(allotments.hold(org, [need], nowMs)).toBe(true)
        allotment.end(100n, 0n, nowMs)
      }
      expect(allotment.idle(nowMs)).toBe(0n)
    }
  })
})
