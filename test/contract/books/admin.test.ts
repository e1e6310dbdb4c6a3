/** Operators' routes: organisations, people, keys, licences. */
import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { KeyList, KeyMinted, OrgList, UserList } from "../../../src/protocol/control/admin-directory.ts"
import { LicenseIssued, LicenseList, LicenseReply } from "../../../src/protocol/control/licence.ts"
import { SearchResults } from "../../../src/protocol/control/search.ts"
import { UsageStatement } from "../../../src/protocol/control/statement.ts"
import { hello, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { errorOf, eventually, replyOf, useGateway } from "../../support/gateway.ts"

const tag = randomUUID().slice(0, 8)
const at = (name: string) => `${name}.${tag}@example.com`
const ids = newTestIds()
const withPeople = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(
    urls,
    ids,
    [
      "users:",
      `  - { id: ada_${tag}, email: ${at("ada")}, org: ${ids.org}, role: owner }`,
      `  - { id: bo_${tag}, email: ${at("bo")}, org: ${ids.org}, role: member }`,
    ].join("\n"),
  )
const gateway = useGateway({ backgroundSpeed: 10, ids, catalogue: withPeople })

const admin = (method: string, path: string, body?: unknown) =>
  gateway().call(method, `/v1/admin/${path}`, body, { "x-svc-admin-key": gateway().adminKey })
const listing =
  <S extends Schema.ConstraintDecoder<unknown>>(schema: S) =>
  async (path: string): Promise<S["Type"]> =>
    Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })(await (await admin("GET", path)).json())
const orgs = listing(OrgList)
const users = listing(UserList)
const keys = listing(KeyList)
const licences = listing(LicenseList)
const usage = listing(UsageStatement)
const decodeIssued = Schema.decodeUnknownSync(LicenseIssued)
const decodeLicence = Schema.decodeUnknownSync(LicenseReply)
const audited = async (action: string, detail: string) => {
  const rows = await Effect.runPromise(gateway().sql<{ actor_type: string; actor_id: string; org_id: string | null }>`
    select actor_type, actor_id, org_id from audit_log where action = ${action} and detail::text like ${`%${detail}%`}`)
  return rows
}
const decodeMinted = Schema.decodeUnknownSync(KeyMinted, { onExcessProperty: "error" })
const mint = async (body: object) => decodeMinted(await (await admin("POST", "keys", body)).json())
const as = (keyId: string, key: string) => ({ headers: { "x-svc-key-id": keyId, "x-svc-key": key } })

describe("organisations", () => {
  it("are listed with what they have", async () => {
    const { data } = await orgs("orgs")
    expect(data).toContainEqual({
      id: ids.org,
      name: "Test",
      plan: "team",
      currency: "USD",
      available: "1000",
      held: "0",
      allotted: "0",
      apps: 1,
      members: 2,
      sso: false,
      status: "active",
      declared: true,
    })
  })

  it("usage is listed page by page, as for members", async () => {
    for (let count = 0; count < 3; count++) await replyOf(await gateway().exchange(hello))
    const first = await usage(`orgs/${ids.org}/usage?limit=2`)
    expect(first.data.length).toBe(2)
    const second = await usage(`orgs/${ids.org}/usage?limit=2&cursor=${first.nextCursor}`)
    expect([second.data.length, second.nextCursor]).toEqual([1, null])
    expect(await errorOf(await admin("GET", `orgs/${ids.org}/usage?limit=0`))).toMatchObject({ code: "bad_request" })
    expect(await errorOf(await admin("GET", "orgs/org_unheard/usage"))).toMatchObject({ code: "not_found" })
  })
})

