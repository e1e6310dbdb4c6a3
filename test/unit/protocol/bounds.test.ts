/** Numbers of a catalogue at their bounds, and one past them. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { loadCatalogue } from "../../../src/catalogue/load.ts"

const base = {
  version: 1,
  vendors: [{ id: "v", dialect: "anthropic", baseUrl: "http://v.test" }],
  orgs: [{ id: "o", name: "O", currency: "USD", models: [] }],
}
const model = { handle: "m", targets: [{ vendor: "v", model: "a" }] }
const budget = { id: "b", scope: "org", period: "day" }
const app = { id: "a", org: "o" }

const tokens = 1_000_000_000_000_000
const money = "1000000000000"
const perMinute = 1_000_000_000

describe("a catalogue's numbers", () => {
  it.each<[string, (value: number | string) => object, number | string, number | string]>([
    ["dailyTokens", (n) => ({ plans: [{ id: "p", dailyTokens: n }] }), tokens, tokens + 1],
    ["perMinute", (n) => ({ plans: [{ id: "p", perMinute: n }] }), perMinute, perMinute + 1],
    ["endUserPerMinute", (n) => ({ plans: [{ id: "p", endUserPerMinute: n }] }), perMinute, perMinute + 1],
    ["rpm", (n) => ({ apps: [{ ...app, quota: { rpm: n } }] }), perMinute, perMinute + 1],
    ["contextWindow", (n) => ({ models: [{ ...model, contextWindow: n }] }), tokens, tokens + 1],
    ["maxOutput", (n) => ({ models: [{ ...model, maxOutput: n }] }), tokens, tokens + 1],
    ["maxTokens", (n) => ({ models: [{ ...model, params: { maxTokens: { max: n } } }] }), tokens, tokens + 1],
    ["limit", (n) => ({ budgets: [{ ...budget, unit: "tokens", limit: n }] }), tokens, tokens + 1],
    ["limit", (n) => ({ budgets: [{ ...budget, unit: "tokens", limit: n }] }), String(tokens), String(tokens + 1)],
    ["limit", (n) => ({ budgets: [{ ...budget, unit: "money", limit: n }] }), money, `${money}.0000000001`],
    ["amount", (n) => ({ topups: [{ id: "t", org: "o", amount: n }] }), money, `${money}.0000000001`],
    ["amount", (n) => ({ topups: [{ id: "t", org: "o", amount: n }] }), `${money}.0`, "1000000000001"],
    ["amount", (n) => ({ topups: [{ id: "t", org: "o", amount: n }] }), "0", "-1"],
  ])("%s: the bound is taken, one past it is refused", (field, make, most, past) => {
    const load = (value: number | string) => loadCatalogue(JSON.stringify({ ...base, ...make(value) }))
    expect(Result.isSuccess(load(most))).toBe(true)
    const refused = load(past)
    expect(Result.isFailure(refused) && refused.failure[0]?.path).toMatch(new RegExp(`${field}(\\.\\w+)?$`))
  })
})
