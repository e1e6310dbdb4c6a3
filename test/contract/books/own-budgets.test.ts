/** Budgets that an organisation sets for itself, and warnings at their thresholds. */
import { Effect, Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { asLogin, budgetCalls, decodeBudgets, type Headers, nobody, priced } from "../../support/budget-calls.ts"
import { errorOf, eventually, useGateway } from "../../support/gateway.ts"
import { startSmtp } from "../../support/smtp.ts"

const smtp = await startSmtp()
afterAll(() => smtp.stop())

const ids = newTestIds()
const other = newTestIds()
const [owner, admin, member] = ["owner", "admin", "member"].map((role) => `${role}_${ids.org}`)
const email = (id: string | undefined) => `${id}@example.com`
const team = `team_${ids.org}`
let urls = { vendor: "", second: "" }

const withBudgets = (...budgets: ReadonlyArray<object>): string =>
  testCatalogue(
    urls,
    ids,
    `users:
  - { id: ${owner}, email: ${email(owner)}, org: ${ids.org}, role: owner }
  - { id: ${admin}, email: ${email(admin)}, org: ${ids.org}, role: admin }
  - { id: ${member}, email: ${email(member)}, org: ${ids.org}, role: member }
teams: [{ id: ${team}, org: ${ids.org}, members: [${member}] }]
searchProviders: [{ id: first, name: First, vendor: searxng, baseUrl: "${urls.second}", currency: USD, pricePerCall: "0.005", cost: "0.003" }]
budgets: ${JSON.stringify(budgets)}
`,
  ).replace("apps:\n", `  - { id: ${other.org}, name: Other, currency: USD, models: [main] }\napps:\n`)

const gateway = useGateway({
  backgroundSpeed: 10,
  ids,
  config: { masterKey: Redacted.make("master"), smtpUrl: Redacted.make(smtp.url) },
  catalogue: (given) => {
    urls = given
    return withBudgets()
  },
})

const { exchange, endUser } = budgetCalls(gateway)
let asOwner: Headers
let asEndUser: Headers

beforeAll(async () => {
  const { accessToken } = await gateway().logIn(email(owner))
  asOwner = asLogin(accessToken)
  asEndUser = await endUser()
  gateway().vendor.script(priced)
})

const apply = (...budgets: ReadonlyArray<object>) =>
  Effect.runPromise(gateway().catalogue.apply(withBudgets(...budgets), { prune: true }))

const put = (id: string, terms: object) => gateway().call("PUT", `/v1/budgets/${id}`, terms, asOwner)
const remove = (id: string) => gateway().call("DELETE", `/v1/budgets/${id}`, undefined, asOwner)

const terms = { scope: "key", unit: "tokens", period: "day", limit: 2000 }
let made = 0
const newId = () => `own_${made++}`

const audited = async () => {
  const rows = await Effect.runPromise(
    gateway().sql<{ action: string; actor_id: string; detail: object }>`
      select action, actor_id, detail from audit_log where org_id = ${ids.org} and action like 'budget.%' order by seq`,
  )
  return rows.map(({ action, actor_id, detail }) => ({ action, by: actor_id, ...detail }))
}

describe("a budget of the organisation's own", () => {
  it("is listed when nobody has used it, for owners and operators, with its terms; and is removed", async () => {
    const id = newId()
    await put(id, { ...terms, warnAt: [0.5, 0.8] })
    const asOperator = { ...nobody, "x-svc-admin-key": gateway().adminKey }
    const lists = [
      await gateway().call("GET", "/v1/budgets", undefined, asOwner),
      await gateway().call("GET", `/v1/admin/orgs/${ids.org}/budgets`, undefined, asOperator),
    ]
    for (const list of lists) {
      const row = decodeBudgets(await list.json()).budgets.find((each) => each.id === id)
      expect(row).toMatchObject({ scope: "key", used: 0, limit: 2000, isGeneral: true, warnAt: [0.5, 0.8] })
      expect(row).not.toHaveProperty("subject")
    }
    expect((await remove(id)).status).toBe(204)
    const after = await gateway().call("GET", "/v1/budgets", undefined, asOwner)
    expect(decodeBudgets(await after.json()).budgets.filter((each) => each.id === id)).toEqual([])
  })

  it("is in force at once, told as its own, changed and removed; each is audited", async () => {
    const id = newId()
    const before = (await audited()).length
    const reply = await put(id, terms)
    expect([reply.status, await reply.json()]).toEqual([200, { id, ...terms }])
    expect((await exchange()).status).toBe(200)
    expect((await exchange()).status).toBe(200)
    expect(await errorOf(await exchange())).toMatchObject({
      code: "quota_exceeded",
      detail: { scope: "key", subject: ids.key, limit: 2000, used: 2400 },
    })
    const listed = await gateway().call("GET", "/v1/budgets", undefined, asOwner)
    const told = await gateway().call("GET", "/t1/budgets")
    for (const each of [listed, told]) {
      expect(decodeBudgets(await each.json()).budgets).toMatchObject([{ id, source: "organisation", used: 2400 }])
    }
    // A changed limit keeps what was used.
    await put(id, { ...terms, limit: 4000 })
    expect((await exchange()).status).toBe(200)
    expect((await remove(id)).status).toBe(204)
    expect((await remove(id)).status).toBe(404)
    expect((await exchange()).status).toBe(200)
    const changed = { ...terms, limit: 4000 }
    expect((await audited()).slice(before)).toMatchObject([
      { action: "budget.set", by: owner, budget: id, after: terms },
      { action: "budget.set", by: owner, budget: id, before: terms, after: changed },
      { action: "budget.removed", by: owner, budget: id, before: changed },
    ])
  })

  it("holds beside one of the platform with other terms; the tighter refuses", async () => {
    const [own, platform] = [newId(), newId()]
    await apply({ id: platform, scope: "app", unit: "money", period: "day", limit: "0.014" })
    await put(own, { scope: "app", subject: ids.app, unit: "money", period: "day", limit: "0.008" })
    expect((await exchange()).status).toBe(200)
    expect(await errorOf(await exchange())).toMatchObject({ status: 402, detail: { limit: "0.008" } })
    await remove(own)
    expect((await exchange()).status).toBe(200)
    expect(await errorOf(await exchange())).toMatchObject({ status: 402, detail: { limit: "0.014" } })
    await apply()
  })

  it("may not exceed what the platform allows, or change what the platform set", async () => {
    const platform = newId()
    const allowed = { scope: "org", unit: "money", period: "month" }
    await apply(
      { id: platform, ...allowed, limit: "10" },
      { id: `${platform}_shadow`, ...allowed, limit: "1", mode: "shadow" },
    )
    for (const subject of [{}, { subject: ids.org }]) {
      expect(await errorOf(await put(newId(), { ...allowed, ...subject, limit: "10.5" }))).toMatchObject({
        status: 400,
        detail: { issues: [{ path: "limit", message: "the platform allows 10" }] },
      })
    }
    const id = newId()
    expect((await put(id, { ...allowed, limit: "10" })).status).toBe(200)
    expect((await put(platform, { ...allowed, limit: "1" })).status).toBe(403)
    expect((await remove(platform)).status).toBe(403)
    await remove(id)
    await apply()
  })

  it.each([
    [{ ...terms, limit: 1.5 }, "limit"],
    [{ ...terms, limit: "1.5" }, "limit"],
    [{ ...terms, limit: "9".repeat(400) }, "limit"],
    [{ ...terms, unit: "money", limit: "-1" }, "limit"],
    [{ ...terms, period: "decade" }, "period"],
    [{ ...terms, scope: "nobody" }, "scope"],
    [{ ...terms, warnAt: [0] }, "warnAt"],
    [{ ...terms, warnAt: [1.01] }, "warnAt"],
    [{ ...terms, warnAt: [0.805] }, "warnAt"],
    [{ ...terms, warnAt: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6] }, "warnAt"],
    [{ ...terms, more: 1 }, "more"],
    [{ ...terms, subject: "key_unheard" }, "subject"],
    [{ ...terms, scope: "team", subject: "team_unheard" }, "subject"],
    [{ ...terms, scope: "app", subject: "app_unheard" }, "subject"],
    [{ ...terms, scope: "person", subject: "usr_unheard" }, "subject"],
    [{ ...terms, scope: "org", subject: other.org }, "subject"],
    [{ ...terms, scope: "endUser", subject: "a\u0000" }, "subject"],
    ["nonsense", ""],
  ])("%j is a bad request that names %s", async (body, field) => {
    const { status, code, detail } = await errorOf(await gateway().call("PUT", `/v1/budgets/${newId()}`, body, asOwner))
    expect([status, code]).toEqual([400, "bad_request"])
    expect(JSON.stringify(detail ?? {})).toContain(field)
  })

  it.each(["a:b", "~a", "%00", "x".repeat(65)])("with the id %s is a bad request", async (id) => {
    expect((await put(id, terms)).status).toBe(400)
  })

  it.each([
    ["team", team],
    ["app", ids.app],
    ["key", ids.key],
    ["person", member],
    ["org", ids.org],
    ["endUser", "ada lovelace"],
  ])("may name a %s of the organisation", async (scope, subject) => {
    const id = newId()
    expect((await put(id, { ...terms, scope, subject, limit: 1_000_000 })).status).toBe(200)
    expect((await remove(id)).status).toBe(204)
  })

  it("of the platform may be set for one organisation, which cannot change or exceed it", async () => {
    const id = newId()
    const asAdmin = { "x-svc-admin-key": gateway().adminKey }
    const budget = `/v1/admin/orgs/${ids.org}/budgets/${id}`
    const limits = { scope: "app", subject: ids.app, unit: "tokens", period: "day", limit: 1000 }
    const set = (body: object) => gateway().call("PUT", budget, body, asAdmin)
    expect((await set({ ...limits, limit: "0.5" })).status).toBe(400)
    expect((await set({ ...limits, subject: "app_unheard" })).status).toBe(400)
    expect(await (await set(limits)).json()).toEqual({ id, ...limits })
    const listed = await gateway().call("GET", "/v1/budgets", undefined, asOwner)
    expect(decodeBudgets(await listed.json()).budgets).toMatchObject([{ id, source: "platform", limit: 1000 }])
    expect((await exchange()).status).toBe(200)
    expect(await errorOf(await exchange())).toMatchObject({ code: "quota_exceeded", detail: { limit: 1000 } })
    expect((await errorOf(await put(newId(), { ...limits, limit: 1001 }))).message).toContain("allows 1000")
    // The organisation's own may have the same id.
    expect((await remove(id)).status).toBe(404)
    expect((await put(id, { ...limits, limit: 10 })).status).toBe(200)
    expect((await remove(id)).status).toBe(204)
    expect((await gateway().call("DELETE", budget, undefined, asAdmin)).status).toBe(204)
    expect((await gateway().call("DELETE", budget, undefined, asAdmin)).status).toBe(404)
    expect((await exchange()).status).toBe(200)
  })

  it("is one of at most 100, also where many are set at once", async () => {
    const many = Array.from({ length: 105 }, (_, at) => `many_${at}`)
    const subject = "somebody"
    const replies = await Promise.all(many.map((id) => put(id, { ...terms, scope: "endUser", subject })))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(100)
    const [refused] = replies.filter(({ status }) => status !== 200)
    expect(refused && (await errorOf(refused))).toMatchObject({ code: "limit_exceeded", detail: { limit: 100 } })
    await Promise.all(many.map(remove))
    expect((await put("many_0", terms)).status).toBe(200)
    await remove("many_0")
  })
})