describe("keys", () => {
  it("a new key works at once, with its scopes, and its secret is printed once", async () => {
    const { keyId, key } = await mint({ app: ids.app })
    expect((await gateway().exchange(hello, as(keyId, key))).status).toBe(200)
    const { data } = await keys(`keys?org=${ids.org}`)
    expect(data[0]).toMatchObject({ id: keyId, appId: ids.app, scopes: ["runtime"], status: "active", origin: "admin" })
    expect(JSON.stringify(data)).not.toContain(key)
    expect(await audited("key.minted", keyId)).toEqual([{ actor_type: "service", actor_id: "admin", org_id: ids.org }])
  })

  it("a token that lacks the scope, or has expired, opens nothing", async () => {
    const control = await mint({ app: ids.app, scopes: ["control"] })
    const old = await mint({ app: ids.app, expiresAt: "2020-01-01" })
    for (const { keyId, key } of [control, old]) {
      expect(await errorOf(await gateway().exchange(hello, as(keyId, key)))).toMatchObject({ code: "app_key_invalid" })
    }
  })

  it("a revoked key stops working; revoking it again is not_found", async () => {
    const { keyId, key } = await mint({ app: ids.app, id: `short_${tag}` })
    expect((await gateway().exchange(hello, as(keyId, key))).status).toBe(200)
    expect((await admin("POST", `keys/${keyId}/revoke`)).status).toBe(204)
    await eventually(async () => (await gateway().exchange(hello, as(keyId, key))).status === 401)
    expect(await errorOf(await admin("POST", `keys/${keyId}/revoke`))).toMatchObject({ status: 404, code: "not_found" })
    expect(await audited("key.revoked", keyId)).toEqual([{ actor_type: "service", actor_id: "admin", org_id: ids.org }])
  })

  it("a catalogue's key that was revoked stays revoked, whatever is applied, and this is reported", async () => {
    const urls = { vendor: gateway().vendor.url, second: gateway().second.url }
    const more = (name: string) => withPeople(urls).replace("topups:", `  - { id: ${name}, app: ${ids.app} }\ntopups:`)
    const key = `gone_${tag}`
    const applied = await Effect.runPromise(gateway().catalogue.apply(more(key)))
    const secret = applied.minted[0]?.secret ?? ""
    expect((await gateway().exchange(hello, as(key, secret))).status).toBe(200)
    await admin("POST", `keys/${key}/revoke`)
    const again = await Effect.runPromise(gateway().catalogue.apply(more(key)))
    expect(again.minted).toEqual([])
    expect(again.warnings.join()).toContain(`${key} was revoked`)
    await eventually(async () => (await gateway().exchange(hello, as(key, secret))).status === 401)
    const { data } = await keys(`keys?org=${ids.org}`)
    expect(data).toContainEqual(expect.objectContaining({ id: key, status: "revoked", origin: "catalogue" }))
  })

  it("50 mint the same id at once: exactly one wins", async () => {
    const body = { app: ids.app, id: `crowd_${tag}` }
    const replies = await Promise.all(Array.from({ length: 50 }, () => admin("POST", "keys", body)))
    const statuses = replies.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200).length).toBe(1)
    expect(statuses.filter((status) => status === 409).length).toBe(49)
  })

  it.each<[string, object, object]>([
    ["an application that nobody knows", { app: "app_unheard" }, { status: 404, code: "not_found" }],
    ["no application", {}, { status: 400, code: "bad_request" }],
    ["an id that is none", { app: "a", id: "with space" }, { status: 400, code: "bad_request" }],
    ["a scope that is none", { app: "a", scopes: ["all"] }, { status: 400, code: "bad_request" }],
    ["no scope at all", { app: "a", scopes: [] }, { status: 400, code: "bad_request" }],
    ["a day that is none", { app: "a", expiresAt: "soon" }, { status: 400, code: "bad_request" }],
    ["a field too many", { app: "a", secret: "mine" }, { status: 400, code: "bad_request" }],
  ])("%s", async (_what, body, expected) => {
    expect(await errorOf(await admin("POST", "keys", body))).toMatchObject(expected)
  })
})

describe("users", () => {
  const statusOf = async (email: string) => {
    const { data } = await users(`users?org=${ids.org}`)
    return data.find((user) => user.email === email)
  }

  it("have the status invited until they log in", async () => {
    expect(await statusOf(at("ada"))).toEqual({
      id: `ada_${tag}`,
      email: at("ada"),
      status: "invited",
      memberships: [{ org: ids.org, role: "owner" }],
    })
    await gateway().logIn(at("ada"))
    expect((await statusOf(at("ada")))?.status).toBe("active")
  })

  it("a disabled person loses logins and tokens at once, and can log in again when enabled", async () => {
    const { accessToken, account } = await gateway().logIn(at("bo"))
    const token = await Effect.runPromise(
      gateway().accessTokens.issue({ kind: "pat", orgId: ids.org, scopes: ["control"], userId: account.id }),
    )
    const meAs = async (bearer: string) =>
      (await gateway().call("GET", "/v1/me", undefined, { authorization: `Bearer ${bearer}` })).status
    expect([await meAs(accessToken), await meAs(token.secret)]).toEqual([200, 200])
    expect((await admin("POST", `users/${account.id}/disable`)).status).toBe(200)
    await eventually(async () => (await meAs(accessToken)) === 401 && (await meAs(token.secret)) === 401)
    expect((await statusOf(at("bo")))?.status).toBe("disabled")
    await expect(gateway().logIn(at("bo"))).rejects.toThrow()
    expect((await admin("POST", `users/${account.id}/enable`)).status).toBe(200)
    expect(await meAs(accessToken)).toBe(401)
    expect(await meAs((await gateway().logIn(at("bo"))).accessToken)).toBe(200)
    expect((await audited("user.disabled", account.id)).length).toBe(1)
    expect((await audited("user.enabled", account.id)).length).toBe(1)
  })

  it("unknown id: not_found", async () => {
    expect(await errorOf(await admin("POST", "users/usr_unheard/disable"))).toMatchObject({ code: "not_found" })
  })
})

