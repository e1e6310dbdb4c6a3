/** Tenants that operators make, change and delete. */
import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { KeyMinted, OrgList } from "../../src/protocol/control/admin-directory.ts"
import {
  AppRecord,
  MemberList,
  MemberRecord,
  OrgRecord,
  TeamRecord,
  TenantBatchReply,
} from "../../src/protocol/control/tenants.ts"
import { hello, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"

const tag = randomUUID().slice(0, 8)
const ids = newTestIds()
let text = ""
const gateway = useGateway({
  backgroundSpeed: 10,
  ids,
  catalogue: (urls) => {
    text = testCatalogue(urls, ids).replace(
      "plans:\n",
      "plans:\n  - { id: small, maxMembers: 2, maxApps: 1 }\n  - { id: spare }\n",
    )
    return text
  },
})

const small = useGateway({ config: { tenantCacheBytes: 64 * 1024 } })

const admin = (method: string, path: string, body?: unknown, headers = {}) =>
  gateway().call(method, `/v1/admin/${path}`, body, { "x-svc-admin-key": gateway().adminKey, ...headers })
const replyOf = async <S extends Schema.ConstraintDecoder<unknown>>(schema: S, reply: Promise<Response>) => {
  const response = await reply
  const body: unknown = response.status === 204 ? undefined : await response.json()
  expect(body).not.toHaveProperty("error")
  return Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })(body)
}
const org = (more: object = {}) => ({ name: "Acme", currency: "USD", models: ["main"], ...more })
const newOrg = (more: object = {}) => replyOf(OrgRecord, admin("POST", "orgs", org(more)))
const newApp = (orgId: string) => replyOf(AppRecord, admin("POST", "apps", { org: orgId }))
const mint = (app: string) => replyOf(KeyMinted, admin("POST", "keys", { app }))
const exchange = ({ keyId, key }: { readonly keyId: string; readonly key: string }) =>
  gateway().exchange(hello, { headers: { "x-svc-key-id": keyId, "x-svc-key": key } })
const topUp = (orgId: string) => admin("POST", "topups", { id: `t-${orgId}`, org: orgId, amount: "5" })
const batch = (items: ReadonlyArray<unknown>, headers = {}) => admin("POST", "tenants:batch", { items }, headers)
const batched = (items: ReadonlyArray<unknown>, headers = {}) => replyOf(TenantBatchReply, batch(items, headers))
const applyText = (changed: string) => admin("POST", "catalogue", { text: changed })

