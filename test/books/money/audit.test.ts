/**
 * `weir doctor` and its companions: a consistent ledger is reported as such, and every inconsistency is found by its
 * id.
 */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { dayOf } from "../../../src/protocol/values/utc8.ts"
import { hello } from "../../../src/testing/index.ts"
import { errorOf, replyOf, useGateway } from "../../support/gateway.ts"

// The node renews no lease on its own while a test ends one.
const gateway = useGateway({ config: { leaseMs: 600_000, checkpointMs: 300_000 } })
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
    expect(await findings()).toMatchObject({ findings: [] })
  })

  it("checks many organisations in pages, and joins a check that is under way", async () => {
    await run(`
      insert into counters (org_id, counter, funded) select 'paged-' || n, 'tokens:day', 0 from generate_series(1, 1200) n`)
    await run("update counters set funded = funded + 1 where counter = 'USD'")
    const reports = await Promise.all([findings(), findings()])
    for (const report of reports) {
      expect(report).toMatchObject({ isComplete: true, checked: 1201 })
      expect(JSON.stringify(report)).toContain("transfers do not sum to the balance")
    }
    await run("update counters set funded = funded - 1 where counter = 'USD'")
    await run("delete from counters where org_id like 'paged-%'")
    expect(await findings()).toMatchObject({ isComplete: true, checked: 1, findings: [] })
  })

  it.each([
    [
      "a balance that is not its transfers",
      "update counters set funded = funded + 1",
      "update counters set funded = funded - 1",
      "transfers do not sum to the balance",
    ],
    [
      "an allotment that is not its transfers",
      "update allotments set granted = granted + 1 where counter = 'USD'",
      "update allotments set granted = granted - 1 where counter = 'USD'",
      "transfers do not sum to the balance",
    ],
    [
      "a settlement without its record",
      "update usage_records set ref = ref || 'x'",
      "update usage_records set ref = left(ref, -1)",
      "a settlement has no usage record",
    ],
    [
      "a record of another cost",
      "update usage_records set cost = cost + 1",
      "update usage_records set cost = cost - 1",
      "a usage record has no settlement",
    ],
    [
      "an allotment of tokens that was not granted",
      "update allotments set granted = granted + 1000000 where counter like 'tokens:%'",
      "update allotments set granted = granted - 1000000 where counter like 'tokens:%'",
      "a counter does not match its allotments",
    ],
  ])("finds %s", async (_what, harm, mend, finding) => {
    const { requestId } = await replyOf(await gateway().exchange(hello))
    await run(harm)
    expect(JSON.stringify(await findings())).toContain(finding)
    await run(mend)
    expect(await findings()).toMatchObject({ findings: [] })
    expect(requestId).toMatch(/^req_/)
  })

  it("finds a hold whose node is gone, by its ref, and what a dead node still has", async () => {
    const { ledger, orgId, keyId } = gateway()
    const request = { ref: "stale", orgId, currency: "USD", keyId, amount: 1n, day: dayOf(Date.now()) }
    const hold = await Effect.runPromise(ledger.hold(request))
    await Effect.runPromise(ledger.checkpoint([{ hold, settlement: undefined }]))
    await run(`update nodes set lease_until = now() - interval '2 minutes' where id = '${hold.node}'`)
    const found = JSON.stringify(await findings())
    expect(found).toContain(JSON.stringify({ finding: "a hold has outlived its lease", id: "stale" }))
    expect(found).toContain(`{"finding":"an allotment has outlived its node","id":"${orgId} USD ${hold.node}"}`)
    await Effect.runPromise(ledger.renew)
    await Effect.runPromise(ledger.release(hold))
    expect(await findings()).toMatchObject({ findings: [] })
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
