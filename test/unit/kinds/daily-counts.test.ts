/** The counts of a call in the quotas of a day: of its organisation, and of its end user. */
import { describe, expect, it } from "vitest"
import { dailyCountsOf } from "../../../src/kinds/daily-counts.ts"

const countsOf = dailyCountsOf("tts")
const plan = { id: "team", ttsDaily: 10, endUserTtsDaily: 2 }
const bucketOf = (app: string, endUserId: string) =>
  countsOf({ plan, app: { id: app }, endUserId }, "2026-01-01").at(-1)?.bucket

describe("a call counts", () => {
  it("once for its organisation, and once for its end user", () => {
    expect(countsOf({ plan, app: { id: "a" }, endUserId: "u" }, "2026-01-01")).toEqual([
      { bucket: "tts", limit: 10, day: "2026-01-01", code: "tts_quota_exceeded" },
      { bucket: "tts:a:u", limit: 2, day: "2026-01-01", code: "tts_quota_exceeded" },
    ])
  })

  it("nothing where nothing is limited, and nobody's where there is no end user", () => {
    expect(countsOf({ plan: undefined, app: { id: "a" }, endUserId: "u" }, "2026-01-01")).toEqual([])
    expect(countsOf({ plan: { id: "open" }, app: { id: "a" }, endUserId: "u" }, "2026-01-01")).toEqual([])
    expect(countsOf({ plan, app: { id: "a" }, endUserId: undefined }, "2026-01-01")).toHaveLength(1)
  })

  it("for end users of one name in two applications apart", () => {
    expect(new Set([bucketOf("a", "u"), bucketOf("b", "u"), bucketOf("a", "v")]).size).toBe(3)
    expect(bucketOf("a", "b:c")).not.toBe(bucketOf("a:b", "c"))
  })
})