describe("an organisation", () => {
  it("made by the API can call at once, is refused while it is disabled, and closed for good when it is deleted", async () => {
    const made = await newOrg()
    expect(made).toMatchObject({ name: "Acme", declared: false, status: "active" })
    const app = await newApp(made.id)
    const key = await mint(app.id)
    expect((await errorOf(await exchange(key))).code).toBe("insufficient_balance")
    await topUp(made.id)
    expect((await exchange(key)).status).toBe(200)
    await replyOf(OrgRecord, admin("PATCH", `orgs/${made.id}`, { status: "disabled" }))
    expect((await errorOf(await exchange(key))).code).toBe("app_disabled")
    await replyOf(OrgRecord, admin("PATCH", `orgs/${made.id}`, { status: "active" }))
    expect((await exchange(key)).status).toBe(200)
    expect((await admin("DELETE", `orgs/${made.id}`)).status).toBe(204)
    expect((await errorOf(await exchange(key))).code).toBe("app_key_invalid")
    // The books stay, and the id stays taken.
    const usage: unknown = await (await admin("GET", `orgs/${made.id}/usage`)).json()
    expect(usage).toMatchObject({ data: [{ appId: app.id }, { appId: app.id }] })
    expect(await replyOf(OrgRecord, admin("GET", `orgs/${made.id}`))).toMatchObject({
      name: "Acme (closed)",
      status: "closed",
    })
    expect((await errorOf(await admin("POST", "orgs", org({ id: made.id })))).code).toBe("conflict")
    expect((await errorOf(await admin("PATCH", `orgs/${made.id}`, { name: "B" }))).code).toBe("not_found")
    expect((await errorOf(await topUp(made.id))).code).toBe("not_found")
    expect(await replyOf(AppRecord, admin("GET", `apps/${app.id}`))).toMatchObject({ status: "closed" })
  })

  it("is changed by what is given; null removes a member", async () => {
    const made = await newOrg({ plan: "small", aliases: { "gpt-*": "main" } })
    const changed = await replyOf(OrgRecord, admin("PATCH", `orgs/${made.id}`, { name: "B", aliases: null }))
    expect(changed).toMatchObject({ name: "B", plan: "small", models: ["main"] })
    expect(changed).not.toHaveProperty("aliases")
    expect(BigInt(changed.revision)).toBeGreaterThan(BigInt(made.revision))
  })

  it("of concurrent changes of one revision one wins, the others get 409", async () => {
    const { id, revision } = await newOrg()
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        admin("PATCH", `orgs/${id}`, { name: `N${at}` }, { "if-match": `"${revision}"` }),
      ),
    )
    const statuses = replies.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array.from({ length: 19 }, () => 409)])
    const stale = await admin("DELETE", `orgs/${id}`, undefined, { "if-match": revision })
    expect(await errorOf(stale)).toMatchObject({ code: "conflict" })
    expect((await errorOf(await admin("PATCH", `orgs/${id}`, { name: "x" }, { "if-match": "abc" }))).code).toBe(
      "bad_request",
    )
  })

  it("concurrent changes of different members are all kept", async () => {
    const { id } = await newOrg()
    const changes = [{ name: "B" }, { plan: "small" }, { models: [] }, { capabilities: { webSearch: true } }]
    const replies = await Promise.all(changes.map((change) => admin("PATCH", `orgs/${id}`, change)))
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await replyOf(OrgRecord, admin("GET", `orgs/${id}`))).toMatchObject(Object.assign({}, ...changes))
  })

  it.each([
    ["an unknown plan", { plan: "none" }, "plan"],
    ["an unknown model", { models: ["main", "none"] }, "models.1"],
    ["an unknown policy", { policies: ["none"] }, "policies.0"],
    ["an alias of an unknown model", { aliases: { a: "none" } }, "aliases.a"],
    ["a NUL", { name: "a\u0000b" }, "name"],
    ["half a surrogate pair", { name: "a\ud800" }, "name"],
    ["an empty name", { name: "" }, "name"],
    ["an unknown member", { colour: "red" }, "colour"],
    ["a currency of its own", { currency: "XYZW" }, "currency"],
    ["an id with a space", { id: "a b" }, "id"],
    ["a provider that is not HTTPS", { sso: { issuer: "http://a.example", clientId: "c" } }, "sso.issuer"],
    ["more than a megabyte", { capabilities: Object.fromEntries([["x".repeat(1_100_000), true]]) }, ""],
  ])("with %s is refused", async (_what, more, path) => {
    const error = await errorOf(await admin("POST", "orgs", org(more)))
    expect(error).toMatchObject({ status: 400, code: "bad_request", detail: { issues: [{ path }] } })
  })

  it("that the catalogue file declares is changed by the file alone, but may be disabled", async () => {
    for (const [method, body] of [
      ["PATCH", { name: "B" }],
      ["DELETE", undefined],
    ] as const) {
      expect(await errorOf(await admin(method, `orgs/${ids.org}`, body))).toMatchObject({ code: "conflict" })
    }
    await replyOf(OrgRecord, admin("PATCH", `orgs/${ids.org}`, { status: "disabled" }))
    expect((await errorOf(await gateway().exchange(hello))).code).toBe("app_disabled")
    // The file does not enable it again.
    expect((await applyText(`${text}\n# more`)).status).toBe(200)
    expect((await errorOf(await gateway().exchange(hello))).code).toBe("app_disabled")
    await replyOf(OrgRecord, admin("PATCH", `orgs/${ids.org}`, { status: "active", name: "Test" }))
    expect((await gateway().exchange(hello)).status).toBe(200)
  })

  it("that exists is not taken by a catalogue file, and keeps the plan that it has", async () => {
    const made = await newOrg({ plan: "spare" })
    const taking = text.replace("orgs:\n", `orgs:\n  - { id: ${made.id}, name: Mine, currency: USD, models: [] }\n`)
    for (const dryRun of [true, false]) {
      const error = await errorOf(await admin("POST", "catalogue", { text: taking, dryRun }))
      expect(error.detail).toMatchObject({ issues: [{ message: expect.stringContaining(made.id) }] })
      const without = text.replace("  - { id: spare }\n", "")
      expect((await errorOf(await admin("POST", "catalogue", { text: without, dryRun }))).detail).toMatchObject({
        issues: [{ message: `plans/spare is still used by organisation "${made.id}"` }],
      })
    }
    expect(await replyOf(OrgRecord, admin("GET", `orgs/${made.id}`))).toMatchObject({ name: "Acme" })
    await admin("DELETE", `orgs/${made.id}`)
    expect((await applyText(text.replace("  - { id: spare }\n", ""))).status).toBe(200)
    expect((await applyText(text)).status).toBe(200)
  })
})

