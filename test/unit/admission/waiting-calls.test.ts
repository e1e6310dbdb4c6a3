/** Calls that wait for their hold: a slow organisation limits itself, and what all have in common limits all. */
import { describe, expect, it } from "vitest"
import { nextMaxWaiting } from "../../../src/admission/overload.ts"
import { WaitingCalls } from "../../../src/admission/waiting-calls.ts"

const next = (most: number, averageMs: number, peak: number) => nextMaxWaiting(most, averageMs / 250, peak)

/** Calls that wait at the same time, and get their holds. */
const wait = (calls: WaitingCalls, org: string, count: number, ms: number, isHeld = true) => {
  for (let at = 0; at < count; at++) calls.enter(org)
  for (let at = 0; at < count; at++) {
    if (isHeld) calls.held(org, ms)
    else calls.failed(org, ms)
  }
}

describe("calls that wait", () => {
  it("of a slow organisation have less room, down to sixteen, and those of others all of it", () => {
    const calls = new WaitingCalls()
    for (let window = 0; window < 30; window++) {
      wait(calls, "slow", 100, 700)
      wait(calls, "other", 3, 2)
      expect(calls.turn(next)).toMatchObject({ orgs: 2, usualMs: 2, leastMs: 2, seen: 103, peak: 100 })
    }
    for (let at = 0; at < 17; at++) calls.enter("slow")
    for (let at = 0; at < 500; at++) calls.enter("other")
    expect([calls.hasRoom("slow"), calls.hasRoom("other"), calls.hasRoom("third")]).toEqual([false, true, true])
    calls.held("slow", 700)
    expect(calls.hasRoom("slow")).toBe(true)
  })

  it("that end without a hold count for their own organisation alone", () => {
    const calls = new WaitingCalls()
    for (let window = 0; window < 30; window++) {
      wait(calls, "locked", 100, 2000, false)
      expect(calls.turn(next)).toMatchObject({ seen: 0, leastMs: Number.POSITIVE_INFINITY })
    }
    for (let at = 0; at < 17; at++) calls.enter("locked")
    expect(calls.hasRoom("locked")).toBe(false)
  })

  it("that were refused, or wait for something else, count for nobody", () => {
    const calls = new WaitingCalls()
    for (let window = 0; window < 30; window++) {
      wait(calls, "locked", 20, 2000, false)
      for (let at = 0; at < 500; at++) {
        calls.enter("locked")
        calls.leave("locked")
      }
      expect(calls.turn(next)).toMatchObject({ seen: 0, orgs: 1 })
    }
    for (let at = 0; at < 17; at++) calls.enter("locked")
    expect(calls.hasRoom("locked")).toBe(false)
    expect(calls.count).toBe(17)
  })

  it("wait for something common if more than three quarters of the organisations do", () => {
    const calls = new WaitingCalls()
    for (const [org, ms] of Object.entries({ a: 300, b: 400, c: 500, d: 600, e: 3 })) wait(calls, org, 5, ms)
    expect(calls.turn(next)).toMatchObject({ orgs: 5, usualMs: 300, leastMs: 3 })
    for (const [org, ms] of Object.entries({ a: 300, b: 400, c: 3, d: 600 })) wait(calls, org, 5, ms)
    expect(calls.turn(next)).toMatchObject({ orgs: 4, usualMs: 3 })
  })

  it("leave nothing behind: an organisation without calls is forgotten, and has all of its room again", () => {
    const calls = new WaitingCalls()
    for (let org = 0; org < 1000; org++) wait(calls, `org_${org}`, 20, 700)
    expect(calls.turn(next)).toMatchObject({ orgs: 1000, active: 1000 })
    for (let window = 0; window < 52; window++) calls.turn(next)
    expect(calls.turn(next)).toMatchObject({ orgs: 0, active: 0 })
    expect(calls.count).toBe(0)
    for (let at = 0; at < 100; at++) calls.enter("org_1")
    expect(calls.hasRoom("org_1")).toBe(true)
  })
})
