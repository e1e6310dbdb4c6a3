/** The windows in which a call counts. */
import { describe, expect, it } from "vitest"
import { rateWindows } from "../../../src/admission/rates.ts"

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

describe("rate windows", () => {
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
    expect(rateWindows(principal)).toEqual(windows)
  })
})
