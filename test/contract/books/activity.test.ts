/** Usage over time, exchanges and audit entries: these routes report what was billed, to the callers that may see it. */
import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import {
  AuditEntries,
  CatalogueRevisions,
  CatalogueText,
  PriceList,
  Targets,
} from "../../../src/protocol/control/activity.ts"
import { ApplyEvent } from "../../../src/protocol/control/admin.ts"
import { ExchangeDetail, ExchangeLogPage, OpenExchanges } from "../../../src/protocol/control/exchange-log.ts"
import { AdminModels, AdminPlans, OwnModels } from "../../../src/protocol/control/model-list.ts"
import { UsageSummary } from "../../../src/protocol/control/usage-summary.ts"
import { hello, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { answering } from "../../../src/testing/vendor-replies.ts"
import { errorOf, eventually, replyOf, useGateway } from "../../support/gateway.ts"

const tag = randomUUID().slice(0, 8)
const ids = newTestIds()
const email = (name: string) => `${name}.${tag}@example.com`
const gateway = useGateway({
  backgroundSpeed: 10,
  ids,
  config: { authPerMinute: 100_000 },
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      [
        "users:",
        ...["owner", "member"].map(
          (role) => `  - { id: ${role}_${tag}, email: ${email(role)}, org: ${ids.org}, role: ${role} }`,
        ),
      ].join("\n"),
    )
      .replace(
        "models:\n",
        `models:
  - { handle: talk, kind: realtime, targets: [{ vendor: openai, model: x }] }
  - { handle: live, kind: realtime, targets: [{ vendor: gemini, model: x }] }
`,
      )
      .replace("models: [main,", "models: [talk, live, main,"),
})

const decode = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) =>
  Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })
const operator = () => ({ "x-svc-key-id": undefined, "x-svc-key": undefined, "x-svc-admin-key": gateway().adminKey })
const get = (path: string, headers: Record<string, string | undefined> = operator()) =>
  gateway().call("GET", path, undefined, headers)
