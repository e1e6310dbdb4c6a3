/** The bill of a call of a tool, by its outcome and the units that its result reports. */
import { expect, it } from "vitest"
import { toolBill } from "../../../../src/kinds/tool/tool-bill.ts"
import { readToolPrice } from "../../../../src/tools/tool-price.ts"

const prices = readToolPrice({
  currency: "USD",
  calls: "1000000",
  units: { rows: { at: "$.rows", price: "500000" } },
  hold: "10",
})
const one = 10n ** 10n
const unit = (rows: number | undefined) => ({
  isMalformed: false,
  counts: new Map(rows === undefined ? [] : [["rows", BigInt(rows) * one] as const]),
})

it.each([
  ["result", 2, 2n * one, undefined],
  ["result", undefined, 10n * one, "upstream_usage_missing"],
  ["result", 1000, 10n * one, "upstream_usage_implausible"],
  ["failed", undefined, one, undefined],
  ["failed", 2, 2n * one, undefined],
  ["error", undefined, 0n, undefined],
  ["unknown", undefined, 10n * one, "upstream_disconnected"],
] as const)("%s with %s rows", (outcome, rows, cost, reason) => {
  const made = toolBill(prices, outcome, unit(rows), undefined)
  expect(made.cost).toBe(cost)
  expect(made.bill.estimatedReason).toBe(reason)
})