describe("what belongs to an organisation", () => {
  it("is limited by its plan", async () => {
    const { id } = await newOrg({ plan: "small" })
    await newApp(id)
    expect(await errorOf(await admin("POST", "apps", { org: id }))).toMatchObject({
      status: 429,
      code: "plan_apps_exceeded",
    })
    const add = (at: number) =>
      admin("POST", "members", { org: id, email: `m${at}.${tag}@example.com`, role: "member" })
    const codes = await Promise.all([1, 2, 3, 4].map(async (at) => (await add(at)).status))
    expect(codes.sort()).toEqual([200, 200, 429, 429])
  })

  it("is made of members once each, and of teams of members; a member who leaves leaves the teams", async () => {
    const { id } = await newOrg()
    const email = `Ada.${tag}@Example.com`
    const ada = await replyOf(MemberRecord, admin("POST", "members", { org: id, email, role: "owner" }))
    const again = await admin("POST", "members", { org: id, email: email.toLowerCase(), role: "member" })
    expect((await errorOf(again)).code).toBe("conflict")
    const stranger = await admin("POST", "teams", { org: id, members: [ada.id, "nobody"] })
    expect((await errorOf(stranger)).code).toBe("bad_request")
    const bo = await replyOf(
      MemberRecord,
      admin("POST", "members", { org: id, email: `bo.${tag}@example.com`, role: "member" }),
    )
    const team = await replyOf(TeamRecord, admin("POST", "teams", { org: id, members: [ada.id, bo.id] }))
    expect((await admin("DELETE", `members/${bo.id}`)).status).toBe(204)
    expect(await replyOf(TeamRecord, admin("GET", `teams/${team.id}`))).toMatchObject({ members: [ada.id] })
    // Only an id is left of the person.
    const left = await replyOf(MemberRecord, admin("GET", `members/${bo.id}`))
    expect(left.email).not.toContain("bo.")
    for (const [method, body] of [
      ["DELETE", undefined],
      ["PATCH", { role: "admin" }],
      ["PATCH", { status: "disabled" }],
    ] as const) {
      expect(await errorOf(await admin(method, `members/${ada.id}`, body))).toMatchObject({
        code: "conflict",
        message: "The last owner cannot leave",
      })
    }
    const me = await gateway().call("GET", "/v1/me", undefined, {
      "x-svc-key-id": undefined,
      "x-svc-key": undefined,
      authorization: `Bearer ${(await gateway().logIn(email)).accessToken}`,
    })
    expect(await me.json()).toMatchObject({ orgs: [{ id, role: "owner", teams: [team.id] }] })
  })

  it("an application that is disabled or deleted is refused", async () => {
    const { id } = await newOrg()
    await topUp(id)
    const app = await newApp(id)
    const key = await mint(app.id)
    expect((await exchange(key)).status).toBe(200)
    await replyOf(AppRecord, admin("PATCH", `apps/${app.id}`, { status: "disabled" }))
    expect((await errorOf(await exchange(key))).code).toBe("app_disabled")
    const allowed = { status: "active", ipAllow: ["10.0.0.0/8"] }
    expect(await replyOf(AppRecord, admin("PATCH", `apps/${app.id}`, allowed))).toMatchObject({
      ipAllow: ["10.0.0.0/8"],
    })
    expect((await errorOf(await exchange(key))).code).toBe("app_ip_denied")
    expect((await errorOf(await admin("PATCH", `apps/${app.id}`, { ipAllow: ["nowhere"] }))).code).toBe("bad_request")
    expect((await admin("DELETE", `apps/${app.id}`)).status).toBe(204)
    expect((await errorOf(await exchange(key))).code).toBe("app_key_invalid")
  })
})

