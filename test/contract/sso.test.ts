/**
 * Logging in at an organisation's identity provider: a real one, and a dishonest one. Each test names its rule:
 * "POST /v1/auth/sso/link/confirm", OpenID Connect Core 1.0 section 3.1.3.7, RFC 7636, RFC 9700.
 */
import { randomUUID } from "node:crypto"
import { Effect, Redacted, Schema } from "effect"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { DeviceCode } from "../../src/protocol/control/device.ts"
import { Me, TokenReply } from "../../src/protocol/control/login.ts"
import { SsoCode } from "../../src/protocol/control/sso.ts"
import { newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { Browser } from "../support/browser.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"
import { clientId, startHostileOidc, startOidc } from "../support/oidc.ts"
import { startSmtp } from "../support/smtp.ts"

const callbacks: Array<string> = []
const smtp = await startSmtp()
const oidc = await startOidc(() => callbacks)
const hostile = await startHostileOidc()
afterAll(() => Promise.all([smtp.stop(), oidc.stop(), hostile.stop()]))

const tag = randomUUID().slice(0, 8)
const at = (name: string) => `${name}.${tag}@example.com`
const ids = newTestIds()
const other = newTestIds()
const lying = newTestIds()
const names = ["ada", "bo", "cy", "di", "ed", "flo", "gus", "hal", "ivy", "jo", "kim", "leo", "mia"] as const
const backEnd = "https://portal.example.com/after-login"
const secretRef = "env:WEIR_TEST_VENDOR"

const sso = (issuer: string, more = "") =>
  `sso: { issuer: "${issuer}", clientId: ${clientId}, clientSecret: "${secretRef}", returnTo: ["${backEnd}"]${more} }`
const catalogueWith = (people: ReadonlyArray<string>) => (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(
    urls,
    ids,
    [
      "users:",
      ...people.map((name) => `  - { id: ${name}_${tag}, email: ${at(name)}, org: ${ids.org}, role: member }`),
      `  - { id: ada2_${tag}, email: ${at("ada")}, org: ${other.org}, role: owner }`,
      `  - { id: liar_${tag}, email: ada@example.com, org: ${lying.org}, role: member }`,
    ].join("\n"),
  )
    .replace("currency: USD, models: [main, claude", `currency: USD, ${sso(oidc.issuer)}, models: [main, claude`)
    .replace(
      "apps:\n",
      [
        `  - { id: ${other.org}, name: Other, plan: team, currency: USD, models: [main] }`,
        `  - { id: ${lying.org}, name: Lying, currency: USD, models: [main], ${sso(hostile.issuer, ", domains: [example.com]")} }`,
        `  - { id: inside_${tag}, name: In, currency: USD, models: [main], ${sso("https://10.0.0.1")} }`,
        `  - { id: away_${tag}, name: Away, currency: USD, models: [main], ${sso("https://localhost:9")} }`,
        "apps:\n",
      ].join("\n"),
    )

const gateway = useGateway({
  ids,
  catalogue: catalogueWith(names),
  config: {
    smtpUrl: Redacted.make(smtp.url),
    authPerMinute: 1_000_000,
    egressAllow: ["127.0.0.0/8", "::1/128"],
  },
})
beforeEach(() => {
  if (callbacks.length === 0) callbacks.push(`${gateway().baseUrl}/v1/auth/sso/callback`)
})

const registered = async (): Promise<string> => {
  const reply = await post("/oauth/register", { redirect_uris: ["http://127.0.0.1/back"] })
  return JSON.parse(await reply.text()).client_id
}
const nobody = { "x-svc-key-id": undefined, "x-svc-key": undefined }
const post = (path: string, body: unknown) => gateway().call("POST", path, body, nobody)
const confirm = (linkToken: string, code: string) => post("/v1/auth/sso/link/confirm", { linkToken, code })
const exchange = (code: string) => post("/v1/auth/sso/exchange", { code })
const run = (statement: string) => Effect.runPromise(gateway().sql.unsafe(statement))
/** Expires all pending logins of an organisation. */
const late = (table: "sso_flows" | "sso_links" | "login_codes", org = ids.org) =>
  run(`update ${table} set expires_at = now() - interval '1 second' where org_id = '${org}'`)
const decodeCode = Schema.decodeUnknownSync(SsoCode, { onExcessProperty: "error" })
const decodeTokens = Schema.decodeUnknownSync(TokenReply, { onExcessProperty: "error" })
const decodeDevice = Schema.decodeUnknownSync(DeviceCode, { onExcessProperty: "error" })
const decodeMe = Schema.decodeUnknownSync(Me)

const startUrl = (query: Record<string, string>) =>
  `${gateway().baseUrl}/v1/auth/sso/start?${new URLSearchParams(query)}`
const toBackEnd = (more: Record<string, string> = {}) => startUrl({ org: ids.org, returnTo: backEnd, ...more })
const isLocal = ({ hostname }: URL) => hostname === "localhost" || hostname === "127.0.0.1"
const newBrowser = () => new Browser(isLocal)

/** Logs in at the provider; returns the page that follows. */
const logInAtProvider = async (name: string, url = toBackEnd(), browser = newBrowser()) => {
  oidc.emails.set(name, at(name))
  await browser.visit(url)
  return oidc.logIn(browser, name)
}

/** A link that is not confirmed yet, and its mailed code. */
const newLink = async (name: string) => {
  const before = smtp.lettersTo(at(name)).length
  const shown = await logInAtProvider(name)
  expect(shown.url.pathname).toBe("/auth/sso/link")
  const linkToken = shown.url.searchParams.get("linkToken") ?? ""
  return { linkToken, code: await smtp.codeFor(at(name), before + 1) }
}
const wrongOf = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, "0")

/** Links a person if necessary, and returns a new login code. */
const linked = new Set<string>()
const newLoginCode = async (name: string): Promise<string> => {
  if (linked.has(name)) return (await logInAtProvider(name)).url.searchParams.get("code") ?? ""
  const { linkToken, code } = await newLink(name)
  const reply = await confirm(linkToken, code)
  expect(reply.status).toBe(200)
  linked.add(name)
  return decodeCode(await reply.json()).code
}

describe("the first login", () => {
  it("is confirmed by mail, gives a login code, and that gives tokens which list /v1/me", async () => {
    const tokens = decodeTokens(await (await exchange(await newLoginCode("ada"))).json())
    expect(tokens.user).toEqual({ id: `ada_${tag}`, email: at("ada") })
    const me = await gateway().call("GET", "/v1/me", undefined, {
      ...nobody,
      authorization: `Bearer ${tokens.accessToken}`,
    })
    // The provider does not give access to the person's other organisations.
    expect(decodeMe(await me.json()).orgs.map(({ id }) => id)).toEqual([ids.org])
  })

  it("approves devices that act in the provider's organisation only, as it does itself", async () => {
    const { accessToken } = decodeTokens(await (await exchange(await newLoginCode("ada"))).json())
    const started = decodeDevice(await (await post("/v1/auth/device/code", { clientName: "mine" })).json())
    const as = (token: string) => ({ ...nobody, authorization: `Bearer ${token}` })
    const decision = { userCode: started.userCode, approve: true }
    expect((await gateway().call("POST", "/v1/auth/device/approve", decision, as(accessToken))).status).toBe(200)
    const polled = await post("/v1/auth/device/token", { deviceCode: started.deviceCode })
    const device = decodeTokens(await polled.json())
    const me = await gateway().call("GET", "/v1/me", undefined, as(device.accessToken))
    expect(decodeMe(await me.json()).orgs.map(({ id }) => id)).toEqual([ids.org])
  })

  it("writes the binding (org, issuer, subject), and that into the audit log", async () => {
    await newLoginCode("bo")
    const [row] = await Effect.runPromise(gateway().sql<{ user_id: string; action: string; detail: object }>`
      select f.user_id, a.action, a.detail from federated_identities f
      join audit_log a on a.org_id = f.org_id and a.actor_id = f.user_id
      where f.org_id = ${ids.org} and f.issuer = ${oidc.issuer} and f.subject = 'bo'`)
    expect(row).toEqual({
      user_id: `bo_${tag}`,
      action: "auth.sso_linked",
      detail: { issuer: oidc.issuer, subject: "bo" },
    })
  })

  it("of somebody whom the organisation invited: confirming the code accepts, the provider's word does not", async () => {
    // A member of another organisation: logging in is no consent, and the invitation stays open.
    await gateway().call(
      "POST",
      "/v1/admin/members",
      { org: other.org, email: at("ned"), role: "member" },
      { "x-svc-admin-key": gateway().adminKey },
    )
    const issued = gateway().accessTokens.issue({ kind: "pat", orgId: ids.org, scopes: ["control"] })
    const { secret } = await Effect.runPromise(issued)
    const asOrg = { ...nobody, authorization: `Bearer ${secret}` }
    const invite = () => gateway().call("POST", "/v1/members", { email: at("ned"), role: "member" }, asOrg)
    const orgsOf = async () => {
      const { accessToken } = await gateway().logIn(at("ned"))
      const me = await gateway().call("GET", "/v1/me", undefined, { ...nobody, authorization: `Bearer ${accessToken}` })
      return decodeMe(await me.json()).orgs.map(({ id }) => id)
    }
    expect((await invite()).status).toBe(200)
    const { linkToken, code } = await newLink("ned")
    expect(await orgsOf()).toEqual([other.org])
    expect((await confirm(linkToken, code)).status).toBe(200)
    expect((await orgsOf()).sort()).toEqual([ids.org, other.org].sort())
    // Removed and invited again: linked as before, and asked again.
    await run(`select tenants_change(jsonb_build_array(jsonb_build_object('op', 'delete', 'kind', 'user', 'id', id)),
      'service', 'test') from members where email = '${at("ned")}' and org_id = '${ids.org}'`)
    expect((await invite()).status).toBe(200)
    const again = await newLink("ned")
    expect(await orgsOf()).toEqual([other.org])
    expect((await confirm(again.linkToken, again.code)).status).toBe(200)
    expect((await orgsOf()).length).toBe(2)
  })

  it("forbidden: a person who is not a member of the organisation", async () => {
    oidc.emails.set("stranger", at("stranger"))
    const shown = await logInAtProvider("stranger")
    expect([shown.status, shown.html]).toEqual([403, expect.stringContaining("forbidden")])
    expect(smtp.lettersTo(at("stranger"))).toEqual([])
  })

  it("forbidden: a membership that ended before the code was used", async () => {
    const { linkToken, code } = await newLink("cy")
    await Effect.runPromise(
      gateway().catalogue.apply(
        catalogueWith(names.filter((name) => name !== "cy"))({
          vendor: gateway().vendor.url,
          second: gateway().second.url,
        }),
        { prune: true },
      ),
    )
    expect(await errorOf(await confirm(linkToken, code))).toMatchObject({ status: 403, code: "forbidden" })
  })

  it("forbidden: a disabled account", async () => {
    const { linkToken, code } = await newLink("di")
    await run(`insert into users (id, email, status) values ('di_${tag}', '${at("di")}', 'disabled')`)
    expect(await errorOf(await confirm(linkToken, code))).toMatchObject({ status: 403, code: "forbidden" })
  })
})

describe("a later login", () => {
  it("is redirected to the back end, with a code and its state", async () => {
    await newLoginCode("ed")
    const { url } = await logInAtProvider("ed", toBackEnd({ state: "mine & yours" }))
    expect(`${url.origin}${url.pathname}`).toBe("https://portal.example.com/after-login")
    expect(url.searchParams.get("state")).toBe("mine & yours")
    expect((await exchange(url.searchParams.get("code") ?? "")).status).toBe(200)
  })

  it("forbidden: an account that was disabled meanwhile; its tokens stop working", async () => {
    const code = await newLoginCode("flo")
    const unused = await newLoginCode("flo")
    const tokens = decodeTokens(await (await exchange(code)).json())
    await run(`update users set status = 'disabled' where id = '${tokens.user.id}'`)
    expect((await logInAtProvider("flo")).status).toBe(403)
    expect(await errorOf(await exchange(unused))).toMatchObject({ status: 403, code: "forbidden" })
  })
})

describe("single use", () => {
  it("a callback: again, it is bad_request", async () => {
    const browser = newBrowser()
    await logInAtProvider("gus", toBackEnd(), browser)
    const callback = browser.passed.find((url) => url.includes("/v1/auth/sso/callback")) ?? ""
    expect(await errorOf(await fetch(callback))).toMatchObject({ status: 400, code: "bad_request" })
    expect(await errorOf(await browser.request(new URL(callback), { headers: { accept: "*/*" } }))).toMatchObject({
      code: "bad_request",
    })
  })

  const atCallback = async (org = lying.org) => {
    const browser = newBrowser()
    const started = await browser.request(new URL(startUrl({ org, returnTo: backEnd })))
    const answered = await fetch(started.headers.get("location") ?? "", { redirect: "manual" })
    return { browser, callback: new URL(answered.headers.get("location") ?? "") }
  }
  const asMachine = { headers: { accept: "application/json" } }

  it("the provider is not asked for its metadata at each login", async () => {
    await atCallback()
    const asked = hostile.seen.metadataAsked
    await atCallback()
    await atCallback()
    expect(asked).toBeGreaterThan(0)
    expect(hostile.seen.metadataAsked).toBe(asked)
  })

  it("a callback from another browser is bad_request: nobody is logged in as another person", async () => {
    const { callback } = await atCallback()
    expect(await errorOf(await newBrowser().request(callback, asMachine))).toMatchObject({ code: "bad_request" })
    const { browser } = await atCallback()
    expect(await errorOf(await browser.request(callback, asMachine))).toMatchObject({ code: "bad_request" })
  })

  it("an expired callback is bad_request", async () => {
    const { browser, callback } = await atCallback()
    await late("sso_flows", lying.org)
    expect(await errorOf(await browser.request(callback, asMachine))).toMatchObject({ code: "bad_request" })
  })

  it("50 callbacks at once: exactly one wins", async () => {
    hostile.spoil({})
    const { browser, callback } = await atCallback()
    const { cookies } = browser
    const replies = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const same = newBrowser()
        same.cookies = cookies
        return (await same.request(callback, asMachine)).status
      }),
    )
    expect(replies.filter((status) => status === 302).length).toBe(1)
  })

  it("a link: confirmed twice, late, or unknown is bad_request", async () => {
    const { linkToken, code } = await newLink("hal")
    expect(await errorOf(await confirm("lk_unknown", code))).toMatchObject({ status: 400, code: "bad_request" })
    expect((await confirm(linkToken, code)).status).toBe(200)
    expect(await errorOf(await confirm(linkToken, code))).toMatchObject({ status: 400, code: "bad_request" })
    const tardy = await newLink("ivy")
    await late("sso_links")
    expect(await errorOf(await confirm(tardy.linkToken, tardy.code))).toMatchObject({ code: "bad_request" })
  })

  it("a link: 50 confirmations at once, exactly one wins", async () => {
    const { linkToken, code } = await newLink("ivy")
    const replies = await Promise.all(Array.from({ length: 50 }, () => confirm(linkToken, code)))
    expect(replies.filter(({ status }) => status === 200).length).toBe(1)
  })

  it("a link's code is invalid for another link of the same address, and for a login", async () => {
    const first = await newLink("jo")
    const second = await newLink("jo")
    expect(await errorOf(await confirm(first.linkToken, second.code))).toMatchObject({ code: "otp_invalid" })
    const asLogin = await post("/v1/auth/otp/verify", { email: at("jo"), code: second.code })
    expect(await errorOf(asLogin)).toMatchObject({ code: "otp_invalid" })
    expect((await confirm(second.linkToken, second.code)).status).toBe(200)
  })

  it("otp_rate_limited: after five wrong codes the right one fails too", async () => {
    const { linkToken, code } = await newLink("kim")
    for (let attempt = 0; attempt < 5; attempt++) {
      const wrong = await confirm(linkToken, wrongOf(code))
      expect(await errorOf(wrong)).toMatchObject({ status: 401, code: "otp_invalid" })
    }
    expect(await errorOf(await confirm(linkToken, code))).toMatchObject({ status: 429, code: "otp_rate_limited" })
  })

  it("otp_rate_limited: more logins do not exceed the codes of an hour", async () => {
    for (let count = 0; count < 10; count++) await newLink("leo")
    expect((await logInAtProvider("leo")).status).toBe(429)
    expect(smtp.lettersTo(at("leo")).length).toBe(10)
  })

  it("a login code: used twice, late, or unknown is unauthorized", async () => {
    const code = await newLoginCode("mia")
    expect((await exchange(code)).status).toBe(200)
    expect(await errorOf(await exchange(code))).toMatchObject({ status: 401, code: "unauthorized" })
    expect(await errorOf(await exchange("lc_unknown"))).toMatchObject({ status: 401, code: "unauthorized" })
    const tardy = await newLoginCode("mia")
    await late("login_codes")
    expect(await errorOf(await exchange(tardy))).toMatchObject({ code: "unauthorized" })
  })

  it("a login code: 50 exchanges at once, exactly one wins", async () => {
    const code = await newLoginCode("mia")
    const replies = await Promise.all(Array.from({ length: 50 }, () => exchange(code)))
    expect(replies.filter(({ status }) => status === 200).length).toBe(1)
  })

  it("at rest there are hashes only", async () => {
    const code = await newLoginCode("mia")
    const { linkToken } = await newLink("gus")
    await newBrowser().visit(toBackEnd())
    const [row] = await Effect.runPromise(gateway().sql<{ all: string }>`
      select (select json_agg(f)::text from sso_flows f) || (select json_agg(l)::text from sso_links l)
        || (select json_agg(c)::text from login_codes c) as all`)
    expect(row?.all).toContain(ids.org)
    for (const secret of [code, linkToken]) expect(row?.all).not.toContain(secret.slice(3, 20))
  })
})