describe("a threshold", () => {
  const near = { scope: "app", unit: "tokens", period: "day", limit: 2400, warnAt: [0.5] }

  const warnings = async () => (await audited()).filter(({ action }) => action === "budget.near")

  /** Calls, waits until a warning is written down, and calls again. */
  const warned = async (call: () => Promise<Response>): Promise<Response> => {
    const before = (await warnings()).length
    expect((await call()).headers.has("x-svc-warning")).toBe(false)
    await eventually(async () => (await warnings()).length > before)
    return call()
  }

  it("is told once: in the header and as t.warn, in the metric, the audit log, and by mail to the owner", async () => {
    const id = newId()
    const before = smtp.letters.length
    await put(id, { ...near, limit: 24_000, warnAt: [0.04, 0.05] })
    const reply = await warned(() => exchange({}, { stream: true }))
    expect(reply.headers.get("x-svc-warning")).toBe(`budget_near=${id}`)
    expect(await reply.text()).toContain(`"code":"budget_near","message":"5 % of the budget ${id} are used`)
    expect((await exchange()).headers.has("x-svc-warning")).toBe(false)
    const asOperator = { "x-svc-admin-key": gateway().adminKey }
    const metrics = await (await gateway().call("GET", "/metrics", undefined, asOperator)).text()
    expect(metrics).toMatch(/weir_budgets_total\{(?=.*budget="organisation").*decision="near".*\} \d/)
    expect((await warnings()).at(-1)).toMatchObject({
      by: "gateway",
      id,
      source: "organisation",
      percent: 5,
      scope: "app",
      subject: ids.app,
      used: "1200",
    })
    await eventually(() => smtp.letters.length > before)
    expect(smtp.letters.at(-1)?.to).toEqual([email(owner)])
    expect(smtp.letters.at(-1)?.text).toContain("1200 of 24000 tokens")
    await remove(id)
  })

  const generous = { ...near, unit: "money", limit: "0.1", warnAt: [0.01] }
  const chat = () =>
    gateway().call(
      "POST",
      "/openai/v1/chat/completions",
      { model: "main", max_tokens: 100, messages: [{ role: "user", content: "x" }] },
      { ...nobody, authorization: `Bearer ${gateway().keyId}~${gateway().key}` },
    )
  const search = () => {
    gateway().second.script((call) => {
      call.head(200, { "content-type": "application/json" })
      call.end(JSON.stringify({ results: [] }))
    })
    return gateway().call("POST", "/t1/websearch", { query: "x" })
  }
  it.each([
    ["a whole reply", () => exchange(), "budget_near"],
    ["a reply in another API", chat, "budget_near"],
    ["a search", search, "budget_near"],
  ])("is told with %s", async (_what, call, listed) => {
    const id = newId()
    await put(id, generous)
    const reply = await warned(call)
    expect([reply.status, reply.headers.get("x-svc-warning")]).toEqual([200, `budget_near=${id}`])
    expect(reply.headers.get("x-svc-warnings")).toBe(listed)
    await remove(id)
  })

  it("of the organisation is not told to an end user; its own is", async () => {
    const [all, own] = [newId(), newId()]
    await put(all, { ...generous, scope: "org" })
    const first = await warned(() => exchange(asEndUser))
    expect(first.headers.has("x-svc-warning")).toBe(false)
    await put(own, { ...generous, scope: "endUser" })
    const reply = await warned(() => exchange(asEndUser))
    expect(reply.headers.get("x-svc-warning")).toBe(`budget_near=${own}`)
    expect((await exchange()).headers.get("x-svc-warning")).toBe(`budget_near=${all}`)
    await remove(all)
    await remove(own)
  })

  it("of a plan's daily tokens is one too, and a member sees them", async () => {
    const daily = "{ id: team, dailyTokens: 1000000, warnAt: [0.01], perMinute: 100000 }"
    const plain = "{ id: team, perMinute: 100000 }"
    await Effect.runPromise(gateway().catalogue.apply(withBudgets().replace(plain, daily), { prune: true }))
    const reply = await warned(() => exchange())
    expect(reply.headers.get("x-svc-warning")).toBe("budget_near=plan%3Ateam")
    const { accessToken } = await gateway().logIn(email(member))
    const listed = await gateway().call("GET", "/v1/budgets", undefined, asLogin(accessToken))
    expect(decodeBudgets(await listed.json()).budgets).toMatchObject([
      { id: "plan:team", source: "plan", scope: "org", unit: "tokens", period: "day", limit: 1_000_000 },
    ])
    await apply()
  })
})
