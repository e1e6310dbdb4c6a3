/** Request ids that are spent: in the partition of their day, refused when they are too old, removed after a while. */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { dayOfId } from "../../src/money/ledger-items.ts"
import { dayMs } from "../../src/protocol/values/instant.ts"
import { newUlid } from "../../src/protocol/values/ulid.ts"
import { hello } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"

const gateway = useGateway({ config: { spentIdsKeptDays: 30 } })
const run = <A>(effect: Effect.Effect<A, unknown>) => Effect.runPromise(effect)
const withId = (requestId: string) => gateway().exchange({ ...hello, meta: { requestId } })

/** A UUID of version 7. */
const uuidAt = (ms: number): string => {
  const time = ms.toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
/** In the database, and of this process. */
const daysOf = async (id: string) => {
  const [row] = await run(gateway().sql<{ day: string | null }>`select request_day(${id})::text as day`)
  return { there: row?.day ?? "-infinity", here: dayOfId(id) }
}
const billed = (id: string) => async () =>
  (await run(gateway().sql`select from usage_records where request_id = ${id}`)).length

describe("the day of a request id", () => {
  const at = Date.UTC(2026, 9, 3, 23, 59, 59, 999)
  it.each([
    [newUlid(at), true],
    [newUlid(at).toLowerCase(), true],
    [uuidAt(at), true],
    [uuidAt(at).toUpperCase(), true],
    // Ids of 2007 and of the year 10889, no base 32, another version, another variant, a shorter one, a longer one.
    ["01234567890123456789012345", false],
    ["7ZZZZZZZZZZZZZZZZZZZZZZZZZ", false],
    ["01KAWZ0C00ABCDEFGHIJKLMNOP", false],
    ["019abff0-3000-4abc-8def-0123456789ab", false],
    ["019abff0-3000-7abc-0def-0123456789ab", false],
    ["01KAWZ0C00ABCDEFGHJKMNPQR", false],
    ["019abff0-3000-7abc-8def-0123456789ab0", false],
    ["ſ1KAWZ0C00ABCDEFGHJKMNPQRS", false],
    ["", false],
    // The first and last moments that ids carry, and those beside them.
    [newUlid(Date.UTC(2026, 0, 1) - 1), false],
    [newUlid(Date.UTC(2100, 0, 1)), false],
  ])("%s: %s", async (id, hasOne) => {
    const day = hasOne ? "2026-10-03" : "-infinity"
    expect(await daysOf(id)).toEqual({ there: day, here: day })
  })

  it("is the same here and in the database, for ids of any time", async () => {
    for (let n = 0; n < 200; n++) {
      const ms = Math.floor(Date.UTC(2026, 0, 1) + Math.random() * 70 * 365 * dayMs)
      const day = new Date(ms).toISOString().slice(0, 10)
      for (const id of [newUlid(ms), uuidAt(ms)]) expect(await daysOf(id)).toEqual({ there: day, here: day })
    }
    for (const ms of [Date.UTC(2026, 0, 1), Date.UTC(2100, 0, 1) - 1]) {
      const day = new Date(ms).toISOString().slice(0, 10)
      expect(await daysOf(newUlid(ms))).toEqual({ there: day, here: day })
    }
  })
})

describe("a request id", () => {
  it("is refused as expired when it was made before spent ids are kept, and nothing is called or billed", async () => {
    const calls = gateway().vendor.calls.length
    for (const id of [newUlid(Date.now() - 31 * dayMs), uuidAt(Date.now() - 31 * dayMs)]) {
      const error = await errorOf(await withId(id))
      expect(error).toMatchObject({ status: 409, code: "idempotency_conflict", detail: { reason: "expired" } })
    }
    expect(gateway().vendor.calls.length).toBe(calls)
    for (const id of [
      newUlid(Date.now() - 29 * dayMs),
      uuidAt(Date.now() - 29 * dayMs),
      "01234567890123456789012345",
    ]) {
      expect((await withId(id)).status).toBe(200)
    }
  })

  it("of a day after the migration is spent in that day's partition, once, also by another node's settlement", async () => {
    const day = new Date(Date.now() + 2 * dayMs).toISOString().slice(0, 10)
    const ids = [newUlid(Date.now() + 2 * dayMs), uuidAt(Date.now() + 2 * dayMs)]
    for (const id of ids) {
      expect((await withId(id)).status).toBe(200)
      await eventually(async () => (await billed(id)()) === 1)
      const rows = await run(gateway().sql<{ day: string }>`select day::text from spent_days where request_id = ${id}`)
      expect(rows).toEqual([{ day }])
      expect(await run(gateway().sql`select from spent_requests where request_id = ${id}`)).toEqual([])
      // Its stream cannot be had again, and nothing more is billed.
      await withId(id)
      expect(await billed(id)()).toBe(1)
    }
  })

  it("that carries no time is forgotten after the days for which ids are kept, and days are dropped whole", async () => {
    const { sql } = gateway()
    const [old, kept] = [randomUUID(), randomUUID()]
    for (const id of [old, kept]) expect((await withId(id)).status).toBe(200)
    for (const id of [old, kept]) await eventually(async () => (await billed(id)()) === 1)
    await run(sql`update spent_requests set settled_at = now() - interval '31 days' where request_id = ${old}`)
    await run(
      sql.unsafe(
        "create table spent_days_20260201 partition of spent_days for values from ('2026-02-01') to ('2026-02-02')",
      ),
    )
    await run(gateway().retention.run)
    const left = await run(
      sql<{ request_id: string }>`select request_id from spent_requests where request_id in ${sql.in([old, kept])}`,
    )
    expect(left).toEqual([{ request_id: kept }])
    const [gone] = await run(sql`select to_regclass('spent_days_20260201') as part`)
    expect(gone).toEqual({ part: null })
  })
})