describe("licences", () => {
  it("are issued, suspended and revoked by operators; the audit log records by whom", async () => {
    const issued = await admin("POST", `orgs/${ids.org}/licences`, { appId: ids.app, codeExpiresInDays: 1 })
    const { license, code } = decodeIssued(await issued.json())
    expect([license.status, code]).toEqual(["issued", expect.stringMatching(/^lic_/)])
    expect((await licences(`orgs/${ids.org}/licences`)).data[0]).toEqual(license)
    const suspended = await admin("POST", `orgs/${ids.org}/licences/${license.id}/suspend`)
    expect(await errorOf(suspended)).toMatchObject({ status: 409, code: "conflict" })
    const revoked = await admin("POST", `orgs/${ids.org}/licences/${license.id}/revoke`)
    expect(decodeLicence(await revoked.json()).license).toMatchObject({ status: "revoked", epoch: 1 })
    expect(await audited("license.revoked", license.id)).toEqual([
      { actor_type: "service", actor_id: "admin", org_id: ids.org },
    ])
  })

  it.each([
    ["an organisation that nobody knows", "orgs/org_unheard/licences", { appId: "a" }, "not_found"],
    ["an application of somebody else", `orgs/${ids.org}/licences`, { appId: "app_unheard" }, "not_found"],
    ["no days", `orgs/${ids.org}/licences`, { appId: ids.app, codeExpiresInDays: 0 }, "bad_request"],
  ])("%s", async (_what, path, body, code) => {
    expect(await errorOf(await admin("POST", path, body))).toMatchObject({ code })
  })
})

describe("a search", () => {
  const find = listing(SearchResults)
  const none = { organisations: [], applications: [], keys: [], exchanges: [] }

  it("finds organisations, applications and keys by the beginning of their ids and names", async () => {
    const { keyId } = await mint({ app: ids.app, name: `Beacon ${tag}` })
    expect(await find(`search?search=${ids.org}`)).toMatchObject({ organisations: [{ id: ids.org, name: "Test" }] })
    expect(await find(`search?search=${ids.app}`)).toMatchObject({ applications: [{ id: ids.app, orgId: ids.org }] })
    const key = { id: keyId, name: `Beacon ${tag}`, orgId: ids.org }
    expect(await find(`search?search=${keyId}`)).toEqual({ ...none, keys: [key] })
    expect(await find(`search?search=beacon%20${tag}`)).toEqual({ ...none, keys: [key] })
  })

  it("finds an exchange by its id, and at most five of each kind", async () => {
    const response = await gateway().exchange(hello)
    await replyOf(response)
    const id = response.headers.get("x-svc-request-id") ?? ""
    await eventually(async () => (await find(`search?search=${id}`)).exchanges.length === 1)
    expect((await find(`search?search=${id}`)).exchanges).toMatchObject([{ id, orgId: ids.org, model: "main" }])
    for (let count = 0; count < 6; count++) await mint({ app: ids.app, name: `Many ${tag} ${count}` })
    expect((await find(`search?search=Many%20${tag}`)).keys.length).toBe(5)
  })

  it("finds nothing of nothing, and a pattern's signs are letters", async () => {
    expect(await find("search")).toEqual(none)
    expect(await find("search?search=%25")).toEqual(none)
    expect((await errorOf(await admin("GET", `search?search=${"x".repeat(300)}`))).code).toBe("bad_request")
  })
})
