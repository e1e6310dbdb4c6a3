/**
 * Logging in at a provider that has no e-mail claim, that is trusted for its own domains, and that says who is in which group:
 * as Entra ID does, with a real provider, and without mail.
 */
import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest"
import { TenantBatchReply } from "../../src/protocol/control/tenants.ts"
import { newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { Browser } from "../support/browser.ts"
import { errorOf, useGateway } from "../support/gateway.ts"
import { clientId, startHostileOidc, startOidc } from "../support/oidc.ts"

const callbacks: Array<string> = []
const oidc = await startOidc(() => callbacks)
const hostile = await startHostileOidc()
afterAll(() => Promise.all([oidc.stop(), hostile.stop()]))

const tag = randomUUID().slice(0, 8)
const domain = `${tag}.example.com`
const ids = newTestIds()
const [byMail, rival, guests] = [`mail_${tag}`, `rival_${tag}`, `guests_${tag}`]
const at = (name: string) => `${name}@${domain}`

const ref = 'clientSecret: "env:WEIR_TEST_VENDOR"'
const sso = (issuer: string, more: string) => `sso: { issuer: "${issuer}", clientId: ${clientId}, ${ref}, ${more} }`
const entra = `emailClaim: preferred_username, trustDomains: [${domain}], groupsClaim: groups`

const catalogue = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(urls, ids, `users:\n  - { id: rita_${tag}, email: ${at("rita")}, org: ${rival}, role: owner }`)
    .replace(
      "currency: USD, models: [main, claude",
      `currency: USD, ${sso(oidc.issuer, `${entra}, createPeople: true, groups: { "g-admins": admin, "g-owners": owner, "g-lab": lab_${tag} }`)}, models: [main, claude`,
    )
    .replace(
      "apps:\n",
      [
        `  - { id: ${byMail}, name: M, currency: USD, models: [main], ${sso(oidc.issuer, `emailClaim: preferred_username, domains: [${domain}]`)} }`,
        `  - { id: ${guests}, name: G, currency: USD, models: [main], ${sso(oidc.issuer, entra)} }`,
        `  - { id: ${rival}, name: R, currency: USD, models: [main], ${sso(hostile.issuer, `trustDomains: [rival.${domain}]`)} }`,
        "apps:\n",
      ].join("\n"),
    )

const logged: Array<string> = []
vi.spyOn(console, "log").mockImplementation((line: unknown) => void logged.push(String(line)))
const gateway = useGateway({
  ids,
  catalogue,
  config: {
    env: "test",
    logLevel: "Warn",
    logFormat: "json",
    authPerMinute: 1_000_000,
    egressAllow: ["127.0.0.0/8", "::1/128"],
  },
})
beforeEach(() => {
  if (callbacks.length === 0) callbacks.push(`${gateway().baseUrl}/v1/auth/sso/callback`)
})

const isLocal = ({ hostname }: URL) => hostname === "localhost" || hostname === "127.0.0.1"

interface Subject {
  readonly name: string
  readonly username?: string
  readonly groups?: ReadonlyArray<string>
  readonly more?: Readonly<Record<string, unknown>>
}

/** Logs in on Weir's own pages. */
const logIn = async ({ name, username = at(name), groups, more = {} }: Subject, org: string = ids.org) => {
  const oid = randomUUID()
  oidc.claims.set(name, { oid, preferred_username: username, ...(groups && { groups }), ...more })
  const browser = new Browser(isLocal)
  await browser.visit(`${gateway().baseUrl}/v1/auth/sso/start?org=${org}`)
  return oidc.logIn(browser, name)
}
const memberOf = async (name: string, org: string = ids.org) => {
  const [row] = await Effect.runPromise(gateway().sql<{ id: string; role: string; teams: ReadonlyArray<string> }>`
    select u.id, u.document ->> 'role' as role,
      array(select t.id from tenants t where t.kind = 'team' and t.document -> 'members' ? u.id) as teams
    from tenants u where u.kind = 'user' and u.org_id = ${org} and u.label = ${at(name)} and u.status = 'active'`)
  return row
}
/** Makes one change; returns its status. */
const tenant = async (op: object): Promise<unknown> => {
  const reply = await gateway().call(
    "POST",
    "/v1/admin/tenants:batch",
    { items: [op] },
    { "x-svc-admin-key": gateway().adminKey },
  )
  const { data } = decodeBatch(await reply.json())
  return data[0]?.status
}
const decodeBatch = Schema.decodeUnknownSync(TenantBatchReply)

/** Logs in at the provider that lies about a person. */
const throughLiar = async (org: string, email: string) => {
  hostile.spoil({ claims: { email, sub: randomUUID() } })
  const browser = new Browser(isLocal)
  const started = await browser.request(new URL(`${gateway().baseUrl}/v1/auth/sso/start?org=${org}`))
  const answered = await fetch(started.headers.get("location") ?? "", { redirect: "manual" })
  return browser.request(new URL(answered.headers.get("location") ?? ""), { headers: { accept: "*/*" } })
}

describe("a provider that is trusted for its domains", () => {
  it("logs a person in without mail, makes them a member at the first login, and the address is the claim's", async () => {
    const shown = await logIn({ name: "ada", username: at("Ada") })
    expect([shown.status, shown.url.pathname]).toEqual([200, "/login"])
    expect(shown.html).toContain(at("ada"))
    expect(await memberOf("ada")).toMatchObject({ role: "member", teams: [] })
  })

  it("does not accept an invitation for a person: they confirm it with a mailed code, which needs mail", async () => {
    const { secret } = await Effect.runPromise(
      gateway().accessTokens.issue({ kind: "pat", orgId: ids.org, scopes: ["control"] }),
    )
    const authorization = `Bearer ${secret}`
    const asOrg = { "x-svc-key-id": undefined, "x-svc-key": undefined, authorization }
    const invited = await gateway().call("POST", "/v1/members", { email: at("ina"), role: "member" }, asOrg)
    expect(invited.status).toBe(200)
    expect((await logIn({ name: "ina" })).status).toBe(503)
    const members = await Effect.runPromise(gateway().sql`select from members where email = ${at("ina")}`)
    expect(members).toEqual([])
  })

  it("gives the role and the teams that groups say, at each login; the highest role counts", async () => {
    const made = await tenant({ op: "create", kind: "team", value: { id: `lab_${tag}`, org: ids.org, members: [] } })
    expect(made).toBe(200)
    await logIn({ name: "bo", groups: ["g-admins", "g-owners", "g-lab", "g-else"] })
    expect(await memberOf("bo")).toMatchObject({ role: "owner", teams: [`lab_${tag}`] })
    await logIn({ name: "cy", groups: ["g-admins"] })
    expect(await memberOf("cy")).toMatchObject({ role: "admin", teams: [] })
    await logIn({ name: "cy", groups: ["g-lab"] })
    expect(await memberOf("cy")).toMatchObject({ role: "member", teams: [`lab_${tag}`] })
    await logIn({ name: "cy", groups: [] })
    expect(await memberOf("cy")).toMatchObject({ role: "member", teams: [] })
  })

  it("changes nothing where the provider leaves out groups because there are too many; the last owner stays one", async () => {
    await logIn({ name: "bo", more: { hasgroups: true } })
    expect(await memberOf("bo")).toMatchObject({ role: "owner", teams: [`lab_${tag}`] })
    await logIn({ name: "bo", groups: [] })
    expect(await memberOf("bo")).toMatchObject({ role: "owner", teams: [] })
  })

  it.each<[string, Subject]>([
    ["an address of another domain", { name: "eve", username: "eve@elsewhere.example" }],
    ["an address below its domain", { name: "eve2", username: `eve@sub.${domain}` }],
    ["another organisation's domain", { name: "rita", username: `rita@rival.${domain}` }],
    ["no address", { name: "nil", username: "" }],
    ["a guest's name", { name: "gus", username: `gus_elsewhere.example#EXT#@${tag}.onmicrosoft.com` }],
  ])("does not log in %s; the refusal is logged without it", async (_what, subject) => {
    logged.length = 0
    const shown = await logIn(subject)
    expect([shown.status, shown.html]).toEqual([403, expect.stringContaining("idp_untrusted")])
    const lines = logged.filter((line) => line.includes("A login at an identity provider was refused"))
    expect(lines).toEqual([expect.stringContaining(`"org":"${ids.org}"`)])
    expect(lines.join()).toMatch(/"reason":"The identity provider (is not allowed to assert|returned no)/)
    expect(logged.join()).not.toContain(subject.name === "nil" ? "nobody" : (subject.username ?? subject.name))
  })

  it("is not believed where it says itself that the address is not verified: then a code is mailed", async () => {
    const shown = await logIn({ name: "hal", more: { email_verified: false } })
    expect([shown.status, shown.html]).toEqual([403, expect.stringContaining("forbidden")])
    expect(await memberOf("hal")).toBeUndefined()
  })

  it("makes no member where that is not asked for, nor of somebody who was disabled or has left", async () => {
    expect((await logIn({ name: "ida" }, guests)).status).toBe(403)
    expect(await memberOf("ida", guests)).toBeUndefined()
    await logIn({ name: "jo" })
    const id = (await memberOf("jo"))?.id ?? ""
    expect(await tenant({ op: "update", kind: "user", id, value: { status: "disabled" } })).toBe(200)
    expect((await logIn({ name: "jo" })).status).toBe(403)
    expect(await tenant({ op: "delete", kind: "user", id })).toBe(200)
    expect((await logIn({ name: "jo" })).status).toBe(403)
    expect(await memberOf("jo")).toBeUndefined()
  })

  it("logs in nobody of a domain that another organisation's provider has", async () => {
    const email = at("zoe")
    expect(await errorOf(await throughLiar(rival, email))).toMatchObject({ status: 403, code: "idp_untrusted" })
    const provider = { issuer: hostile.issuer, clientId, clientSecret: "env:WEIR_TEST_VENDOR" }
    const thief = { id: `thief_${tag}`, name: "T", currency: "USD", models: ["main"] }
    const trusting = { ...provider, trustDomains: [domain], createPeople: true }
    expect(await tenant({ op: "create", kind: "org", value: { ...thief, sso: trusting } })).toBe(200)
    expect(await errorOf(await throughLiar(thief.id, email))).toMatchObject({ status: 403, code: "forbidden" })
    expect(await memberOf("zoe", thief.id)).toBeUndefined()
    expect(await tenant({ op: "delete", kind: "org", id: thief.id })).toBe(200)
    expect((await throughLiar(rival, `zoe@rival.${domain}`)).status).toBe(403)
    expect((await logIn({ name: "zoe" })).status).toBe(200)
  })

  it("without trust the claim's address needs a mailed code", async () => {
    const user = { org: byMail, email: at("kay"), role: "member" }
    expect(await tenant({ op: "create", kind: "user", value: user })).toBe(200)
    const shown = await logIn({ name: "kay" }, byMail)
    expect([shown.status, shown.html]).toEqual([503, expect.stringContaining("auth_channel_undelivered")])
  })
})