describe("a provider's claims are verified", () => {
  const throughLiar = async () => {
    const browser = newBrowser()
    const started = await browser.request(new URL(startUrl({ org: lying.org, returnTo: backEnd })))
    const answered = await fetch(started.headers.get("location") ?? "", { redirect: "manual" })
    return browser.request(new URL(answered.headers.get("location") ?? ""), { headers: { accept: "*/*" } })
  }

  it("PKCE: the verifier matches the challenge, and the flow continues", async () => {
    hostile.spoil({})
    const reply = await throughLiar()
    expect([reply.status, reply.headers.get("location")]).toEqual([302, expect.stringContaining("/auth/sso/link?")])
    expect(hostile.seen.verifierFits).toBe(true)
  })

  it("an email address that only the userinfo has is used", async () => {
    hostile.spoil({ claims: { email: undefined }, userinfo: { email: "ADA@example.com" } })
    expect((await throughLiar()).status).toBe(302)
  })

  const nowS = Math.floor(Date.now() / 1000)
  it.each<[string, Parameters<typeof hostile.spoil>[0]]>([
    ["another nonce", { claims: { nonce: "another" } }],
    ["no nonce", { claims: { nonce: undefined } }],
    ["another audience", { claims: { aud: "another" } }],
    ["two audiences, and none authorised", { claims: { aud: [clientId, "another"], azp: "another" } }],
    ["another issuer", { claims: { iss: "https://accounts.example.com" } }],
    ["a token of yesterday", { claims: { iat: nowS - 86_400, exp: nowS - 86_000 } }],
    ["no subject", { claims: { sub: undefined } }],
    ["another's signature", { signedByAnother: true }],
    ["no signature", { unsigned: true }],
    ["a refusal of the code", { tokenStatus: 401 }],
    ["an address of another domain", { claims: { email: "ada@evil.example" } }],
    ["no address", { claims: { email: undefined } }],
    ["an address that is none", { claims: { email: "ada@example.com\r\nBcc: x@example.com" } }],
    [
      "a userinfo about somebody else",
      { claims: { email: undefined }, userinfo: { sub: "x", email: "ada@example.com" } },
    ],
  ])("idp_untrusted: %s", async (_what, how) => {
    hostile.spoil(how)
    expect(await errorOf(await throughLiar())).toMatchObject({ status: 403, code: "idp_untrusted" })
  })

  it("forbidden: the provider denied the login; its text is not forwarded", async () => {
    const browser = newBrowser()
    const started = await browser.request(new URL(startUrl({ org: lying.org })))
    const state = new URL(started.headers.get("location") ?? "").searchParams.get("state") ?? ""
    const query = new URLSearchParams({ state, error: "access_denied", error_description: "<script>secret</script>" })
    const reply = await browser.request(new URL(`${gateway().baseUrl}/v1/auth/sso/callback?${query}`))
    expect(reply.status).toBe(403)
    expect(await reply.text()).not.toContain("secret")
  })
})

