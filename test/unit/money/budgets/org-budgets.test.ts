/** Budgets of one organisation as they are stored. */
import { describe, expect, it } from "vitest"
import { readOrgBudgets } from "../../../../src/money/budgets/org-budgets.ts"

const month = { scope: "app", unit: "money", period: "month", limit: "5" }

describe("the stored budgets of an organisation", () => {
  it("are read one by one: a newer version's does not remove the others", () => {
    const { index, unread } = readOrgBudgets({
      good: month,
      "^platforms": month,
      newer: { ...month, period: "decade" },
    })
    expect(unread).toEqual(["newer"])
    expect(JSON.stringify(index, (_, value) => (typeof value === "bigint" ? String(value) : value))).toContain("~good")
    expect(index).toBeDefined()
  })

  it.each([[{}], [null], ["text"], [[]], [undefined]])("are none in %j", (stored) => {
    expect(readOrgBudgets(stored)).toMatchObject({ index: undefined, unread: [] })
  })
})
