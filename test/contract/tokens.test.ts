/** Personal access tokens and an organisation's own. */
import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { AccessTokenList, AccessTokenMinted } from "../../src/protocol/control/access-token.ts"
import { Me } from "../../src/protocol/control/login.ts"
import { answering, hello, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"

const tag = randomUUID().slice(0, 8)
const ids = newTestIds()
const other = newTestIds()
const at = (name: string) => `${name}.${tag}@example.com`
const people = (boRole = "admin") =>
  [
    "users:",
    `  - { id: ada_${tag}, email: ${at("ada")}, org: ${ids.org}, role: owner }`,
    `  - { id: bo_${tag}, email: ${at("bo")}, org: ${ids.org}, role: ${boRole} }`,
    `  - { id: cy_${tag}, email: ${at("cy")}, org: ${ids.org}, role: member }`,
    `  - { id: di_${tag}, email: ${at("di")}, org: ${ids.org}, role: member }`,
    `  - { id: di2_${tag}, email: ${at("di")}, org: ${other.org}, role: owner }`,
    `  - { id: eve_${tag}, email: ${at("eve")}, org: ${other.org}, role: owner }`,
  ].join("\n")
const catalogueWith = (users: string) => (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(urls, ids, users).replace(
    "apps:\n",
    `  - { id: ${other.org}, name: Other, plan: team, currency: USD, models: [main] }\napps:\n`,
  )

const gateway = useGateway({ backgroundSpeed: 10, ids, catalogue: catalogueWith(people()) })

const call = (method: string, path: string, token: string, body?: unknown) =>
  gateway().call(method, path, body, {
    "x-svc-key-id": undefined,
    "x-svc-key": undefined,
    authorization: `Bearer ${token}`,
  })
const decodeMinted = Schema.decodeUnknownSync(AccessTokenMinted, { onExcessProperty: "error" })
const decodeList = Schema.decodeUnknownSync(AccessTokenList, { onExcessProperty: "error" })
const decodeMe = Schema.decodeUnknownSync(Me, { onExcessProperty: "error" })

const logIn = async (name: string) => (await gateway().logIn(at(name))).accessToken
const mint = (token: string, more: object = {}) =>
  call("POST", "/v1/tokens", token, { name: "ci", scopes: ["control"], ...more })
const minted = async (token: string, more: object = {}) => decodeMinted(await (await mint(token, more)).json())
const listed = async (token: string) => decodeList(await (await call("GET", "/v1/tokens", token)).json()).data
const works = async (secret: string) => (await call("GET", "/v1/me", secret)).status === 200

describe("a person's token", () => {
  it("acts for its owner, in its organisation, with the current role", async () => {
    const { secret, owner } = await minted(await logIn("ada"))
    expect(owner).toBe("person")
    expect(secret).toMatch(/^pat_/)
    expect(decodeMe(await (await call("GET", "/v1/me", secret)).json())).toEqual({
      user: { id: `ada_${tag}`, email: at("ada") },
      orgs: [{ id: ids.org, name: "Test", role: "owner", teams: [] }],
    })
  })

  it("acts in the organisation that it is for, not in others of its owner", async () => {
    const authorization = `Bearer ${await logIn("di")}`
    const headers = { "x-svc-key-id": undefined, "x-svc-key": undefined, authorization, "x-svc-org": ids.org }
    const reply = await gateway().call("POST", "/v1/tokens", { name: "ci", scopes: ["control"] }, headers)
    const { secret } = decodeMinted(await reply.json())
    const { orgs } = decodeMe(await (await call("GET", "/v1/me", secret)).json())
    expect(orgs.map(({ id }) => id)).toEqual([ids.org])
    const elsewhere = { ...headers, authorization: `Bearer ${secret}`, "x-svc-org": other.org }
    expect(await errorOf(await gateway().call("GET", "/v1/tokens", undefined, elsewhere))).toMatchObject({
      status: 404,
    })
  })

  it("stops working with its owner's account, on all routes", async () => {
    const token = await logIn("cy")
    const { secret } = await minted(token)
    const runtime = await minted(token, { scopes: ["runtime"] })
    const setStatus = (status: string) =>
      Effect.runPromise(gateway().sql.unsafe(`update users set status = '${status}' where id = 'cy_${tag}'`))
    await setStatus("disabled")
    await eventually(async () => !(await works(secret)))
    expect(await errorOf(await call("GET", "/v1/me", secret))).toMatchObject({ status: 401, code: "unauthorized" })
    const exchanged = await call("POST", "/t1/exchange", runtime.secret, hello)
    expect(await errorOf(exchanged)).toMatchObject({ status: 401, code: "unauthorized" })
    await setStatus("active")
    await eventually(() => works(secret))
  })

  it("with the scope runtime it exchanges; without control it opens no control route, and the other way round", async () => {
    gateway().vendor.script(answering({ words: ["x"], inTokens: 1, outTokens: 1 }))
    const { secret } = await minted(await logIn("cy"), { scopes: ["runtime"] })
    expect((await call("POST", "/t1/exchange", secret, hello)).status).toBe(200)
    expect(await errorOf(await call("GET", "/v1/me", secret))).toMatchObject({
      status: 403,
      code: "forbidden",
      detail: { scope: "control" },
    })
    const control = await minted(await logIn("cy"), { scopes: ["control"] })
    expect(await errorOf(await call("POST", "/t1/exchange", control.secret, hello))).toMatchObject({
      code: "forbidden",
    })
  })

  it("is returned once, and stored as a hash", async () => {
    const { id, secret } = await minted(await logIn("ada"))
    expect(JSON.stringify(await listed(await logIn("ada")))).not.toContain(secret.slice(4, 20))
    const [row] = await Effect.runPromise(
      gateway().sql<{ row: string }>`select t::text as row from access_tokens t where id = ${id}`,
    )
    expect(row?.row).not.toContain(secret.slice(4, 20))
  })

  it("ends when it is revoked; revoking it again is no error", async () => {
    const { id, secret } = await minted(await logIn("cy"))
    expect(await works(secret)).toBe(true)
    for (const _again of [1, 2]) {
      expect((await call("DELETE", `/v1/tokens/${id}`, await logIn("cy"))).status).toBe(204)
    }
    await eventually(async () => !(await works(secret)))
    expect((await listed(await logIn("cy"))).map((token) => token.id)).not.toContain(id)
  })

  it("ends when it expires", async () => {
    const { id, secret, expiresAt } = await minted(await logIn("ada"), { expiresInDays: 1 })
    expect(Math.round((Date.parse(expiresAt ?? "") - Date.now()) / 3_600_000)).toBe(24)
    await Effect.runPromise(gateway().sql`update access_tokens set expires_at = now() where id = ${id}`)
    expect(await errorOf(await call("GET", "/v1/me", secret))).toMatchObject({ status: 401, code: "token_expired" })
  })

  it("ends with the membership: on control routes and on runtime routes", async () => {
    const { secret } = await minted(await logIn("bo"), { scopes: ["control", "runtime"] })
    const urls = { vendor: gateway().vendor.url, second: gateway().second.url }
    const without = people()
      .split("\n")
      .filter((line) => !line.includes("bo_"))
    await Effect.runPromise(gateway().catalogue.apply(catalogueWith(without.join("\n"))(urls), { prune: true }))
    expect(await errorOf(await call("GET", "/v1/search-providers", secret))).toMatchObject({ code: "not_found" })
    expect(await errorOf(await call("POST", "/t1/exchange", secret, hello))).toMatchObject({ code: "unauthorized" })
    await Effect.runPromise(gateway().catalogue.apply(catalogueWith(people("member"))(urls), { prune: true }))
    expect(decodeMe(await (await call("GET", "/v1/me", secret)).json()).orgs[0]?.role).toBe("member")
    await Effect.runPromise(gateway().catalogue.apply(catalogueWith(people())(urls)))
  })
})

describe("an organisation's own token", () => {
  it("acts for the organisation, also after its creator has left", async () => {
    const { id, secret, owner } = await minted(await logIn("bo"), { owner: "org" })
    expect(owner).toBe("org")
    const me = decodeMe(await (await call("GET", "/v1/me", secret)).json())
    expect(me).toEqual({ orgs: [{ id: ids.org, name: "Test", role: "admin", teams: [] }] })
    // Any owner or admin may revoke it.
    expect((await listed(await logIn("ada"))).map((token) => token.id)).toContain(id)
    expect((await call("DELETE", `/v1/tokens/${id}`, await logIn("ada"))).status).toBe(204)
  })

  it("has the role of whoever made it: an admin's makes no owners", async () => {
    const makeOwner = async (secret: string) =>
      (await call("POST", "/v1/members", secret, { email: at("new"), role: "owner" })).status
    const admins = await minted(await logIn("bo"), { owner: "org" })
    expect(await makeOwner(admins.secret)).toBe(403)
    const owners = await minted(await logIn("ada"), { owner: "org" })
    expect(decodeMe(await (await call("GET", "/v1/me", owners.secret)).json()).orgs[0]?.role).toBe("owner")
    expect(await makeOwner(owners.secret)).toBe(200)
  })
})

describe("permissions", () => {
  it("forbidden: a token makes no tokens, a member none of the organisation's", async () => {
    const { secret } = await minted(await logIn("ada"))
    expect(await errorOf(await mint(secret))).toMatchObject({ status: 403, code: "forbidden" })
    expect(await errorOf(await mint(await logIn("cy"), { owner: "org" }))).toMatchObject({ code: "forbidden" })
  })

  it("not_found, identically: another person's, another organisation's, a member's view of the organisation's, none", async () => {
    const adas = await minted(await logIn("ada"))
    const eves = await minted(await logIn("eve"), { owner: "org" })
    const orgs = await minted(await logIn("ada"), { owner: "org" })
    const refusals = []
    for (const [name, id] of [
      ["bo", adas.id],
      ["ada", eves.id],
      ["cy", orgs.id],
      ["cy", "tok_unheard"],
    ] as const) {
      refusals.push(await errorOf(await call("DELETE", `/v1/tokens/${id}`, await logIn(name))))
    }
    expect(refusals[0]).toMatchObject({ status: 404, code: "not_found" })
    expect(new Set(refusals.map((refusal) => JSON.stringify({ ...refusal, requestId: "" }))).size).toBe(1)
    for (const { secret } of [adas, eves, orgs]) expect(await works(secret)).toBe(true)
  })

  it("limit_exceeded: fifty active tokens, and not one more; revoking makes room", async () => {
    const eve = await logIn("eve")
    const first = await minted(eve)
    for (let count = 1; count < 50; count++) expect((await mint(eve)).status).toBe(200)
    expect(await errorOf(await mint(eve))).toMatchObject({ status: 400, code: "limit_exceeded", detail: { limit: 50 } })
    await call("DELETE", `/v1/tokens/${first.id}`, eve)
    expect((await mint(eve)).status).toBe(200)
  })

  it.each<[string, object]>([
    ["no name", { name: "" }],
    ["a name of 65 characters", { name: "n".repeat(65) }],
    ["no scopes", { scopes: [] }],
    ["an unknown scope", { scopes: ["admin"] }],
    ["no day", { expiresInDays: 0 }],
    ["367 days", { expiresInDays: 367 }],
    ["half a day", { expiresInDays: 0.5 }],
    ["a field too many", { orgId: "org_other" }],
  ])("bad_request: %s", async (_what, more) => {
    expect(await errorOf(await mint(await logIn("ada"), more))).toMatchObject({ status: 400, code: "bad_request" })
  })
})
