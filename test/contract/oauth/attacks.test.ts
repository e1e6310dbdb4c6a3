/**
 * Attacks on the authorization server, each refused. Rules: OAuth 2.1 section 7, RFC 9700, RFC 8252 section 8, OAuth Client ID
 * Metadata Document section 6.
 */
import { randomBytes, randomUUID } from "node:crypto"
import { Effect, Redacted } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../../src/testing/gateway.ts"
import type { Browser } from "../../support/browser.ts"
import { useGateway } from "../../support/gateway.ts"
import { answerOf, callback, makeOauthClient } from "../../support/oauth-client.ts"
import { startSmtp } from "../../support/smtp.ts"

const smtp = await startSmtp()
afterAll(() => smtp.stop())
const tag = randomUUID().slice(0, 8)
const email = `ada.${tag}@example.com`
const ids = newTestIds()
const gateway = useGateway({
  ids,
  config: { smtpUrl: Redacted.make(smtp.url), authPerMinute: 1_000_000 },
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `users:\n  - { id: ada_${tag}, email: ${email}, org: ${ids.org}, role: member, tools: ['*'] }\n`,
    ),
})
const limited = useGateway({ config: { authPerMinute: 3, trustedProxies: ["127.0.0.0/8"] } })
const baseUrl = () => gateway().baseUrl
const client = makeOauthClient(baseUrl, smtp)
const run = (statement: string) => Effect.runPromise(gateway().sql.unsafe(statement))
const errorOf = async (response: Response) => ({ status: response.status, ...JSON.parse(await response.text()) })

/** One address gets few codes in an hour: its person stays logged in. */
let person: Browser | undefined

/** A code, with the secrets of its client. */
const codeOf = async (more: Record<string, string> = {}, clientId?: string) => {
  const id = clientId ?? (await client.registered()).client_id
  const asked = client.newRequest(id, more)
  const browser = person ?? client.newBrowser()
  await browser.visit(asked.url)
  if (person === undefined) await client.logIn(browser, email)
  person = browser
  const { code = "" } = answerOf(await browser.submit("oauth/consent", { decision: "approve" }))
  return { ...asked, id, code, browser }
}
const redeem = (
  { id, code, verifier }: { id: string; code: string; verifier: string },
  more: Record<string, string> = {},
  headers: Record<string, string> = {},
) =>
  client.token(
    {
      grant_type: "authorization_code",
      code,
      redirect_uri: callback,
      client_id: id,
      code_verifier: verifier,
      ...more,
    },
    headers,
  )
const refused = { status: 400, error: "invalid_grant" }

describe("an open redirect", () => {
  it.each([
    "https://evil.example/callback",
    "http://127.0.0.1:4711/callback/../evil",
    "http://127.0.0.1:4711/callback?next=evil",
    "http://127.0.0.1:4711@evil.example/callback",
    "http://127.0.0.1.evil.example:4711/callback",
    "http://localhost:4711/callback",
    "https://127.0.0.1:4711/callback",
    "javascript:alert(1)//http://127.0.0.1/callback",
    "http://127.0.0.1:4711/callback#x",
    "//127.0.0.1:4711/callback",
    "",
  ])("to %s is not followed", async (redirect_uri) => {
    const { client_id } = await client.registered()
    const shown = await client.newBrowser().visit(client.newRequest(client_id, { redirect_uri }).url)
    expect(shown.status).toBe(400)
    expect(shown.html).not.toContain("evil.example")
    expect(shown.html).not.toContain("http-equiv")
  })

  it("by a request that is wrong goes to no site by itself", async () => {
    const site = "https://client.example.com/back"
    const { client_id } = await client.registered({ redirect_uris: [site] })
    const asked = client.newRequest(client_id, { redirect_uri: site, response_type: "token" })
    const shown = await client.newBrowser().visit(asked.url)
    expect(shown.status).toBe(400)
    expect(shown.html).toContain("client.example.com")
    expect(shown.html).not.toContain("http-equiv")
  })

  it("needs an address that a client may have", async () => {
    for (const uri of [
      "http://evil.example/callback",
      "javascript:alert(1)",
      "javascript://x/%0aalert(1)",
      "data:text/html,x",
      "https://user:secret@example.com/",
      "https://example.com/#x",
      "https://example.com/?code=1",
      "not an address",
      'https://example.com/"><script>',
    ])
      expect((await client.register({ redirect_uris: [uri] })).status).toBe(400)
    for (const uri of ["cursor://anysphere.cursor-mcp/oauth/callback", "https://example.com/a?b=c", "http://[::1]:1/x"])
      expect((await client.register({ redirect_uris: [uri] })).status).toBe(201)
  })

  it("of an editor with several addresses is registered", async () => {
    const redirect_uris = [
      "https://insiders.vscode.dev/redirect",
      "https://vscode.dev/redirect",
      "http://127.0.0.1/",
      "http://127.0.0.1:33418/",
    ]
    const { client_id } = await client.registered({ redirect_uris })
    for (const redirect_uri of [...redirect_uris, "http://127.0.0.1:51000/"])
      expect((await client.newBrowser().visit(client.newRequest(client_id, { redirect_uri }).url)).status).toBe(200)
  })

  it("of a program may have any port of this computer", async () => {
    const { client_id } = await client.registered()
    const asked = client.newRequest(client_id, { redirect_uri: "http://127.0.0.1:50123/callback" })
    expect((await client.newBrowser().visit(asked.url)).url.pathname).toBe("/login")
  })
})

