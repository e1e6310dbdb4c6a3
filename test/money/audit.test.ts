/**
 * `weir doctor` and its companions: a consistent ledger is reported as such, and every inconsistency is found by its
 * id.
 */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { hello } from "../../src/testing/index.ts"
import { errorOf, replyOf, useGateway } from "../conformance/gateway.ts"

const gateway = useGateway()
const admin = (path: string, init: RequestInit = {}, adminKey = gateway().adminKey) =>
  fetch(`${gateway().baseUrl}/v1/admin/${path}`, {
    ...init,
    headers: { "content-type": "application/json", "x-svc-admin-key": adminKey },
  })
const findings = async () => (await admin("doctor")).json()
const run = (statement: string) => Effect.runPromise(gateway().sql.unsafe(statement))

describe("the doctor", () => {
  it("reports a consistent ledger as consistent", async () => {
    await gateway().exchange(hello)
    await (await gateway().exchange({ ...hello, stream: true })).text()
    expect(await findings()).toEqual({ findings: [] })
  })

  it.each([
    [
      "a balance that is not its entries",
      "update balances set available = available + 1",
      "update balances set available = available - 1",
      "entries do not sum to the balance",
    ],
    [
      "a settlement without its record",
      "update usage_records set ref = ref || 'x'",
      "update usage_records set ref = rtrim(ref, 'x')",
      "a settlement has no usage record",
    ],
    [
      "a record of another cost",
      "update usage_records set cost = cost + 1",
      "update usage_records set cost = cost - 1",
      "a usage record has no settlement",
    ],
    [
      "a quota that is not its holds",
      "update quota_days set reserved = reserved + 1",
      "update quota_days set reserved = reserved - 1",
      "a quota day does not match its holds",
    ],
  ])("finds %s", async (_what, harm, mend, finding) => {
    const { requestId } = await replyOf(await gateway().exchange(hello))
    await run(harm)
    expect(JSON.stringify(await findings())).toContain(finding)
    await run(mend)
    expect(await findings()).toEqual({ findings: [] })
    expect(requestId).toMatch(/^req_/)
  })

  it("finds a hold with an expired lease, by its ref", async () => {
    const { ledger, orgId, keyId } = gateway()
    const hold = {
      ref: "stale",
      orgId,
      currency: "USD",
      keyId,
      requestId: "stale",
      amount: 1n,
      leaseMs: 1,
      quota: { tokens: 0, limit: undefined },
    }
    await Effect.runPromise(ledger.hold(hold))
    expect(await findings()).toEqual({ findings: [{ finding: "a hold has outlived its lease", id: "stale" }] })
    await Effect.runPromise(ledger.release("stale"))
  })
})

describe("money commands", () => {
  it("a top-up credits once an id", async () => {
    const body = JSON.stringify({ id: "extra", org: gateway().orgId, amount: "12.5" })
    expect(await (await admin("topups", { method: "POST", body })).json()).toMatchObject({ credited: true })
    expect(await (await admin("topups", { method: "POST", body })).json()).toMatchObject({ credited: false })
  })

  it.each([
    [{ id: "a", org: "org_unheard", amount: "1" }, 404, "not_found"],
    [{ id: "a", org: "o", amount: "-1" }, 400, "bad_request"],
    [{ id: "a", org: "o", amount: "1e3" }, 400, "bad_request"],
    [{ id: "a", org: "o", amount: "1", currency: "USD" }, 400, "bad_request"],
  ])("a top-up %j is %i %s", async (body, status, code) => {
    expect(await errorOf(await admin("topups", { method: "POST", body: JSON.stringify(body) }))).toMatchObject({
      status,
      code,
    })
  })

  it("the ledger shows balances and the newest entries", async () => {
    const ledger = await (await admin(`ledger/${gateway().orgId}`)).json()
    expect(ledger).toMatchObject({ balances: [{ currency: "USD", held: "0" }] })
    expect(JSON.stringify(ledger)).toContain(`"kind":"topup"`)
  })

  it("is for operators only", async () => {
    for (const path of ["doctor", `ledger/${gateway().orgId}`]) {
      expect(await errorOf(await admin(path, {}, "wrong"))).toMatchObject({ status: 401, code: "admin_key_invalid" })
    }
  })
})