const read = async <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  path: string,
  headers?: Record<string, string | undefined>,
): Promise<S["Type"]> => {
  const response = await get(path, headers)
  const body: unknown = await response.json()
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${JSON.stringify(body)}`)
  return decode(schema)(body)
}
const own = (query = "") => `org=${ids.org}${query}`
const as = async (name: string) => ({
  "x-svc-key-id": undefined,
  "x-svc-key": undefined,
  authorization: `Bearer ${(await gateway().logIn(email(name))).accessToken}`,
})
const summary = (query = "") => read(UsageSummary, `/v1/admin/usage-summary?${own(query)}`)
const listed = (query = "") => read(ExchangeLogPage, `/v1/admin/exchanges?${own(query)}`)

describe("usage over time", () => {
  it("adds up what was billed, by time and by the dimension that was asked for", async () => {
    const before = await summary()
    const bills = [
      await replyOf(await gateway().exchange(hello)),
      await replyOf(await gateway().exchange({ ...hello, model: "claude" })),
    ]
    const after = await summary()
    expect(after.totals.exchanges - before.totals.exchanges).toBe(2)
    expect(after.totals.outTokens - before.totals.outTokens).toBe(bills.reduce((sum, b) => sum + b.usage.outTokens, 0))
    const spent = (of: UsageSummary) => Number(of.totals.cost["USD"] ?? 0)
    expect(spent(after) - spent(before)).toBeCloseTo(
      bills.reduce((sum, b) => sum + Number(b.usage.cost), 0),
      9,
    )
    expect(after.groups.map(({ group }) => group)).toEqual(expect.arrayContaining(["main", "claude"]))
    expect(after.points.reduce((sum, { exchanges }) => sum + exchanges, 0)).toBe(after.totals.exchanges)
    expect(after.firstFrame.p50).toBeGreaterThan(0)
    for (const by of ["org", "app", "key", "vendor", "purpose", "stop"]) {
      const { groups, totals } = await summary(`&by=${by}`)
      expect(groups.reduce((sum, { exchanges }) => sum + exchanges, 0)).toBe(totals.exchanges)
    }
  })

  it("counts calls that failed, by their code", async () => {
    await gateway().exchange({ ...hello, model: "nowhere" })
    await gateway().exchange({ ...hello, model: "not-there" })
    await eventually(async () => (await summary()).failures.length >= 2)
    const codes = (await summary()).failures.map(({ code }) => code)
    expect(codes).toContain("upstream_disconnected")
    expect(codes).toContain("model_not_authorized")
  })

  it.each([
    ["from=yesterday", "from"],
    ["from=2026-02-02&to=2026-02-01", "from"],
    ["from=2020-01-01", "from"],
    ["by=colour", "by"],
    ["model=%00", "model"],
  ])("refuses %s", async (query, path) => {
    const error = await errorOf(await get(`/v1/admin/usage-summary?${query}`))
    expect(error.status).toBe(400)
    expect(JSON.stringify(error.detail)).toContain(`"${path}"`)
  })

  it("a member sees what the member used, an owner all", async () => {
    await gateway().exchange(hello)
    const { totals } = await read(UsageSummary, "/v1/usage-summary", await as("member"))
    expect(totals.exchanges).toBe(0)
    expect((await read(UsageSummary, "/v1/usage-summary", await as("owner"))).totals.exchanges).toBeGreaterThan(0)
    expect((await read(ExchangeLogPage, "/v1/exchanges", await as("member"))).data).toEqual([])
  })
})

describe("exchanges", () => {
  it("are listed with what was billed, and narrowed by what is asked for", async () => {
    const requestId = "01JD8Q4T6ZK3M5N7P9R1S2V4WA"
    const { usage, requestId: id } = await replyOf(
      await gateway().exchange({ ...hello, meta: { requestId, purpose: "title" } }),
    )
    const [found] = (await listed(`&request=${requestId}`)).data
    expect(found).toMatchObject({ id, cost: usage.cost, outTokens: usage.outTokens, purpose: "title", isBilled: true })
    expect((await listed(`&request=${id}`)).data).toEqual([found])
    expect((await listed("&purpose=title&model=main&stop=end&estimated=false")).data).toContainEqual(found)
    expect((await listed("&purpose=title&model=claude")).data).toEqual([])
  })

  it("come in pages, each once, newest first", async () => {
    for (let n = 0; n < 5; n++) await gateway().exchange(hello)
    const all = (await listed("&limit=200")).data
    const seen: Array<string> = []
    let cursor: string | null = null
    do {
      const page: ExchangeLogPage = await listed(`&limit=2${cursor === null ? "" : `&cursor=${cursor}`}`)
      seen.push(...page.data.map(({ id }) => id))
      cursor = page.nextCursor
    } while (cursor !== null)
    expect(seen).toEqual(all.map(({ id }) => id))
    expect(new Set(seen).size).toBe(seen.length)
    expect([...all].sort((a, b) => Date.parse(b.at) - Date.parse(a.at)).map(({ at }) => at)).toEqual(
      all.map(({ at }) => at),
    )
  })

  it("one is told from end to end: lines that add up to its cost, transfers, tiers", async () => {
    const { requestId: id, usage } = await replyOf(await gateway().exchange(hello))
    const [{ at } = { at: "" }] = (await listed(`&request=${id}`)).data
    const path = `/exchanges/${id}?at=${encodeURIComponent(at)}`
    const detail = await read(ExchangeDetail, `/v1/admin/orgs/${ids.org}${path}`)
    expect(detail.lines?.map(({ dimension }) => dimension)).toEqual(["input", "output", "cache_read"])
    const sum = (detail.lines ?? []).reduce((total, { cost }) => total + Number(cost), 0)
    expect(sum).toBeCloseTo(Number(usage.cost), 9)
    expect(detail.transfers).toMatchObject([{ kind: "charge", to: "revenue", amount: usage.cost }])
    expect(Object.keys(detail.tiers)).toEqual(expect.arrayContaining(["connect", "ttfb", "total"]))
    expect(await read(ExchangeDetail, `/v1${path}`, await as("owner"))).toEqual(detail)
    expect((await get(`/v1${path}`, await as("member"))).status).toBe(404)
    expect((await errorOf(await get(`/v1/admin/orgs/${ids.org}/exchanges/${id}`))).status).toBe(400)
  })

  it("one that failed over tells which vendor calls failed, when and why", async () => {
    gateway().vendor.script((call) => {
      call.head(503, { "content-type": "application/json" })
      call.end("{}")
    })
    const { requestId: id } = await replyOf(await gateway().exchange({ ...hello, model: "pool" }))
    const [{ at } = { at: "" }] = (await listed(`&request=${id}`)).data
    const path = `/v1/admin/orgs/${ids.org}/exchanges/${id}?at=${encodeURIComponent(at)}`
    await eventually(async () => (await read(ExchangeDetail, path)).attempts.length > 0)
    expect(await read(ExchangeDetail, path)).toMatchObject({
      vendor: "second",
      stop: "end",
      attempts: [{ vendor: "openai", model: "a", error: "status 503" }],
    })
  })

  it("one that failed without a bill is listed with its code, and costs nothing", async () => {
    await gateway().exchange({ ...hello, model: "nowhere" })
    await eventually(async () => (await listed("&code=upstream_disconnected&model=nowhere")).data.length > 0)
    const [failed] = (await listed("&code=upstream_disconnected&model=nowhere")).data
    expect(failed).toMatchObject({ isBilled: false, cost: "0", model: "nowhere", vendor: "unreachable" })
    const ofVendor = (await listed("&vendor=unreachable")).data.map(({ id }) => id)
    expect(ofVendor).toContain(failed?.id)
    expect((await listed("&vendor=openai")).data.map(({ id }) => id)).not.toContain(failed?.id)
    expect(failed).not.toHaveProperty("stop")
  })

  it("that run now are listed with their target and their age", async () => {
    let finish = () => {}
    gateway().vendor.script((call) => {
      call.head()
      finish = () => call.end()
    })
    const running = gateway().exchange({ ...hello, stream: true })
    await eventually(
      async () => (await read(OpenExchanges, `/v1/admin/open-exchanges?${own()}`)).data.some(({ target }) => target),
      5000,
    )
    const { data, open, nodes } = await read(OpenExchanges, `/v1/admin/open-exchanges?${own()}`)
    expect(data).toMatchObject([{ model: "main", target: "openai/upstream-main", state: "calling", bytes: 0 }])
    expect([open, nodes]).toEqual([1, 1])
    expect((await read(OpenExchanges, "/v1/open-exchanges", await as("member"))).data).toEqual([])
    gateway().vendor.script(answering({ words: ["Hello"], inTokens: 10, outTokens: 1 }))
    finish()
    await (await running).text()
  })
})

describe("beside", () => {
  it("models have their targets and callers, plans their limits; members see the models of their organisation", async () => {
    const { data } = await read(AdminModels, "/v1/admin/models")
    expect(data.find(({ handle }) => handle === "nowhere")).toMatchObject({
      kind: "chat",
      targets: [{ vendor: "unreachable", model: "a" }],
      organisations: expect.any(Number),
    })
    expect(data.find(({ handle }) => handle === "main")?.organisations).toBeGreaterThanOrEqual(1)
    expect((await read(AdminPlans, "/v1/admin/plans")).data).toContainEqual(expect.objectContaining({ id: "team" }))
    const own = await read(OwnModels, "/v1/models", await as("member"))
    expect(own.currency).toBe("USD")
    expect(own.data).toContainEqual({ handle: "main", kind: "chat" })
    expect((await get("/v1/admin/models", await as("owner"))).status).toBe(401)
  })

  it("models of the kind realtime have the API of their sessions in both lists", async () => {
    const apis = ({ data }: AdminModels | OwnModels) =>
      data.flatMap(({ handle, realtimeApi }) => (realtimeApi === undefined ? [] : [`${handle}: ${realtimeApi}`])).sort()
    const expected = ["live: google", "talk: openai"]
    expect(apis(await read(AdminModels, "/v1/admin/models"))).toEqual(expected)
    expect(apis(await read(OwnModels, "/v1/models", await as("member")))).toEqual(expected)
  })

  it("targets tell their health, prices which is in force", async () => {
    const { data } = await read(Targets, "/v1/admin/targets")
    expect(data).toContainEqual({ vendor: "gemini", model: "gemini-3-test", handles: ["gemini"], state: "healthy" })
    const prices = await read(PriceList, "/v1/admin/prices")
    expect(prices.data).toContainEqual({
      model: "main",
      currency: "USD",
      from: "2026-01-01",
      isInForce: true,
      input: "3",
      output: "15",
      cacheRead: "0.3",
      dims: {},
    })
  })

  it("the catalogue's text is the one that was applied, and top-ups and catalogues are audited", async () => {
    const { text, revision } = await read(CatalogueText, "/v1/admin/catalogue")
    expect(text).toContain(ids.org)
    await gateway().call("POST", "/v1/admin/topups", { id: `more-${tag}`, org: ids.org, amount: "5" }, operator())
    const topups = await read(AuditEntries, `/v1/admin/audit?${own("&action=topup.")}`)
    expect(topups.data[0]?.detail).toMatchObject({ topup: `more-${tag}`, currency: "USD" })
    const applied = await read(AuditEntries, "/v1/admin/audit?action=catalogue.&limit=200")
    expect(applied.data.map(({ detail }) => detail)).toContainEqual({ revision })
    const owned = await read(AuditEntries, "/v1/audit?limit=1", await as("owner"))
    expect(owned.data.every(({ org }) => org === ids.org)).toBe(true)
    expect(owned.nextCursor).not.toBeNull()
  })
})

describe("applying a catalogue with events", () => {
  const apply = async (body: object) => {
    const response = await gateway().call("POST", "/v1/admin/catalogue/events", body, operator())
    expect(response.headers.get("content-type")).toBe("text/event-stream")
    const blocks = (await response.text()).split("\n\n").filter((block) => block !== "")
    return blocks.map((block) => {
      const [, event = "", data = ""] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? []
      return decode(ApplyEvent)({ event, data })
    })
  }
  const inForce = async () => (await read(CatalogueText, "/v1/admin/catalogue")).text ?? ""

  it("tells each step, what is stored, and ends with the result; its history says who applied it", async () => {
    const text = await inForce()
    const events = await apply({ text: `${text}\n# ${tag}\n`.replace("name: Test", "name: Tested") })
    const steps = events.flatMap((each) => (each.event === "progress" ? [each.data.step] : []))
    expect([...new Set(steps)]).toEqual(["reading", "comparing", "storing", "taking up"])
    expect(events.filter((each) => each.event === "progress" && each.data.step === "storing").at(-1)).toMatchObject({
      data: { done: 1, total: 1 },
    })
    const { event, data } = events.at(-1) ?? {}
    expect([event, data]).toMatchObject(["result", { changes: [{ entry: `orgs/${ids.org}`, change: "changed" }] }])
    const [newest] = (await read(CatalogueRevisions, "/v1/admin/catalogue/revisions?limit=1")).data
    expect(newest).toMatchObject({ appliedBy: "admin" })
    expect((await apply({ text })).at(-1)?.event).toBe("result")
  })

  it("ends with the error where the text has one; a request that cannot be read is refused as ever", async () => {
    const before = (await read(CatalogueText, "/v1/admin/catalogue")).revision
    const events = await apply({ text: "version: 1\nvendorz: []" })
    expect(events.at(-1)).toMatchObject({
      event: "error",
      data: { code: "bad_request", detail: { issues: [{ path: "vendorz", line: 2 }] } },
    })
    expect((await read(CatalogueText, "/v1/admin/catalogue")).revision).toBe(before)
    const refused = await gateway().call("POST", "/v1/admin/catalogue/events", { txt: "" }, operator())
    expect((await errorOf(refused)).status).toBe(400)
  })
})

