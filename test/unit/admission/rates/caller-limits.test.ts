/** The limits in which a call counts. */
import { describe, expect, it } from "vitest"
import { callerLimits, noDemand } from "../../../../src/admission/rates/caller-limits.ts"
import type { LimitedSubject } from "../../../../src/tenants/subject-limits.ts"

const org = { id: "org", name: "O", currency: "USD", models: [] }
const caller = {
  keyId: "key",
  endUserId: undefined,
  app: { id: "app", org: "org", quota: { rpm: 30 } },
  org,
  plan: { id: "plan", perMinute: 20, endUserPerMinute: 10 },
  ipAllow: [],
  policies: { inbound: [], outbound: [] },
}
const key = { bucket: "key:key", limit: 20, windowMs: 60_000 }
const app = { bucket: "app:app", limit: 30, windowMs: 60_000, scope: "app" }

describe("rate windows of the contract", () => {
  it.each([
    ["a key pair: its key's and its application's", caller, [key, app]],
    [
      "an end user: a bucket of its own besides",
      { ...caller, endUserId: "ada" },
      [key, app, { bucket: "endUser:app:ada", limit: 10, windowMs: 60_000, scope: "endUser" }],
    ],
    [
      "an end user of an application with a colon in its id: not that of another",
      { ...caller, app: { id: "a:b", org: "org" }, endUserId: "c" },
      [key, { bucket: "endUser:a%3Ab:c", limit: 10, windowMs: 60_000, scope: "endUser" }],
    ],
    ["no plan and no quota: none", { ...caller, plan: undefined, app: { id: "app", org: "org" } }, []],
  ])("%s", (_what, principal, windows) => {
    expect(callerLimits(principal, noDemand)).toEqual({ owner: "org", rates: windows })
  })
})

describe("limits of subjects", () => {
  const limits: ReadonlyArray<LimitedSubject> = [
    { scope: "org", id: "org", rates: [{ requests: 600, per: 60_000 }] },
    { scope: "team", id: "red", rates: [{ tokens: 1000, per: 3_600_000, model: "gpt-*", cached: "free" }] },
    { scope: "person", id: "ann", rates: [{ concurrent: 2 }, { concurrent: 1, model: "tag:slow" }] },
  ]
  const own = { ...caller, plan: undefined, app: undefined, limits }
  const model = { handle: "gpt-5", tags: ["slow"] }

  it("are those of all subjects, for the models that they name", () => {
    const { rates, slots } = callerLimits(own, { model, tokens: 70, runs: true })
    expect(rates).toEqual([
      { bucket: "r:org:org:", limit: 600, windowMs: 60_000, scope: "org" },
      {
        bucket: "t:team:red:gpt-*",
        limit: 1000,
        windowMs: 3_600_000,
        scope: "team",
        unit: "tokens",
        amount: 70,
        cached: "free",
      },
    ])
    expect(slots).toEqual([
      { bucket: "c:person:ann:", limit: 2, scope: "person" },
      { bucket: "c:person:ann:tag:slow", limit: 1, scope: "person" },
    ])
  })

  it("leave out those of other models, and calls at a time if nothing runs", () => {
    const other = callerLimits(own, { model: { handle: "claude" }, tokens: 70, runs: true })
    expect([other.rates.length, other.slots]).toEqual([1, [{ bucket: "c:person:ann:", limit: 2, scope: "person" }]])
    const idle = callerLimits(own, noDemand)
    expect([idle.rates.length, idle.slots]).toEqual([1, undefined])
  })
})