describe("a downgrade of PKCE", () => {
  it.each([
    { code_challenge: undefined },
    { code_challenge_method: undefined },
    { code_challenge_method: "plain" },
    { code_challenge: "short" },
    { code_challenge: undefined, code_challenge_method: undefined },
  ])("by %o is refused, with the issuer in the answer", async (more) => {
    const { client_id } = await client.registered()
    const asked = client.newRequest(client_id, more)
    expect(answerOf(await client.newBrowser().visit(asked.url))).toMatchObject({
      error: "invalid_request",
      state: asked.state,
      iss: baseUrl(),
    })
  })

  it("by a missing verifier is refused", async () => {
    const given = await codeOf()
    expect((await redeem(given, { code_verifier: "" })).status).toBe(400)
  })
})

describe("a stolen code", () => {
  it("is worth nothing without its verifier, and is spent by the attempt", async () => {
    const given = await codeOf()
    expect(await errorOf(await redeem({ ...given, verifier: "x".repeat(43) }))).toMatchObject(refused)
    expect(await errorOf(await redeem(given))).toMatchObject(refused)
  })

  it("that is used again ends the connection of its first use", async () => {
    const given = await codeOf()
    const { refresh_token, access_token } = JSON.parse(await (await redeem(given)).text())
    expect(await errorOf(await redeem(given))).toMatchObject(refused)
    const next = client.token({ grant_type: "refresh_token", refresh_token, client_id: given.id })
    expect(await errorOf(await next)).toMatchObject(refused)
    expect(access_token).toMatch(/^oat_/)
  })

  it("is used once by many at the same time", async () => {
    const given = await codeOf()
    const all = await Promise.all([1, 2, 3, 4].map(() => redeem(given)))
    expect(all.filter(({ status }) => status === 200).length).toBe(1)
  })

  it("is not another client's, nor for another address, nor late", async () => {
    const another = (await client.registered()).client_id
    const given = await codeOf()
    expect(await errorOf(await redeem({ ...given, id: another }))).toMatchObject(refused)
    expect(await errorOf(await redeem(given, { redirect_uri: "http://127.0.0.1:4712/callback" }))).toMatchObject(
      refused,
    )
    const late = await codeOf()
    await run(`update oauth_requests set expires_at = now() - interval '1 second'`)
    expect(await errorOf(await redeem(late))).toMatchObject(refused)
  })

  it("is in no table and no address but the client's", async () => {
    const given = await codeOf()
    const { access_token, refresh_token } = JSON.parse(await (await redeem(given)).text())
    for (const table of ["oauth_requests", "client_secrets", "access_tokens", "audit_log"]) {
      const rows = JSON.stringify(await run(`select row_to_json(x)::text from ${table} x`))
      for (const secret of [given.code, access_token, refresh_token]) expect(rows).not.toContain(secret)
    }
  })
})

describe("a mix-up", () => {
  it("of resources is refused", async () => {
    const { client_id } = await client.registered()
    for (const resource of [
      "https://evil.example/mcp",
      `${baseUrl()}/v1`,
      `${baseUrl()}/mcp/A`,
      `${baseUrl()}/mcp?x=1`,
      `${baseUrl()}.evil.example/mcp`,
      "mcp",
    ]) {
      const asked = client.newRequest(client_id, { resource })
      expect(answerOf(await client.newBrowser().visit(asked.url))).toMatchObject({ error: "invalid_target" })
    }
    const given = await codeOf()
    expect(await errorOf(await redeem(given, { resource: "https://evil.example/mcp" }))).toMatchObject({
      error: "invalid_target",
    })
  })
})

describe("a forged consent", () => {
  it("of another site is refused, and so is one without a login", async () => {
    const { browser, id } = await codeOf()
    const shown = await browser.visit(client.newRequest(id).url)
    const request = shown.url.searchParams.get("request") ?? ""
    const form = { request, org: ids.org, decision: "approve" }
    const post = (headers: Record<string, string>, who = browser) =>
      who.request(new URL(`${baseUrl()}/oauth/consent`), {
        method: "POST",
        body: new URLSearchParams(form),
        headers,
      })
    expect((await post({ origin: "https://evil.example" })).status).toBe(403)
    expect((await post({})).status).toBe(403)
    expect((await post({ "sec-fetch-site": "cross-site" })).status).toBe(403)
    const nobody = await post({ origin: baseUrl() }, client.newBrowser())
    expect([nobody.status, nobody.headers.get("location")]).toEqual([303, expect.stringContaining("login")])
    // An organisation that is not the person's.
    expect((await browser.submit("oauth/consent", { decision: "approve", org: "org_other" })).status).toBe(403)
    await browser.visit(shown.url)
    await browser.submit("oauth/consent", { decision: "deny" })
    expect((await browser.visit(shown.url)).status).toBe(404)
  })
})