describe("usage records as CSV", () => {
  it("are all that are kept, in columns, without formulas", async () => {
    await gateway().exchange(hello)
    await Effect.runPromise(
      gateway().sql`
        update usage_records set session_id = '=1+1,"x"' where ref = (
          select ref from usage_records where org_id = ${ids.org} order by at desc limit 1)`,
    )
    const response = await get(`/v1/admin/orgs/${ids.org}/usage.csv`)
    expect(response.headers.get("content-type")).toContain("text/csv")
    const [head = "", ...lines] = (await response.text()).trimEnd().split("\r\n")
    expect(head.split(",").slice(0, 3)).toEqual(["at", "requestId", "appId"])
    expect(lines.length).toBe((await summary()).totals.exchanges)
    expect(lines[0]).toContain(`"'=1+1,""x"""`)
    const owner = await as("owner")
    expect((await get(`/v1/usage.csv?org=${ids.org}`, owner)).status).toBe(200)
    expect((await get("/v1/usage.csv?org=org_elsewhere", owner)).status).toBe(404)
    expect((await get("/v1/usage.csv", await as("member"))).status).toBe(403)
  })
})

describe("a top-up", () => {
  it("is the same when it comes again, and a conflict with another amount or organisation", async () => {
    const admin = { "x-svc-admin-key": gateway().adminKey }
    const id = `again-${tag}`
    const put = (more: object) =>
      gateway().call("POST", "/v1/admin/topups", { id, org: ids.org, amount: "1.5", ...more }, admin)
    expect(await (await put({})).json()).toMatchObject({ credited: true })
    expect(await (await put({ amount: "1.50" })).json()).toMatchObject({ credited: false })
    expect(await errorOf(await put({ amount: "2" }))).toMatchObject({ status: 409, code: "conflict" })
    const other = await gateway().call("POST", "/v1/admin/orgs", { name: "O", currency: "USD", models: [] }, admin)
    const { id: org } = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String }))(await other.json())
    expect(await errorOf(await put({ org }))).toMatchObject({ status: 409, code: "conflict" })
  })
})

