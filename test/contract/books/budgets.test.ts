/** Budgets over HTTP. */
import { Effect, Redacted, Schema } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import type { SubjectScope } from "../../../src/protocol/catalogue/budget.ts"
import { LedgerResponse } from "../../../src/protocol/control/admin.ts"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { asLogin, budgetCalls, decodeBudgets, type Headers, nobody, priced } from "../../support/budget-calls.ts"
import { errorOf, useGateway } from "../../support/gateway.ts"

const ids = newTestIds()
const person = `usr_${ids.org}`
const team = `team_${ids.org}`
let urls = { vendor: "", second: "" }

/** A catalogue with these budgets, and with a person in a team. */
const withBudgets = (...budgets: ReadonlyArray<object>): string =>
  testCatalogue(
    urls,
    ids,
    `users: [{ id: ${person}, email: ${ids.org}@example.com, org: ${ids.org}, role: owner },
  { id: member_${ids.org}, email: member_${ids.org}@example.com, org: ${ids.org}, role: member }]
teams: [{ id: ${team}, org: ${ids.org}, members: [${person}] }]
budgets: ${JSON.stringify(budgets)}
`,
  )

const gateway = useGateway({
  ids,
  config: { masterKey: Redacted.make("master") },
  catalogue: (given) => {
    urls = given
    return withBudgets()
  },
})

const { exchange, endUser } = budgetCalls(gateway)
let asPerson: Headers
let asEndUser: Headers

const decodeLedger = Schema.decodeUnknownSync(LedgerResponse)
const decodeMinted = Schema.decodeUnknownSync(Schema.Struct({ secret: Schema.String }))

beforeAll(async () => {
  const { accessToken } = await gateway().logIn(`${ids.org}@example.com`)
  const made = await gateway().call(
    "POST",
    "/v1/tokens",
    { name: "budgets", scopes: ["runtime"] },
    asLogin(accessToken),
  )
  asPerson = { ...nobody, authorization: `Bearer ${decodeMinted(await made.json()).secret}` }
  asEndUser = await endUser()
  gateway().vendor.script(priced)
})

const apply = (...budgets: ReadonlyArray<object>) =>
  Effect.runPromise(gateway().catalogue.apply(withBudgets(...budgets), { prune: true }))

let made = 0
const newId = () => `budget_${ids.org}_${made++}`

/** The caller for whose call a budget of a scope counts, and the subject of that budget. */
const callers = (scope: SubjectScope): { readonly headers: Headers; readonly subject: string } => {
  switch (scope) {
    case "org":
      return { headers: {}, subject: ids.org }
    case "team":
      return { headers: asPerson, subject: team }
    case "person":
      return { headers: asPerson, subject: person }
    case "app":
      return { headers: {}, subject: ids.app }
    case "key":
      return { headers: {}, subject: ids.key }
    case "endUser":
      return { headers: asEndUser, subject: "ada" }
  }
}

const units = {
  money: { limit: "0.014", status: 402, code: "org_ceiling_exceeded", used: "0.012", shown: "0.014" },
  tokens: { limit: 2000, status: 429, code: "quota_exceeded", used: 2400, shown: 2000 },
} as const

const resetIn: Readonly<Record<string, number>> = { day: 1, week: 7, month: 31 }

// The other cases of scope, unit, period and mode are in test/unit/money/budgets/budget.test.ts.
describe("a budget over HTTP", () => {
  it.each([
    ["org", "money", "each"],
    ["team", "tokens", "named"],
    ["app", "tokens", "each"],
    ["key", "money", "named"],
  ] as const)(
    "of scope %s in %s, enforced (%s): two exchanges fit, the third is refused before the vendor is called",
    async (scope, unit, way) => {
      const { limit, status, code, used, shown } = units[unit]
      const { headers, subject } = callers(scope)
      const id = newId()
      await apply({ id, scope, unit, period: "month", limit, ...(way === "named" && { subject }) })
      expect((await exchange(headers)).status).toBe(200)
      expect((await exchange(headers)).status).toBe(200)
      const calls = gateway().vendor.calls.length
      const refused = await exchange(headers)
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
      const error = await errorOf(refused)
      expect(error).toMatchObject({
        status,
        code,
        detail: { scope, subject, unit, period: "month", limit: shown, used },
      })
      expect(gateway().vendor.calls.length).toBe(calls)
    },
  )

  it.each([
    ["person", "money"],
    ["endUser", "tokens"],
  ] as const)(
    "of scope %s in %s does not count if it is of another subject, and refuses nothing in shadow",
    async (scope, unit) => {
      const { headers, subject } = callers(scope)
      const { limit } = units[unit]
      const id = newId()
      await apply(
        { id: newId(), scope, unit, period: "day", limit: 1, subject: "somebody else" },
        { id, scope, unit, period: "day", limit, mode: "shadow", subject },
      )
      for (let at = 0; at < 5; at++) expect((await exchange(headers)).status).toBe(200)
      const asOperator = { "x-svc-admin-key": gateway().adminKey }
      const metrics = await (await gateway().call("GET", "/metrics", undefined, asOperator)).text()
      const [, counted] =
        new RegExp(`weir_budgets_total{budget="${id}",decision="would_reject"} (\\d+)`).exec(metrics) ?? []
      // Two of the five fit.
      expect(Number(counted)).toBe(3)
    },
  )
})