describe("a batch", () => {
  it("makes 1,000 at once; the same again under its key makes nothing, another is refused", async () => {
    const items = Array.from({ length: 1000 }, (_, at) => ({
      op: "create",
      kind: "org",
      value: org({ id: `bulk_${tag}_${at}`, name: `Bulk ${tag} ${at}` }),
    }))
    const key = { "idempotency-key": `batch-${tag}` }
    const first = await batched(items, key)
    expect(first.data).toHaveLength(1000)
    expect(first.data.every(({ status }) => status === 200)).toBe(true)
    expect(await batched(items, key)).toEqual(first)
    expect((await batched(items)).data.every(({ status }) => status === 409)).toBe(true)
    expect((await errorOf(await batch(items.slice(1), key))).code).toBe("idempotency_conflict")
    expect((await errorOf(await batch([...items, ...items.slice(0, 1)]))).code).toBe("bad_request")
    // In pages, in any case.
    const found: Array<string> = []
    let cursor: string | null = ""
    while (cursor !== null) {
      const query = new URLSearchParams({ search: `BULK ${tag}`, limit: "200", ...(cursor !== "" && { cursor }) })
      const page: OrgList = await replyOf(OrgList, admin("GET", `orgs?${query}`))
      found.push(...page.data.map(({ id }) => id))
      cursor = page.nextCursor
    }
    expect(new Set(found).size).toBe(1000)
    expect(found).toHaveLength(1000)
    await batched(found.map((id) => ({ op: "delete", kind: "org", id })))
    const closed = await replyOf(OrgList, admin("GET", `orgs?search=bulk_${tag}&status=closed&limit=1`))
    expect(closed.data[0]?.name).toMatch(/\(closed\)$/)
  })

  it("answers each item for itself, in order, and may build on items before", async () => {
    const [orgId, appId] = [`org_b_${tag}`, `app_b_${tag}`]
    const { data } = await batched([
      { op: "create", kind: "org", value: org({ id: orgId, plan: "small" }) },
      { op: "create", kind: "app", value: { id: appId, org: orgId } },
      { op: "create", kind: "app", value: { org: orgId } },
      { op: "create", kind: "org", value: org({ plan: "none" }) },
      { op: "update", kind: "org", id: orgId, value: { name: "Second" } },
      { op: "update", kind: "org", id: orgId, value: { aliases: { a: "main" }, plan: null } },
      { op: "create", kind: "team", value: { org: "org_unheard", members: [] } },
      { op: "update", kind: "org", id: "org_unheard", value: { name: "x" } },
      { op: "update", kind: "org", id: ids.org, value: { name: "x" } },
      { op: "update", kind: "org", id: ids.org, revision: "1", value: { status: "active" } },
      { op: "delete", kind: "app", id: appId },
    ])
    expect(data.map((item) => ("error" in item ? item.error.code : item.status))).toEqual([
      200,
      200,
      "plan_apps_exceeded",
      "bad_request",
      200,
      200,
      "not_found",
      "not_found",
      "conflict",
      "conflict",
      200,
    ])
    const built = await replyOf(OrgRecord, admin("GET", `orgs/${orgId}`))
    expect(built).toMatchObject({ name: "Second", aliases: { a: "main" }, models: ["main"] })
    expect(built).not.toHaveProperty("plan")
    const odd = [{ op: "create", kind: "key", value: {} }, 7, { op: "delete", kind: "app", id: "a b" }]
    expect((await batched(odd)).data.map((item) => "error" in item && item.error.code)).toEqual(
      odd.map(() => "bad_request"),
    )
    expect((await errorOf(await batch([]))).code).toBe("bad_request")
  })

  it("and single changes at the same time neither lose nor lock each other out", async () => {
    const made = await Promise.all(Array.from({ length: 6 }, () => newOrg()))
    const every = (name: string) => made.map(({ id }) => ({ op: "update", kind: "org", id, value: { name } }))
    const replies = await Promise.all([
      ...["a", "b", "c"].map((name) => batch(every(name))),
      ...["d", "e", "f"].map((name) => batch(every(name).reverse())),
      ...made.map(({ id }) => admin("PATCH", `orgs/${id}`, { models: [] })),
    ])
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    for (const { id } of made) {
      expect(await replyOf(OrgRecord, admin("GET", `orgs/${id}`))).toMatchObject({ models: [] })
    }
  })
})

