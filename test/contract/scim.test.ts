/** The directory of an organisation provisions people and groups, by SCIM 2.0. */
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { Effect, Schema } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { ScimState, ScimToken } from "../../src/protocol/control/scim.ts"
import { newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"

const tag = randomUUID().slice(0, 8)
const ids = newTestIds()
const other = newTestIds()
const domain = `${tag}.example.com`
const at = (name: string) => `${name}@${domain}`
const sso = `sso: { issuer: "https://login.example.com", clientId: weir, trustDomains: [${domain}], groupsClaim: groups, groups: { Owners: owner, Admins: admin, Lab: lab_${tag} } }`
const users = [
  "users:",
  `  - { id: ada_${tag}, email: ${at("ada")}, org: ${ids.org}, role: owner }`,
  `  - { id: bo_${tag}, email: ${at("bo")}, org: ${ids.org}, role: admin }`,
  `  - { id: cy_${tag}, email: ${at("cy")}, org: ${ids.org}, role: member }`,
  `  - { id: eve_${tag}, email: ${at("eve")}, org: ${other.org}, role: owner }`,
].join("\n")

const gateway = useGateway({
  ids,
  config: { authPerMinute: 1_000_000 },
  catalogue: (urls) =>
    testCatalogue(urls, ids, users)
      .replace("currency: USD, models: [main, claude", `currency: USD, ${sso}, models: [main, claude`)
      .replace("apps:\n", `  - { id: ${other.org}, name: Other, plan: team, currency: USD, models: [main] }\napps:\n`),
})

const call = (method: string, path: string, token: string, body?: unknown, headers = {}) =>
  gateway().call(method, path, body, {
    "x-svc-key-id": undefined,
    "x-svc-key": undefined,
    authorization: `Bearer ${token}`,
    ...headers,
  })
const admin = (method: string, path: string, body?: unknown) =>
  gateway().call(method, `/v1/admin/${path}`, body, { "x-svc-admin-key": gateway().adminKey })
const decodeToken = Schema.decodeUnknownSync(ScimToken, { onExcessProperty: "error" })
const decodeState = Schema.decodeUnknownSync(ScimState, { onExcessProperty: "error" })
const enabled = async (org: string) => decodeToken(await (await admin("POST", `orgs/${org}/scim`)).json()).token

let token = ""
const Resource = Schema.StructWithRest(Schema.Struct({ id: Schema.String }), [
  Schema.Record(Schema.String, Schema.Json),
])
const decodeResource = Schema.decodeUnknownSync(Resource)
const decodeJson = Schema.decodeUnknownSync(Schema.JsonObject)
const scim = (method: string, path: string, body?: unknown, headers = {}) =>
  call(method, `/scim/v2${path}`, token, body, headers)
/** The resource of a reply with a status. */
const resource = async (response: Response, status = 200) => {
  const text = await response.text()
  expect(response.status, text).toBe(status)
  expect(response.headers.get("content-type")).toContain("application/scim+json")
  return decodeResource(JSON.parse(text))
}
const problem = async (response: Response) => {
  const body = decodeJson(await response.json())
  expect(body["schemas"]).toEqual(["urn:ietf:params:scim:api:messages:2.0:Error"])
  return { status: Number(body["status"]), scimType: body["scimType"] }
}
const person = async (name: string, more: object = {}) =>
  resource(await scim("POST", "/Users", { userName: at(name), ...more }), 201)
const group = async (displayName: string, more: object = {}) =>
  resource(await scim("POST", "/Groups", { displayName, ...more }), 201)
const patch = (path: string, ...Operations: ReadonlyArray<object>) => scim("PATCH", path, { Operations })
const roleOf = async (id: string) => {
  const [row] = await Effect.runPromise(
    gateway().sql<{ role: string }>`select document ->> 'role' as role from tenants where kind = 'user' and id = ${id}`,
  )
  return row?.role
}

beforeAll(async () => {
  expect((await admin("POST", "teams", { id: `lab_${tag}`, org: ids.org, members: [] })).status).toBe(200)
  token = await enabled(ids.org)
})

const Recording = Schema.fromJsonString(
  Schema.Struct({
    source: Schema.String,
    steps: Schema.Array(
      Schema.Struct({
        does: Schema.String,
        method: Schema.String,
        path: Schema.String,
        body: Schema.optionalKey(Schema.Json),
        status: Schema.Int,
        reply: Schema.optionalKey(Schema.JsonObject),
        save: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
      }),
    ),
  }),
)

describe.each(["entra", "okta"])("the requests that %s is documented to send", (name) => {
  const file = new URL(`../fixtures/scim/${name}.json`, import.meta.url)
  const { steps } = Schema.decodeUnknownSync(Recording)(readFileSync(file, "utf8"))
  const saved = new Map<string, string>([])
  const filled = (value: string) =>
    value.replaceAll("%TAG%", tag).replaceAll(/\{\{(\w+)\}\}/g, (_, key: string) => saved.get(key) ?? "")

  it.each(steps)("$does", async ({ method, path, body, status, reply, save = {} }) => {
    const sent: unknown = body === undefined ? undefined : JSON.parse(filled(JSON.stringify(body)))
    const response = await scim(method, filled(path).replaceAll(" ", "%20").replaceAll('"', "%22"), sent)
    const text = await response.text()
    expect(response.status, text).toBe(status)
    if (status === 204) return
    const answer = decodeJson(JSON.parse(text))
    if (reply !== undefined) expect(answer).toMatchObject(JSON.parse(filled(JSON.stringify(reply))))
    for (const [key, member] of Object.entries(save)) saved.set(key, String(answer[member]))
  })
})

describe("the token of a directory", () => {
  it("is made by owners and admins, replaces the former one, and ends", async () => {
    const eve = (await gateway().logIn(at("eve"))).accessToken
    const state = async () => decodeState(await (await call("GET", "/v1/scim", eve)).json())
    expect(await state()).toEqual({ enabled: false })
    const first = decodeToken(await (await call("POST", "/v1/scim", eve)).json())
    expect(first.url).toBe(`${gateway().baseUrl}/scim/v2`)
    const second = decodeToken(await (await call("POST", "/v1/scim", eve)).json()).token
    expect((await call("GET", "/scim/v2/Users", first.token)).status).toBe(401)
    expect((await call("GET", "/scim/v2/Users", second)).status).toBe(200)
    const used = await state()
    expect(used.enabled && used.lastUsedAt).toBeTruthy()
    expect((await call("DELETE", "/v1/scim", eve)).status).toBe(204)
    expect((await call("GET", "/scim/v2/Users", second)).status).toBe(401)
    expect((await errorOf(await call("DELETE", "/v1/scim", eve))).code).toBe("not_found")
  })

  it("is not for members", async () => {
    const cy = (await gateway().logIn(at("cy"))).accessToken
    for (const method of ["GET", "POST", "DELETE"]) {
      expect((await errorOf(await call(method, "/v1/scim", cy))).code).toBe("forbidden")
    }
  })

  it("of an admin does not change owners", async () => {
    const bo = (await gateway().logIn(at("bo"))).accessToken
    const weak = decodeToken(await (await call("POST", "/v1/scim", bo)).json()).token
    try {
      const asOwner = { userName: at("usurper"), roles: [{ value: "owner" }] }
      expect((await call("POST", "/scim/v2/Users", weak, asOwner)).status).toBe(403)
      expect((await call("DELETE", `/scim/v2/Users/ada_${tag}`, weak)).status).toBe(403)
      const off = { Operations: [{ op: "replace", path: "active", value: false }] }
      expect((await call("PATCH", `/scim/v2/Users/ada_${tag}`, weak, off)).status).toBe(403)
      const owners = { displayName: "Owners", members: [{ value: `bo_${tag}` }] }
      expect((await call("POST", "/scim/v2/Groups", weak, owners)).status).toBe(403)
    } finally {
      token = await enabled(ids.org)
    }
  })

  it("sees nothing of another organisation", async () => {
    const foreign = await enabled(other.org)
    const mine = await person("mine")
    const team = await group(`Mine ${tag}`)
    expect((await call("GET", `/scim/v2/Users/${mine.id}`, foreign)).status).toBe(404)
    expect((await call("DELETE", `/scim/v2/Users/${mine.id}`, foreign)).status).toBe(404)
    expect((await call("GET", `/scim/v2/Groups/${team.id}`, foreign)).status).toBe(404)
    const list = decodeJson(await (await call("GET", "/scim/v2/Users", foreign)).json())
    expect(list["totalResults"]).toBe(1)
    const adding = { displayName: "Theirs", members: [{ value: mine.id }] }
    expect(await problem(await call("POST", "/scim/v2/Groups", foreign, adding))).toEqual({
      status: 400,
      scimType: "invalidValue",
    })
  })
})

describe("a person who is deactivated", () => {
  const works = async (secret: string) => (await call("GET", "/v1/me", secret)).status === 200

  it("loses tokens and sessions within two seconds, and may log in again when active", async () => {
    const { id } = await person("dora")
    const login = (await gateway().logIn(at("dora"))).accessToken
    const made = await call("POST", "/v1/tokens", login, { name: "ci", scopes: ["control"] })
    const { secret } = Schema.decodeUnknownSync(Schema.Struct({ secret: Schema.String }))(await made.json())
    expect(await works(login)).toBe(true)
    expect(await works(secret)).toBe(true)
    await resource(await patch(`/Users/${id}`, { op: "Replace", path: "active", value: "False" }))
    const startedAt = Date.now()
    await eventually(async () => !(await works(login)) && !(await works(secret)))
    expect(Date.now() - startedAt).toBeLessThan(2500)
    await resource(await patch(`/Users/${id}`, { op: "Replace", path: "active", value: true }))
    expect(await works(secret)).toBe(false)
    expect(await works((await gateway().logIn(at("dora"))).accessToken)).toBe(true)
  })

  it("keeps what they are in another organisation", async () => {
    const { id } = await person("both")
    expect((await admin("POST", "members", { org: other.org, email: at("both"), role: "member" })).status).toBe(200)
    const login = (await gateway().logIn(at("both"))).accessToken
    expect((await scim("DELETE", `/Users/${id}`)).status).toBe(204)
    const me = decodeJson(await (await call("GET", "/v1/me", login)).json())
    expect(me["orgs"]).toMatchObject([{ id: other.org }])
  })

  it("is not the last owner", async () => {
    const off = { op: "replace", path: "active", value: false }
    expect((await problem(await patch(`/Users/ada_${tag}`, off))).status).toBe(409)
  })
})

describe("a person of the directory", () => {
  it("is a member at once if the domain is proven, and is invited otherwise", async () => {
    const isInvited = async (id: string) => {
      const [row] = await Effect.runPromise(
        gateway().sql<{ is: boolean }>`select is_invited as is from tenants where kind = 'user' and id = ${id}`,
      )
      return row?.is
    }
    expect(await isInvited((await person("proven")).id)).toBe(false)
    const foreign = { userName: `foreign.${tag}@elsewhere.example.org` }
    const made = await resource(await scim("POST", "/Users", foreign), 201)
    expect(await isInvited(made.id)).toBe(true)
    expect(made).toMatchObject({ active: true })
  })

  it("takes another address with the same id", async () => {
    const { id } = await person("before")
    await person("occupied")
    const rename = (name: string) => patch(`/Users/${id}`, { op: "replace", path: "userName", value: at(name) })
    expect(await problem(await rename("occupied"))).toEqual({ status: 409, scimType: "uniqueness" })
    expect(await resource(await rename("After"))).toMatchObject({ id, userName: at("After") })
    expect((await gateway().logIn(at("after"))).account.id).toBe(id)
  })

  it("needs an address", async () => {
    for (const userName of ["nobody", "", undefined]) {
      expect(await problem(await scim("POST", "/Users", { userName }))).toEqual({
        status: 400,
        scimType: "invalidValue",
      })
    }
  })

  it("who was there before keeps the role until the directory names one", async () => {
    const path = `/Users/bo_${tag}`
    await resource(await patch(path, { op: "replace", path: "displayName", value: "Bo" }))
    expect(await roleOf(`bo_${tag}`)).toBe("admin")
    const { id } = await person("rising", { roles: [{ value: "ADMIN", type: "app" }] })
    expect(await roleOf(id)).toBe("admin")
    const after = await resource(await patch(`/Users/${id}`, { op: "remove", path: "roles" }))
    expect(after).not.toHaveProperty("roles")
    expect(await roleOf(id)).toBe("member")
  })

  it("is changed only in the version that If-Match names", async () => {
    const made = await person("versioned")
    const read = await scim("GET", `/Users/${made.id}`)
    const etag = read.headers.get("etag") ?? ""
    expect(etag).toMatch(/^W\/"/)
    expect((await scim("GET", `/Users/${made.id}`, undefined, { "if-none-match": etag })).status).toBe(304)
    const change = (title: string) => ({ Operations: [{ op: "add", path: "title", value: title }] })
    const first = await scim("PATCH", `/Users/${made.id}`, change("One"), { "if-match": etag })
    expect(first.headers.get("etag")).not.toBe(etag)
    await resource(first)
    expect((await scim("PATCH", `/Users/${made.id}`, change("Two"), { "if-match": etag })).status).toBe(412)
    expect((await scim("DELETE", `/Users/${made.id}`, undefined, { "if-match": etag })).status).toBe(412)
    expect((await scim("GET", `/Users/${made.id}`, undefined, { "if-none-match": etag })).status).toBe(200)
  })
})

describe("a group of the directory", () => {
  it("is not stored if a role that it gives is refused", async () => {
    const { id } = await person("chief")
    expect((await admin("PATCH", `members/${id}`, { role: "owner" })).status).toBe(200)
    const bo = (await gateway().logIn(at("bo"))).accessToken
    const weak = decodeToken(await (await call("POST", "/v1/scim", bo)).json()).token
    try {
      const admins = { displayName: "Admins", members: [{ value: id }] }
      expect((await call("POST", "/scim/v2/Groups", weak, admins)).status).toBe(403)
      const empty = { displayName: "Admins", members: [] }
      const made = await resource(await call("POST", "/scim/v2/Groups", weak, empty), 201)
      const add = { Operations: [{ op: "add", path: "members", value: [{ value: id }] }] }
      for (const _ of ["first", "again"]) {
        expect((await call("PATCH", `/scim/v2/Groups/${made.id}`, weak, add)).status).toBe(403)
        const now = await resource(await call("GET", `/scim/v2/Groups/${made.id}`, weak))
        expect(now["members"] ?? []).toEqual([])
      }
      expect((await call("DELETE", `/scim/v2/Groups/${made.id}`, weak)).status).toBe(204)
    } finally {
      token = await enabled(ids.org)
    }
    expect(await roleOf(id)).toBe("owner")
  })

  it("gives the role that the provider's mapping gives it", async () => {
    const one = await person("one")
    const two = await person("two", { roles: [{ value: "admin" }] })
    const admins = await group("Admins", { members: [{ value: one.id }, { value: two.id }] })
    expect([await roleOf(one.id), await roleOf(two.id)]).toEqual(["admin", "admin"])
    expect(await resource(await scim("GET", `/Users/${one.id}`))).toMatchObject({ groups: [{ value: admins.id }] })
    await resource(await patch(`/Groups/${admins.id}`, { op: "remove", path: `members[value eq "${one.id}"]` }))
    expect(await roleOf(one.id)).toBe("member")
    expect((await scim("DELETE", `/Groups/${admins.id}`)).status).toBe(204)
    // The directory says so of the person, too.
    expect(await roleOf(two.id)).toBe("admin")
  })

  it("is the team that the mapping names, which stays when the group is deleted", async () => {
    const { id } = await person("labbed")
    const lab = await group("Lab", { members: [{ value: id }] })
    expect(lab).toMatchObject({ id: `lab_${tag}`, displayName: "Lab" })
    expect((await scim("DELETE", `/Groups/${lab.id}`)).status).toBe(204)
    const team = decodeJson(await (await admin("GET", `teams/lab_${tag}`)).json())
    expect(team).toMatchObject({ members: [], status: "active" })
  })

  it("may have tens of thousands of members", async () => {
    const [team, prefix, count] = [`crowd_${tag}`, `mem_${tag}_`, 30_000]
    await Effect.runPromise(gateway().sql`
      insert into tenants (kind, id, org_id, document, is_declared)
      select 'user', ${prefix} || n, ${other.org}, jsonb_build_object('id', ${prefix} || n, 'org', ${other.org}::text,
        'email', n || ${`.crowd@${domain}`}, 'role', 'member'), false
      from generate_series(1, ${count}::int) n`)
    await Effect.runPromise(gateway().sql`
      insert into tenants (kind, id, org_id, document, is_declared)
      select 'team', ${team}, ${other.org}, jsonb_build_object('id', ${team}::text, 'org', ${other.org}::text,
        'members', jsonb_agg(${prefix} || n)), false
      from generate_series(2, ${count}::int) n`)
    const foreign = await enabled(other.org)
    const change = async (op: object) =>
      (await call("PATCH", `/scim/v2/Groups/${team}`, foreign, { Operations: [op] })).status
    expect(await change({ op: "add", path: "members", value: [{ value: `${prefix}1` }] })).toBe(204)
    expect(await change({ op: "remove", path: `members[value eq "${prefix}2"]` })).toBe(204)
    const [row] = await Effect.runPromise(
      gateway().sql<{ members: ReadonlyArray<string> }>`
        select document -> 'members' as members from tenants where kind = 'team' and id = ${team}`,
    )
    expect(row?.members.length).toBe(count - 1)
    expect(row?.members).toContain(`${prefix}1`)
    expect(row?.members).not.toContain(`${prefix}2`)
  })

  it("has a name of its own", async () => {
    await group(`Unique ${tag}`)
    expect(await problem(await scim("POST", "/Groups", { displayName: `unique ${tag}` }))).toEqual({
      status: 409,
      scimType: "uniqueness",
    })
  })
})

describe("a list", () => {
  it("has pages, filters, and only the attributes that are asked for", async () => {
    const made = await Promise.all(["p1", "p2", "p3"].map((name) => person(`page.${name}`, { title: `Pager ${tag}` })))
    const filter = encodeURIComponent(`title eq "pager ${tag}" and not (userName co "page.p2")`)
    const list = async (query: string) => decodeJson(await (await scim("GET", `/Users?${query}`)).json())
    const found = await list(`filter=${filter}&attributes=userName,name.givenName`)
    expect(found["totalResults"]).toBe(2)
    for (const each of Schema.decodeUnknownSync(Schema.Array(Schema.JsonObject))(found["Resources"])) {
      expect(Object.keys(each).sort()).toEqual(["id", "schemas", "userName"])
    }
    const second = await list(
      `filter=${encodeURIComponent(`title pr and title eq "Pager ${tag}"`)}&startIndex=2&count=1`,
    )
    expect(second).toMatchObject({ totalResults: 3, startIndex: 2, itemsPerPage: 1 })
    expect(await list("count=0")).toMatchObject({ itemsPerPage: 0, Resources: [] })
    const searched = await scim("POST", "/Users/.search", { filter: `id eq "${made[0]?.id}"`, count: 5 })
    expect(decodeJson(await searched.json())).toMatchObject({ totalResults: 1 })
    await group(`Page ${tag}`)
    const all = `id eq "${made[1]?.id}" or displayName eq "Page ${tag}"`
    const both = await scim("POST", "/.search", { filter: all, startIndex: 2 })
    expect(decodeJson(await both.json())).toMatchObject({
      totalResults: 2,
      Resources: [{ displayName: `Page ${tag}` }],
    })
    expect(await problem(await scim("GET", `/Users?filter=${encodeURIComponent("userName eq")}`))).toEqual({
      status: 400,
      scimType: "invalidFilter",
    })
    expect(await problem(await scim("GET", `/Users?filter=${"a".repeat(2001)}`))).toMatchObject({ status: 400 })
  })
})

describe("the routes", () => {
  it("describe themselves", async () => {
    expect(decodeJson(await (await scim("GET", "/ServiceProviderConfig")).json())).toMatchObject({
      patch: { supported: true },
      bulk: { supported: false },
      filter: { supported: true, maxResults: 200 },
    })
    expect(await resource(await scim("GET", "/ResourceTypes/User"))).toMatchObject({ endpoint: "/Users" })
    const schema = "/Schemas/urn:ietf:params:scim:schemas:core:2.0:User"
    expect(await resource(await scim("GET", schema))).toMatchObject({ name: "User" })
  })

  it.each([
    ["GET", "/Me", 501],
    ["POST", "/Bulk", 501],
    ["GET", "/Devices", 404],
    ["POST", "/Schemas", 405],
    ["PUT", "/Users", 405],
    ["GET", "/Users/nobody", 404],
  ])("answer %s %s with %i in SCIM's form", async (method, path, status) => {
    expect((await problem(await scim(method, path))).status).toBe(status)
  })

  it("refuse texts that no store can hold", async () => {
    for (const text of ["\\u0000", "\\ud800"]) {
      const filter = encodeURIComponent(`userName eq "${text}" or externalId eq "${text}"`)
      expect((await problem(await scim("GET", `/Users?filter=${filter}`))).scimType).toBe("invalidFilter")
    }
    expect((await problem(await scim("GET", "/Users/a%00b"))).status).toBe(404)
    expect((await problem(await scim("POST", "/Groups", { displayName: "a\u0000" }))).status).toBe(400)
  })

  it("refuse requests without a token, and bodies that are too large", async () => {
    const anonymous = await gateway().call("GET", "/scim/v2/Users", undefined, {
      "x-svc-key-id": undefined,
      "x-svc-key": undefined,
    })
    expect(anonymous.headers.get("www-authenticate")).toBe("Bearer")
    expect((await problem(anonymous)).status).toBe(401)
    const large = await scim("POST", "/Users", { userName: at("large"), title: "x".repeat(1024 * 1024) })
    expect((await problem(large)).status).toBe(413)
  })
})
