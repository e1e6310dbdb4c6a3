/** The bill of a call of a route. */
import { describe, expect, it } from "vitest"
import { passedBill } from "../../../../src/kinds/passed/passed-bill.ts"
import { ReportedUnits } from "../../../../src/kinds/passed/reported-units.ts"
import { formatAmount, parseAmount } from "../../../../src/money/amount.ts"
import { readRoute } from "../../../../src/pass-through/routes.ts"
import { randomOf } from "../../../support/random.ts"

const routeWith = (price: Record<string, string>, usage: Record<string, string> = {}, hold = "1000") =>
  readRoute(
    { id: "r", vendor: "v", path: "/r", methods: ["GET"], price: { currency: "USD", ...price }, hold, usage },
    undefined,
  )

const billOf = (
  price: Record<string, string>,
  {
    ms = 0,
    bytes = 0,
    reply,
    usage = {},
  }: { ms?: number; bytes?: number; reply?: string; usage?: Record<string, string> } = {},
) => {
  const route = routeWith(price, usage)
  const units = new ReportedUnits(route.usage)
  if (reply !== undefined) units.json(JSON.parse(reply), reply)
  const { bill, cost } = passedBill(route, { milliseconds: ms, bytes, reported: units.counts }, units, undefined)
  return [formatAmount(cost), bill.estimatedReason ?? "reported"]
}

describe("a bill", () => {
  it.each([
    [{ call: "0.01" }, {}, "0.01"],
    [{ second: "0.01" }, { ms: 1500 }, "0.015"],
    [{ megabyte: "0.5" }, { bytes: 1_234_567 }, "0.6172835"],
    [{ megabyte: "0.0000000001" }, { bytes: 499_999 }, "0"],
    [{ megabyte: "0.0000000001" }, { bytes: 500_000 }, "0.0000000001"],
    [{ pages: "0.001" }, { reply: '{"n":12}', usage: { pages: "$.n" } }, "0.012"],
    [{ cost: "1" }, { reply: '{"n":0.1234567891}', usage: { cost: "$.n" } }, "0.1234567891"],
    [{ cost: "1" }, { reply: '{"n":"0.1"}', usage: { cost: "$.n" } }, "0.1"],
    [{ cost: "1" }, { reply: '{"n":1.5e-7}', usage: { cost: "$.n" } }, "0.00000015"],
    [{ cost: "1" }, { reply: '{"n":1.25E2}', usage: { cost: "$.n" } }, "125"],
    // Digits that an amount does not have are rounded up: never for free.
    [{ cost: "1" }, { reply: '{"n":0.00000000001}', usage: { cost: "$.n" } }, "0.0000000001"],
  ] as const)("%j of %j is %s", (price, passed, cost) => {
    expect(billOf(price, passed)).toEqual([cost, "reported"])
  })

  it.each([
    ['{"n":-1}', "upstream_usage_implausible"],
    ['{"n":"many"}', "upstream_usage_implausible"],
    ['{"n":1e99}', "upstream_usage_implausible"],
    ['{"n":1001}', "upstream_usage_implausible"],
    ['{"n":true}', "upstream_usage_implausible"],
    ['{"n":[1]}', "upstream_usage_implausible"],
    ['{"n":null}', "upstream_usage_missing"],
    ["{}", "upstream_usage_missing"],
  ])("is the hold where the vendor reports %s", (reply, reason) => {
    expect(billOf({ cost: "1" }, { reply, usage: { cost: "$.n" } })).toEqual(["1000", reason])
  })

  it("of any decimal is exact", () => {
    const random = randomOf(1)
    for (let at = 0; at < 300; at++) {
      const fraction = String(Math.floor(random() * 1e10)).padStart(10, "0")
      const text = `${Math.floor(random() * 900)}.${fraction}`
      const [cost] = billOf({ cost: "1" }, { reply: `{"n":${text}}`, usage: { cost: "$.n" } })
      expect(cost).toBe(formatAmount(parseAmount(text) ?? 0n))
    }
  })
})