describe("lists", () => {
  it("take special characters of a search as they are, and refuse what they cannot read", async () => {
    const { id } = await newOrg({ name: `100%_${tag}` })
    const search = async (text: string) =>
      (await replyOf(OrgList, admin("GET", `orgs?search=${encodeURIComponent(text)}`))).data.map((found) => found.id)
    expect(await search(`100%_${tag}`)).toEqual([id])
    expect(await search(`100__${tag}`)).toEqual([])
    const bad = ["limit=0", "limit=201", "cursor=x", "status=none", "search=%00", `search=${"x".repeat(300)}`]
    for (const list of ["orgs", "teams", "members", "apps"]) {
      for (const query of bad) {
        expect(await errorOf(await admin("GET", `${list}?${query}`))).toMatchObject({ code: "bad_request" })
      }
    }
    // Some are dates for JavaScript, and not for the database.
    for (const place of ["yesterday", "2026 (x)", "2026-99-01T00:00:00+00:00"]) {
      const cursor = Buffer.from(JSON.stringify([place, "x"])).toString("base64url")
      expect((await errorOf(await admin("GET", `keys?cursor=${cursor}`))).code).toBe("bad_request")
    }
  })

  it("of one organisation have its own only", async () => {
    const [one, two] = [await newOrg(), await newOrg()]
    for (const { id } of [one, two]) {
      await admin("POST", "members", { org: id, email: `shared.${tag}@example.com`, role: "owner" })
    }
    const { data } = await replyOf(MemberList, admin("GET", `members?org=${one.id}`))
    expect(data.map((member) => member.org)).toEqual([one.id])
  })
})

describe("nodes", () => {
  it("hear of a change that another node made, and of a key that it revoked", async () => {
    const made = await newOrg()
    await topUp(made.id)
    const app = await newApp(made.id)
    const key = await mint(app.id)
    expect((await exchange(key)).status).toBe(200)
    const { sql } = gateway()
    // Another node writes to the same database.
    await Effect.runPromise(sql`update tenants set status = 'disabled' where kind = 'org' and id = ${made.id}`)
    await eventually(async () => (await exchange(key)).status === 403, 4000)
    await Effect.runPromise(sql`update tenants set status = 'active' where kind = 'org' and id = ${made.id}`)
    await eventually(async () => (await exchange(key)).status === 200, 4000)
    await Effect.runPromise(sql`update app_keys set status = 'revoked' where id = ${key.keyId}`)
    await eventually(async () => (await exchange(key)).status === 401, 4000)
  })

  it("remember unknown ids within an eighth of their memory", async () => {
    const { tenants } = small()
    for (let at = 0; at < 300; at++) await Effect.runPromise(tenants.key(`key_flood_${at}_${"x".repeat(50)}`))
    const { absent, bytes } = tenants.size()
    expect(absent).toBeGreaterThan(10)
    expect(absent).toBeLessThan(40)
    expect(bytes).toBeLessThan(80_000)
    // Active tenants stay known.
    expect((await small().exchange(hello)).status).toBe(200)
  })

  it("read nothing for what they know, and nothing for unknown ids that come again", async () => {
    const made = await newOrg()
    await topUp(made.id)
    const key = await mint((await newApp(made.id)).id)
    expect((await exchange(key)).status).toBe(200)
    const unknown = () => exchange({ keyId: `key_unheard_${tag}`, key: "wk_no" })
    await unknown()
    const before = gateway().tenants.size()
    // All reads of keys or tenants now fail.
    const { sql } = gateway()
    const rename = (from: string, to: string) => Effect.runPromise(sql.unsafe(`alter table ${from} rename to ${to}`))
    for (const table of ["app_keys", "tenants"]) await rename(table, `${table}_hidden`)
    try {
      for (let count = 0; count < 5; count++) {
        expect((await exchange(key)).status).toBe(200)
        expect((await unknown()).status).toBe(401)
      }
      expect((await exchange({ keyId: `key_other_${tag}`, key: "wk_no" })).status).toBe(500)
    } finally {
      for (const table of ["app_keys", "tenants"]) await rename(`${table}_hidden`, table)
    }
    expect(gateway().tenants.size()).toEqual(before)
    expect(before.absent).toBeGreaterThan(0)
  })
})
