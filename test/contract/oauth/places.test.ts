/** The authorization server below a path, for clients in browsers, and its housekeeping. Rules: RFC 8414 section 3.1, RFC 9728 section 3.1. */
import { Effect, Redacted } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../../src/testing/gateway.ts"
import { eventually, useGateway } from "../../support/gateway.ts"
import { answerOf, callback, makeOauthClient } from "../../support/oauth-client.ts"
import { startSmtp } from "../../support/smtp.ts"

const smtp = await startSmtp()
afterAll(() => smtp.stop())
const ids = newTestIds()
const email = `ada.${ids.org}@example.com`
const person = `u_${ids.org}`
const gateway = useGateway({
  ids,
  config: {
    smtpUrl: Redacted.make(smtp.url),
    authPerMinute: 1_000_000,
    basePath: "/genai/gw",
    corsOrigins: ["https://inspector.example.com"],
  },
  catalogue: (urls) =>
    testCatalogue(urls, ids, `users:\n  - { id: ${person}, email: ${email}, org: ${ids.org}, role: member }\n`),
})
const site = () => gateway().baseUrl
const baseUrl = () => `${site()}/genai/gw`
const client = makeOauthClient(baseUrl, smtp)
const run = (statement: string) => Effect.runPromise(gateway().sql.unsafe(statement))

const connect = async () => {
  const { client_id } = await client.registered()
  const asked = client.newRequest(client_id)
  const browser = client.newBrowser()
  await browser.visit(asked.url)
  await client.logIn(browser, email)
  const { code = "", iss } = answerOf(await browser.submit("oauth/consent", { decision: "approve" }))
  const fields = { code, redirect_uri: callback, client_id, code_verifier: asked.verifier }
  const response = await client.token({ grant_type: "authorization_code", ...fields })
  const { access_token, refresh_token } = JSON.parse(await response.text())
  return { client_id, iss, access_token, refresh_token }
}
const mcp = (token: string) =>
  fetch(`${baseUrl()}/mcp`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  })

describe("a gateway below a path", () => {
  it("has its metadata at each place where clients look", async () => {
    for (const path of [
      "/.well-known/oauth-authorization-server/genai/gw",
      "/.well-known/openid-configuration/genai/gw",
      "/genai/gw/.well-known/openid-configuration",
    ])
      expect(await (await fetch(`${site()}${path}`)).json()).toMatchObject({ issuer: baseUrl() })
    for (const path of [
      "/.well-known/oauth-protected-resource/genai/gw/mcp",
      "/genai/gw/.well-known/oauth-protected-resource/mcp",
    ])
      expect(await (await fetch(`${site()}${path}`)).json()).toMatchObject({ resource: `${baseUrl()}/mcp` })
    for (const path of ["", "/genai", "/genai/gw2", "/other"])
      expect((await fetch(`${site()}/.well-known/oauth-authorization-server${path}`)).status).toBe(404)
  })

  it("takes its own address as a resource, with and without a slash", async () => {
    const { client_id } = await client.registered()
    for (const resource of [baseUrl(), `${baseUrl()}/`, `${baseUrl()}/mcp/`, baseUrl().replace("http", "HTTP")])
      expect((await client.newBrowser().visit(client.newRequest(client_id, { resource }).url)).url.pathname).toBe(
        "/genai/gw/login",
      )
    const outside = client.newRequest(client_id, { resource: `${site()}/mcp` })
    expect(answerOf(await client.newBrowser().visit(outside.url))).toMatchObject({ error: "invalid_target" })
  })

  it("connects a client, until its person leaves the organisation", async () => {
    const { client_id, iss, access_token, refresh_token } = await connect()
    expect(iss).toBe(baseUrl())
    expect((await mcp(access_token)).status).toBe(200)
    await run(`update tenants set status = 'closed' where kind = 'user' and id = '${person}'`)
    await eventually(async () => (await mcp(access_token)).status === 401)
    const next = await client.token({ grant_type: "refresh_token", refresh_token, client_id })
    expect(JSON.parse(await next.text())).toMatchObject({ error: "invalid_grant" })
  })
})

it("clients in browsers read metadata and tokens, from origins that may", async () => {
  for (const path of ["/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp"]) {
    const reply = await fetch(`${baseUrl()}${path}`, { headers: { origin: "https://inspector.example.com" } })
    expect(reply.headers.get("access-control-allow-origin")).toBe("https://inspector.example.com")
    const other = await fetch(`${baseUrl()}${path}`, { headers: { origin: "https://evil.example" } })
    expect(other.headers.get("access-control-allow-origin")).toBeNull()
  }
  const asked = await fetch(`${baseUrl()}/oauth/token`, {
    method: "OPTIONS",
    headers: { origin: "https://inspector.example.com", "access-control-request-method": "POST" },
  })
  expect(asked.status).toBe(204)
  const page = await fetch(`${baseUrl()}/oauth/consent`, {
    redirect: "manual",
    headers: { origin: "https://inspector.example.com" },
  })
  expect(page.headers.get("access-control-allow-origin")).toBeNull()
})

it("a registration that nobody uses expires, and its program learns so on its computer only", async () => {
  const unused = (await client.registered()).client_id
  await run(`update oauth_clients set made_at = now() - interval '25 hours' where id = '${unused}'`)
  await run("select retain_accounts()")
  const shown = await client.newBrowser().visit(client.newRequest(unused).url)
  expect(shown.status).toBe(400)
  expect(shown.html).toContain("error=invalid_client")
  expect(shown.html).not.toContain("http-equiv")
  const away = client.newRequest(unused, { redirect_uri: "https://evil.example/back" })
  expect((await client.newBrowser().visit(away.url)).html).not.toContain("evil.example")
  const { client_id } = await client.registered()
  await run("select retain_accounts()")
  expect((await client.newBrowser().visit(client.newRequest(client_id).url)).status).toBe(200)
})
