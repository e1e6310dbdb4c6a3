/** Submissions of a batch at a vendor. */
import { describe, expect, it } from "vitest"
import type { VendorLine } from "../../../src/batches/vendor/vendor-line.ts"
import { VendorPlan } from "../../../src/batches/vendor/vendor-plan.ts"
import { targetOfVendor } from "../../../src/catalogue/snapshot.ts"
import type { BatchDialect } from "../../../src/dialects/batch-dialect.ts"
import { dialectOf } from "../../../src/dialects/index.ts"

const openai = dialectOf({ dialect: "openai-chat" })
const { batch } = openai
const lineOf = (
  change: Partial<Pick<VendorLine, "group" | "items">> & { readonly vendor?: string } = {},
): VendorLine => {
  if (batch === undefined) throw new Error("OpenAI has batches")
  const dialect: BatchDialect = { ...batch, bounds: { items: 3, bytes: 100 } }
  const { vendor = "openai", ...more } = change
  const entry = {
    vendor: { id: vendor, dialect: "openai-chat" as const, baseUrl: "https://vendor.test" },
    dialect: openai,
    ...{ credential: undefined, identity: undefined, network: undefined, host: "vendor.test" },
  }
  const target = targetOfVendor(entry, "m")
  return { text: "x".repeat(10), group: "/chat/completions", items: 1, target, dialect, ...more }
}

const planned = (lines: ReadonlyArray<VendorLine | "refused" | undefined>) => {
  const plan = new VendorPlan()
  lines.forEach((line, at) => {
    plan.add({ number: at + 1, place: at * 20, bytes: 20 }, line)
  })
  return plan.submissions()?.map(({ first, lines, place, bytes }) => [first, lines, place, bytes])
}

describe("submissions of a batch", () => {
  it("are as large as the vendor takes", () => {
    expect(planned([lineOf(), lineOf(), lineOf(), lineOf()])).toEqual([
      [1, 3, 0, 60],
      [4, 1, 60, 20],
    ])
    expect(planned([lineOf({ items: 2 }), lineOf({ items: 2 })])).toEqual([
      [1, 1, 0, 20],
      [2, 1, 20, 20],
    ])
  })

  it("have requests that their route refuses with them", () => {
    expect(planned(["refused", lineOf(), "refused", lineOf(), lineOf(), lineOf(), "refused"])).toEqual([
      [1, 5, 0, 100],
      [6, 2, 100, 40],
    ])
  })

  it("are none if a request has another target or group, is too large, or does not run in a batch", () => {
    expect(planned([lineOf(), lineOf({ vendor: "other" })])).toBeUndefined()
    expect(planned([lineOf(), lineOf({ group: "/embeddings" })])).toBeUndefined()
    expect(planned([lineOf({ items: 4 })])).toBeUndefined()
    expect(planned([{ ...lineOf(), text: "x".repeat(100) }])).toBeUndefined()
    expect(planned([lineOf(), undefined])).toBeUndefined()
    expect(planned([undefined, lineOf()])).toBeUndefined()
    expect(planned(["refused"])).toBeUndefined()
  })
})