describe("a budget", () => {
  it.each(["money", "tokens"])(
    "of %s is no balance: an organisation's ledger and list have its money only",
    async (unit) => {
      await apply({ id: newId(), scope: "app", unit, period: "day", limit: unit === "money" ? "5" : 100_000 })
      expect((await exchange()).status).toBe(200)
      const asOperator = { "x-svc-admin-key": gateway().adminKey }
      const ledger = await gateway().call("GET", `/v1/admin/ledger/${gateway().orgId}`, undefined, asOperator)
      const { balances, allotments } = decodeLedger(await ledger.json())
      expect(balances.map(({ currency }) => currency)).toEqual(["USD"])
      for (const { currency } of allotments) expect(currency).toBe("USD")
    },
  )

  it.each(["day", "week", "month"])("of a %s tells when it begins anew", async (period) => {
    await apply({ id: newId(), scope: "app", unit: "tokens", period, limit: 1 })
    const { detail } = await errorOf(await exchange())
    const resetInDays = (Date.parse(String(detail?.["resetAt"])) - Date.now()) / 86_400_000
    expect(resetInDays).toBeGreaterThan(0)
    expect(resetInDays).toBeLessThanOrEqual(resetIn[period] ?? 0)
    expect(String(detail?.["resetAt"])).toMatch(/T16:00:00.000Z$/)
  })

  it("whose limit changes keeps what was used, also below it", async () => {
    const id = newId()
    const budget = { id, scope: "key", unit: "tokens", period: "day" }
    await apply({ ...budget, limit: 1_000_000 })
    expect((await exchange()).status).toBe(200)
    await apply({ ...budget, limit: 600 })
    expect(await errorOf(await exchange())).toMatchObject({ detail: { limit: 600, used: 1200 } })
    await apply({ ...budget, limit: 1800 })
    expect((await exchange()).status).toBe(200)
    expect(await errorOf(await exchange())).toMatchObject({ detail: { limit: 1800, used: 2400 } })
    await apply({ ...budget, unit: "money", limit: "0.008" })
    expect((await exchange()).status).toBe(200)
    expect(await errorOf(await exchange())).toMatchObject({ detail: { limit: "0.008", used: "0.006" } })
    await apply()
    expect((await exchange()).status).toBe(200)
  })

  it("gives back what a failed exchange had reserved", async () => {
    await apply({ id: newId(), scope: "app", unit: "money", period: "day", limit: "0.014" })
    gateway().vendor.script((call) => call.reset())
    for (let at = 0; at < 3; at++) expect((await exchange()).status).toBe(502)
    gateway().vendor.script(priced)
    expect((await exchange()).status).toBe(200)
    expect((await exchange()).status).toBe(200)
    expect((await exchange()).status).toBe(402)
  })

  it("of the organisation is not told to an end user, but that it is used up", async () => {
    await apply({ id: newId(), scope: "org", unit: "money", period: "day", limit: "0.001" })
    const { code, detail } = await errorOf(await exchange(asEndUser))
    expect(code).toBe("org_ceiling_exceeded")
    expect(Object.keys(detail ?? {}).sort()).toEqual(["period", "resetAt", "unit"])
  })

  it("is exact under concurrency: of 50 exchanges at once, those are served that fit", async () => {
    await apply({ id: newId(), scope: "org", unit: "tokens", period: "day", limit: 520 * 20 })
    gateway().vendor.script(answering({ words: ["x"], inTokens: 10, outTokens: 500 }))
    const replies = await Promise.all(Array.from({ length: 50 }, () => exchange()))
    gateway().vendor.script(priced)
    const outcomes = await Promise.all(
      replies.map(async (reply) => (reply.status === 200 ? "served" : (await errorOf(reply)).code)),
    )
    const counts: Record<string, number> = {}
    for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1
    expect(counts).toEqual({ served: 20, quota_exceeded: 30 })
  })

  it("several at once: the exchange must fit in each", async () => {
    await apply(
      { id: newId(), scope: "org", unit: "money", period: "month", limit: "1000" },
      { id: newId(), scope: "app", unit: "tokens", period: "week", limit: 1_000_000 },
      { id: newId(), scope: "key", unit: "tokens", period: "day", limit: 521 },
    )
    expect((await exchange()).status).toBe(200)
    expect(await errorOf(await exchange())).toMatchObject({ detail: { scope: "key", used: 1200 } })
  })

  it("is told with what is left: to a key, a person and an end user those that cover them", async () => {
    const [all, app, user, one] = [newId(), newId(), newId(), newId()]
    await apply(
      { id: all, scope: "org", unit: "money", period: "month", limit: "10" },
      { id: app, scope: "app", unit: "tokens", period: "day", limit: 2000 },
      { id: user, scope: "endUser", unit: "tokens", period: "week", limit: 1000, mode: "shadow" },
      { id: one, scope: "person", subject: person, unit: "money", period: "day", limit: "1" },
    )
    for (const headers of [{}, asPerson, asEndUser]) expect((await exchange(headers)).status).toBe(200)
    const toldTo = async (headers: Headers) => {
      const reply = await gateway().call("GET", "/t1/budgets", undefined, headers)
      expect(reply.status).toBe(200)
      return decodeBudgets(await reply.json()).budgets.map(({ id, used, left }) => [id, used, left])
    }
    expect(await toldTo({})).toEqual([
      [all, "0.018", "9.982"],
      [app, 2400, 0],
    ])
    expect(await toldTo(asPerson)).toEqual([
      [all, "0.018", "9.982"],
      [one, "0.006", "0.994"],
    ])
    expect(await toldTo(asEndUser)).toEqual([[user, 1200, 0]])
    await apply()
    expect(await toldTo({})).toEqual([])
    expect((await gateway().call("GET", "/t1/budgets", undefined, nobody)).status).toBe(401)
  })

  it("owners see all of the organisation, members those that cover them", async () => {
    const [all, named, keys, user, foreign] = [newId(), newId(), newId(), newId(), newId()]
    await apply(
      { id: all, scope: "org", unit: "money", period: "month", limit: "10" },
      { id: named, scope: "app", subject: ids.app, unit: "tokens", period: "day", limit: 2000 },
      { id: keys, scope: "key", unit: "money", period: "week", limit: "1" },
      { id: user, scope: "endUser", unit: "tokens", period: "day", limit: 5000 },
      { id: foreign, scope: "person", subject: "somebody else", unit: "tokens", period: "day", limit: 1 },
    )
    const seenBy = async (name: string) => {
      const { accessToken } = await gateway().logIn(`${name}@example.com`)
      const reply = await gateway().call("GET", "/v1/budgets", undefined, asLogin(accessToken))
      return decodeBudgets(await reply.json()).budgets.map(({ id, subject, used }) => [id, subject, used])
    }
    expect(await seenBy(ids.org)).toEqual([
      [all, ids.org, "0"],
      [named, ids.app, 0],
      [keys, undefined, "0"],
      [user, undefined, 0],
    ])
    for (const headers of [{}, asEndUser]) expect((await exchange(headers)).status).toBe(200)
    expect(new Set(await seenBy(ids.org))).toEqual(
      new Set([
        [all, ids.org, "0.012"],
        [named, ids.app, 2400],
        [keys, ids.key, "0.012"],
        [user, "ada", 1200],
      ]),
    )
    expect(await seenBy(`member_${ids.org}`)).toEqual([[all, ids.org, "0.012"]])
  })

  it.each([
    [{ scope: "key", unit: "tokens", period: "day", limit: 1.5 }, "limit"],
    [{ scope: "key", unit: "tokens", period: "day", limit: "1.5" }, "limit"],
    [{ scope: "key", unit: "money", period: "day", limit: "-1" }, "limit"],
    [{ scope: "key", unit: "money", period: "decade", limit: "1" }, "period"],
    [{ id: "a:b", scope: "key", unit: "money", period: "day", limit: "1" }, "id"],
    [{ scope: "nobody", unit: "money", period: "day", limit: "1" }, "scope"],
    [{ scope: "app", subject: "no such app", unit: "money", period: "day", limit: "1" }, "subject"],
    [{ scope: "app", unit: "money", period: "day", limit: "1", mode: "maybe" }, "mode"],
    [{ scope: "app", unit: "money", period: "day", limit: "1", more: 1 }, "more"],
    [{ scope: "endUser", subject: "a\u0000", unit: "money", period: "day", limit: "1" }, "subject"],
  ])("%j is refused, and names %s", async (budget, field) => {
    const refusal = apply({ id: newId(), ...budget })
    await expect(refusal).rejects.toSatisfy((error: unknown) => JSON.stringify(error).includes(field))
  })
})