describe("beginning", () => {
  const start = (query: Record<string, string>) => fetch(startUrl(query), { redirect: "manual" })

  it.each<[string, Record<string, string>, object]>([
    ["no organisation", {}, { status: 400, code: "bad_request" }],
    ["a field too many", { org: ids.org, next: "/" }, { status: 400, code: "bad_request" }],
    ["a way back that is not allowed", { org: ids.org, returnTo: "https://evil.example" }, { code: "bad_request" }],
    ["an organisation that nobody knows", { org: "org_unheard" }, { status: 404, code: "not_found" }],
    ["an organisation without a provider", { org: other.org }, { status: 404, code: "not_found" }],
    ["a provider inside", { org: `inside_${tag}` }, { status: 403, code: "idp_untrusted" }],
    ["a provider that does not answer", { org: `away_${tag}` }, { status: 502, code: "upstream_error" }],
  ])("%s", async (_what, query, expected) => {
    expect(await errorOf(await start(query))).toMatchObject(expected)
  })

  it("sends state, nonce and an S256 challenge, and a cookie that no script reads", async () => {
    const reply = await start({ org: ids.org })
    const url = new URL(reply.headers.get("location") ?? "")
    expect(url.origin).toBe(oidc.issuer)
    for (const name of ["state", "nonce", "code_challenge"]) expect(url.searchParams.get(name)?.length).toBe(43)
    expect(url.searchParams.get("code_challenge_method")).toBe("S256")
    expect(reply.headers.get("set-cookie")).toMatch(/HttpOnly.*SameSite=Lax/i)
    expect(reply.headers.get("cache-control")).toBe("no-store")
  })

  it("Weir's own pages: the browser is logged in, and continues to the device", async () => {
    await newLoginCode("ada")
    const browser = newBrowser()
    const shown = await logInAtProvider("ada", startUrl({ org: ids.org, device: "BCDF-GHJK" }), browser)
    expect(shown.url.pathname).toBe("/activate")
    expect(browser.cookies.some(({ name }) => name === "weir_session")).toBe(true)
    expect(browser.cookies.some(({ name }) => name.startsWith("weir_sso_"))).toBe(false)
    await eventually(async () => (await browser.visit(`${gateway().baseUrl}/login`)).html.includes(at("ada")))
  })

  it("Weir's own pages: a client's request waits until the person is logged in, for the provider's organisation", async () => {
    const client_id = await registered()
    const asked = { response_type: "code", client_id, redirect_uri: "http://127.0.0.1:1/back", state: "s" }
    const query = new URLSearchParams({ ...asked, code_challenge: "x".repeat(43), code_challenge_method: "S256" })
    const browser = newBrowser()
    await browser.visit(`${gateway().baseUrl}/oauth/authorize?${query}`)
    await browser.submit("login/sso", { org: ids.org })
    const shown = await oidc.logIn(browser, "ada")
    expect(shown.url.pathname).toBe("/oauth/consent")
    // Her other organisation is not offered.
    expect(shown.html).not.toContain("<select")
    expect(shown.html).toContain(`value="${ids.org}"`)
  })
})
