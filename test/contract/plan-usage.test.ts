/** `GET /v1/plan/usage`: peaks of the gate, aggregated by day. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { PlanUsage } from "../../src/protocol/control/plan-usage.ts"
import { addDays, dayOf, hourOf } from "../../src/protocol/values/utc8.ts"
import { errorOf, useGateway } from "../support/gateway.ts"
import { periodOf } from "../support/periods.ts"

const gateway = useGateway()
const decode = Schema.decodeUnknownSync(PlanUsage, { onExcessProperty: "error" })

const bearer = async (scopes: ReadonlyArray<"runtime" | "control">, userId?: string) => {
  const { secret } = await Effect.runPromise(
    gateway().accessTokens.issue({ kind: "pat", orgId: gateway().orgId, scopes, userId }),
  )
  return { "x-svc-key-id": undefined, "x-svc-key": undefined, authorization: `Bearer ${secret}` }
}
const usage = async (query = "", headers: Record<string, string | undefined> = {}) =>
  gateway().call("GET", `/v1/plan/usage${query}`, undefined, { ...(await bearer(["control"])), ...headers })

describe("the curve", () => {
  it("today is live: the hour's peak, and null for future hours and hours without activity", async () => {
    for (let at = 0; at < 3; at++) await gateway().call("POST", "/t1/heartbeat", {})
    const { today } = decode(await (await usage()).json())
    const now = Date.now()
    expect(today.day).toBe(dayOf(now))
    expect(today.hourlyPeaks.length).toBe(24)
    expect(today.hourlyPeaks.filter((peak) => peak !== null)).toEqual([3])
    expect(today.hourlyPeaks[hourOf(now)]).toBe(3)
  })

  it("past days are aggregated; aggregating again changes nothing; days without activity are absent", async () => {
    const { gate, planCurve, orgId, sql } = gateway()
    const yesterday = addDays(dayOf(Date.now()), -1)
    const hours = Array.from({ length: 24 }, (_, hour) => (hour === 9 ? 7 : hour === 10 ? 4 : 0))
    // The state after a node aggregated yesterday in the morning.
    await Effect.runPromise(sql`
      insert into plan_usage_days (org_id, day, peak_concurrency, hourly_peaks)
      values (${orgId}, ${yesterday}::text::date, 7, ${hours}::int[])`)
    for (let time = 0; time < 2; time++) await Effect.runPromise(planCurve.fold)
    const { days } = decode(await (await usage()).json())
    expect(days).toEqual([{ day: yesterday, peakConcurrency: 7, hourlyPeaks: hours }])
    expect(await Effect.runPromise(gate.peaks(orgId, yesterday))).toHaveLength(24)
  })

  it.each(["?days=1", "?days=90", ""])("days %j is in shape", async (query) => {
    expect((await usage(query)).status).toBe(200)
  })

  it.each(["?days=0", "?days=91", "?days=x", "?days=1.5", "?days="])("days %j is bad_request", async (query) => {
    expect(await errorOf(await usage(query))).toMatchObject({ status: 400, code: "bad_request" })
  })

  it("a non-member gets 404, a token without the control scope 403, none 401", async () => {
    expect(await errorOf(await usage("", { "x-svc-org": "org_other" }))).toMatchObject({
      status: 404,
      code: "not_found",
    })
    expect(await errorOf(await usage("", await bearer(["runtime"])))).toMatchObject({ status: 403, code: "forbidden" })
    expect(await errorOf(await usage("", { authorization: undefined }))).toMatchObject({
      status: 401,
      code: "unauthorized",
    })
  })
})

describe("days", () => {
  it("change at midnight UTC+8", () => {
    const midnight = Date.parse("2026-11-20T16:00:00Z")
    expect([dayOf(midnight - 1), dayOf(midnight)]).toEqual(["2026-11-20", "2026-11-21"])
    expect([hourOf(midnight - 1), hourOf(midnight)]).toEqual([23, 0])
    expect(periodOf("day", midnight - 1).endMs).toBe(midnight)
    expect(addDays("2026-03-01", -1)).toBe("2026-02-28")
  })
})