describe("a client", () => {
  it("that has a secret must prove it, in one way", async () => {
    const both = await client.registered({ token_endpoint_auth_method: "client_secret_basic" })
    const { client_id: id, client_secret: secret = "" } = both
    expect(secret).toMatch(/^ocs_/)
    const basic = (value: string) => ({ authorization: `Basic ${Buffer.from(`${id}:${value}`).toString("base64")}` })
    const given = await codeOf({}, id)
    const denied = await redeem(given)
    expect(denied.status).toBe(401)
    const wrong = await redeem(given, {}, basic("wrong"))
    expect([wrong.status, wrong.headers.get("www-authenticate")]).toEqual([401, 'Basic realm="weir"'])
    expect((await redeem(given, { client_secret: "wrong" })).status).toBe(401)
    expect((await redeem(given, { client_secret: secret }, basic(secret))).status).toBe(400)
    expect((await redeem(given, {}, basic(secret))).status).toBe(200)
    const second = await codeOf({}, id)
    expect((await redeem(second, { client_secret: secret })).status).toBe(200)
  })

  it("that is unknown is refused on every route", async () => {
    expect((await client.newBrowser().visit(client.newRequest("oc_unknown").url)).status).toBe(400)
    for (const id of ["oc_unknown", "", "'; drop table users", "\u0000", "x".repeat(5000)]) {
      const response = await client.token({ grant_type: "refresh_token", refresh_token: "x", client_id: id })
      expect([400, 401]).toContain(response.status)
    }
  })

  it("sends each parameter once, as a form, and no more than it may", async () => {
    const { client_id } = await client.registered()
    const { url } = client.newRequest(client_id)
    expect((await client.newBrowser().visit(`${url}&client_id=oc_other`)).status).toBe(400)
    expect(
      (await client.newBrowser().visit(client.newRequest(client_id, { state: "s".repeat(5000) }).url)).status,
    ).toBe(400)
    const send = (body: string, type = "application/x-www-form-urlencoded") =>
      fetch(`${baseUrl()}/oauth/token`, { method: "POST", body, headers: { "content-type": type } })
    expect((await send(`grant_type=refresh_token&grant_type=x&client_id=${client_id}`)).status).toBe(400)
    expect((await send("{}", "application/json")).status).toBe(400)
    expect((await send(`client_id=${client_id}&x=${"y".repeat(20_000)}`)).status).toBe(413)
    expect(await errorOf(await send(`client_id=${client_id}&grant_type=password`))).toMatchObject({
      error: "unsupported_grant_type",
    })
    expect((await fetch(`${baseUrl()}/oauth/token?grant_type=refresh_token`)).status).toBe(404)
  })

  it("registers with metadata that are bounded", async () => {
    for (const body of [
      {},
      { redirect_uris: [] },
      { redirect_uris: "https://a.example" },
      { redirect_uris: Array.from({ length: 21 }, (_, at) => `https://a.example/${at}`) },
      { redirect_uris: [`https://a.example/${"x".repeat(2048)}`] },
      { redirect_uris: [callback], client_name: "x".repeat(501) },
      { redirect_uris: [callback], token_endpoint_auth_method: "private_key_jwt" },
      { redirect_uris: [callback], response_types: ["token"] },
      { redirect_uris: [callback], client_name: 5 },
    ]) {
      const response = await client.register(body)
      expect([response.status, JSON.parse(await response.text()).error]).toEqual([
        400,
        expect.stringMatching(/^invalid_(client_metadata|redirect_uri)$/),
      ])
    }
    expect((await client.register({ redirect_uris: [callback], other: { a: 1 } })).status).toBe(201)
  })

  it("registers and asks within a rate for its address", async () => {
    // An address of its own: the counts of others at the same stores are not its.
    const headers = {
      "x-forwarded-for": `2001:db8:${randomBytes(2).toString("hex")}:${randomBytes(2).toString("hex")}::1`,
    }
    const register = () =>
      fetch(`${limited().baseUrl}/oauth/register`, {
        method: "POST",
        headers,
        body: JSON.stringify({ redirect_uris: [callback] }),
      })
    const statuses = [await register(), await register(), await register(), await register()].map(
      ({ status }) => status,
    )
    expect(statuses).toEqual([201, 201, 201, 429])
    expect((await fetch(`${limited().baseUrl}/oauth/authorize?client_id=x`, { headers })).status).toBe(429)
    const refused = await register()
    expect(refused.headers.get("retry-after")).not.toBeNull()
  })
})