describe("a browser's session of an operator", () => {
  const base = () => gateway().baseUrl
  const ours = () => ({ origin: base(), "x-svc-console": "1" })
  const signIn = (headers: Record<string, string> = ours(), adminKey = gateway().adminKey) =>
    fetch(`${base()}/v1/session/operator`, { method: "POST", headers, body: JSON.stringify({ adminKey }) })
  const cookieOf = (response: Response) => (response.headers.getSetCookie()[0] ?? "").split(";")[0] ?? ""

  it("is a cookie that scripts cannot read and other sites do not send, for the routes of operators", async () => {
    const response = await signIn()
    expect(response.status).toBe(200)
    expect(response.headers.getSetCookie()[0]).toMatch(/HttpOnly/)
    expect(response.headers.getSetCookie()[0]).toMatch(/SameSite=Strict/)
    const cookie = cookieOf(response)
    expect((await fetch(`${base()}/v1/admin/orgs`, { headers: { cookie } })).status).toBe(200)
    const topup = { method: "POST", body: JSON.stringify({ id: `cookie-${tag}`, org: ids.org, amount: "1" }) }
    const path = `${base()}/v1/admin/topups`
    expect((await fetch(path, { ...topup, headers: { ...ours(), cookie } })).status).toBe(200)
    const left = await fetch(`${base()}/v1/session`, { method: "DELETE", headers: { ...ours(), cookie } })
    expect(left.status).toBe(204)
    await eventually(async () => (await fetch(`${base()}/v1/admin/orgs`, { headers: { cookie } })).status === 401, 5000)
    const entries = await read(AuditEntries, "/v1/admin/audit?action=operator.&limit=200")
    expect(entries.data.map(({ action }) => action)).toEqual(
      expect.arrayContaining(["operator.signed_in", "operator.signed_out"]),
    )
  })

  it.each<[string, () => Record<string, string>]>([
    ["without an origin", () => ({ "x-svc-console": "1" })],
    ["of another origin", () => ({ origin: "https://elsewhere.example", "x-svc-console": "1" })],
    ["without the console's header", () => ({ origin: base() })],
  ])("a form %s changes nothing", async (_, headers) => {
    const cookie = cookieOf(await signIn())
    const id = `stolen-${randomUUID()}`
    const response = await fetch(`${base()}/v1/admin/topups`, {
      method: "POST",
      headers: { ...headers(), cookie },
      body: JSON.stringify({ id, org: ids.org, amount: "1" }),
    })
    expect((await errorOf(response)).code).toBe("forbidden")
    const topups = await Effect.runPromise(gateway().sql`select from topups where id = ${id}`)
    expect(topups).toEqual([])
    expect((await errorOf(await signIn(headers()))).code).toBe("forbidden")
  })

  it("needs the admin key, and its cookie cannot be made up or altered", async () => {
    expect((await errorOf(await signIn(ours(), "wrong"))).code).toBe("admin_key_invalid")
    const cookie = cookieOf(await signIn())
    for (const forged of ["weir_operator=x", `${cookie.slice(0, -6)}AAAAAA`]) {
      const response = await fetch(`${base()}/v1/admin/orgs`, { headers: { cookie: forged } })
      expect((await errorOf(response)).code).toBe("admin_key_invalid")
    }
    const cross = await fetch(`${base()}/v1/admin/orgs`, { headers: { cookie, "sec-fetch-site": "cross-site" } })
    expect((await errorOf(cross)).code).toBe("forbidden")
  })
})
