/** Clients that people connect in a browser. Rules: OAuth 2.1, RFC 8414, RFC 9728, RFC 9207, RFC 8707, RFC 7009. */
import { randomUUID } from "node:crypto"
import { Effect, Redacted } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../../src/testing/gateway.ts"
import type { Browser } from "../../support/browser.ts"
import { eventually, useGateway } from "../../support/gateway.ts"
import { answerOf, callback, makeOauthClient } from "../../support/oauth-client.ts"
import { startSmtp } from "../../support/smtp.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"

const smtp = await startSmtp()
const server = await startToolServer({ isStateless: false, tools: { echo: () => textResult("hi") } })
afterAll(async () => {
  server.stop()
  await smtp.stop()
})

const tag = randomUUID().slice(0, 8)
const at = (name: string) => `${name}.${tag}@example.com`
const ids = newTestIds()
const other = newTestIds()
const gateway = useGateway({
  ids,
  config: { smtpUrl: Redacted.make(smtp.url), authPerMinute: 1_000_000 },
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `toolServers:
  - { id: one, url: "${server.url}" }
  - { id: two, url: "${server.url}" }
users:
  - { id: ada_${tag}, email: ${at("ada")}, org: ${ids.org}, role: member, tools: [one, two] }
  - { id: bo_${tag}, email: ${at("bo")}, org: ${ids.org}, role: member, tools: [one] }
  - { id: cy_${tag}, email: ${at("cy")}, org: ${ids.org}, role: member, tools: [one, two] }
  - { id: bo2_${tag}, email: ${at("bo")}, org: ${other.org}, role: member }
`,
    )
      .replace("unpriced] }", "unpriced], tools: ['*'] }")
      .replace(
        "apps:\n",
        `  - { id: ${other.org}, name: Other <b>, plan: team, currency: USD, models: [main], tools: [two] }\napps:\n`,
      ),
})
const baseUrl = () => gateway().baseUrl
const client = makeOauthClient(baseUrl, smtp)
const run = <A>(statement: string) => Effect.runPromise(gateway().sql.unsafe<A & object>(statement))

const mcp = (token: string, path = "/mcp", method = "tools/list") =>
  fetch(`${baseUrl()}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method }),
  })

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly token_type: string
  readonly expires_in: number
  readonly scope: string
}
const tokensOf = async (response: Response): Promise<Tokens> => {
  expect(response.status).toBe(200)
  expect(response.headers.get("cache-control")).toBe("no-store")
  return JSON.parse(await response.text())
}
const errorOf = async (response: Response) => ({ status: response.status, ...JSON.parse(await response.text()) })

/** Logs in, approves, and returns the answer with what the client knows. */
const approved = async (
  name: string,
  {
    clientId,
    more,
    org,
    browser,
  }: { clientId?: string; more?: Record<string, string>; org?: string; browser?: Browser } = {},
) => {
  const id = clientId ?? (await client.registered()).client_id
  const asked = client.newRequest(id, more)
  const used = browser ?? client.newBrowser()
  const shown = await used.visit(asked.url)
  if (shown.url.pathname === "/login") await client.logIn(used, at(name))
  const answered = await used.submit("oauth/consent", { decision: "approve", ...(org !== undefined && { org }) })
  return { ...asked, id, browser: used, answer: answerOf(answered), answered }
}
const redeem = (
  { id, answer, verifier }: { id: string; answer: Record<string, string>; verifier: string },
  more: Record<string, string> = {},
) =>
  client.token({
    grant_type: "authorization_code",
    code: answer["code"] ?? "",
    redirect_uri: callback,
    client_id: id,
    code_verifier: verifier,
    resource: `${baseUrl()}/mcp`,
    ...more,
  })
const connected = async (name: string, options?: Parameters<typeof approved>[1]) => {
  const given = await approved(name, options)
  return { ...given, tokens: await tokensOf(await redeem(given)) }
}
const refresh = (id: string, token: string, more: Record<string, string> = {}) =>
  client.token({ grant_type: "refresh_token", refresh_token: token, client_id: id, ...more })

describe("discovery", () => {
  it.each(["/mcp", "/mcp/one"])("begins with the challenge of %s", async (path) => {
    const response = await fetch(`${baseUrl()}${path}`, { method: "POST", body: "{}" })
    expect(response.status).toBe(401)
    expect(response.headers.get("www-authenticate")).toBe(
      `Bearer resource_metadata="${baseUrl()}/.well-known/oauth-protected-resource${path}", scope="tools"`,
    )
    expect((await mcp("oat_nothing", path)).headers.get("www-authenticate")).toContain('error="invalid_token"')
  })

  it.each(["", "/mcp", "/mcp/one"])("names the authorization server of the resource %s", async (path) => {
    const response = await fetch(`${baseUrl()}/.well-known/oauth-protected-resource${path}`)
    expect(await response.json()).toMatchObject({
      resource: `${baseUrl()}${path}`,
      authorization_servers: [baseUrl()],
      scopes_supported: ["tools"],
    })
    expect((await fetch(`${baseUrl()}/.well-known/oauth-protected-resource/mcp/A%22`)).status).toBe(404)
  })

  it.each(["oauth-authorization-server", "openid-configuration"])("describes the server in %s", async (name) => {
    expect(await (await fetch(`${baseUrl()}/.well-known/${name}`)).json()).toMatchObject({
      issuer: baseUrl(),
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    })
  })
})

describe("a person who connects a client", () => {
  it("logs in, sees who asks, approves, and the client uses tools with the person's limits", async () => {
    const { answer, state, tokens, browser, id } = await connected("bo", { org: ids.org })
    expect(answer).toEqual({ code: expect.stringMatching(/^oac_/), state, iss: baseUrl() })
    expect(tokens).toMatchObject({ token_type: "Bearer", expires_in: 1800, scope: "tools" })
    const list = await mcp(tokens.access_token)
    expect(list.status).toBe(200)
    expect(JSON.stringify(await list.json())).toContain("one__echo")
    expect(JSON.stringify(await (await mcp(tokens.access_token)).json())).not.toContain("two__echo")
    // In the other organisation, the same person has other tools.
    const second = await connected("bo", { org: other.org, clientId: id, browser })
    expect(JSON.stringify(await (await mcp(second.tokens.access_token)).json())).toContain("two__echo")
  })

  it("sees the client's name as text, its host, and the organisations", async () => {
    const { client_id } = await client.registered({ client_name: "<script>alert(1)</script>\u202e" })
    const browser = client.newBrowser()
    await browser.visit(client.newRequest(client_id).url)
    const shown = await client.logIn(browser, at("bo"))
    expect(shown.url.pathname).toBe("/oauth/consent")
    expect(shown.html).not.toContain("<script>")
    expect(shown.html).not.toContain("\u202e")
    for (const text of ["127.0.0.1:4711", at("bo"), ids.org, "&#60;b&#62;", "on this computer", "not verified"])
      expect(shown.html).toContain(text)
    expect(shown.headers.get("content-security-policy")).toContain("frame-ancestors 'none'")
    expect(shown.headers.get("x-frame-options")).toBe("DENY")
    // The client's parameters have left the address.
    expect(shown.url.search).not.toContain("code_challenge")
  })

  it("may refuse, and the client learns it", async () => {
    const asked = client.newRequest((await client.registered()).client_id)
    const browser = client.newBrowser()
    await browser.visit(asked.url)
    await client.logIn(browser, at("ada"))
    const answered = await browser.submit("oauth/consent", { decision: "deny" })
    expect(answerOf(answered)).toEqual({ error: "access_denied", state: asked.state, iss: baseUrl() })
  })

  it("is asked once for a site, and always for a program on the computer", async () => {
    const site = "https://client.example.com/back"
    const { client_id } = await client.registered({ redirect_uris: [site, callback] })
    const first = await approved("ada", { clientId: client_id, more: { redirect_uri: site } })
    expect(first.answered.url.href.startsWith(`${site}?code=`)).toBe(true)
    const again = await first.browser.visit(client.newRequest(client_id, { redirect_uri: site }).url)
    expect(again.url.origin).toBe("https://client.example.com")
    const asked = await first.browser.visit(client.newRequest(client_id, { redirect_uri: site, prompt: "consent" }).url)
    expect(asked.url.pathname).toBe("/oauth/consent")
    const local = await first.browser.visit(client.newRequest(client_id).url)
    expect(local.url.pathname).toBe("/oauth/consent")
    expect(local.html).toContain("pretend to be it")
  })
})

describe("a token of a client", () => {
  it("is valid at the endpoint of tools only", async () => {
    const { tokens } = await connected("ada")
    const headers = { authorization: `Bearer ${tokens.access_token}` }
    for (const [method, path] of [
      ["GET", "/v1/tokens"],
      ["GET", "/v1/me"],
      ["GET", "/openai/v1/models"],
      ["POST", "/t1/exchange"],
    ] as const)
      expect(
        (await fetch(`${baseUrl()}${path}`, { method, headers, ...(method === "POST" && { body: "{}" }) })).status,
      ).toBe(401)
    expect((await mcp(tokens.refresh_token)).status).toBe(401)
    expect((await mcp(tokens.access_token)).status).toBe(200)
  })

  it("of one server is not valid for others", async () => {
    const { tokens } = await connected("ada", { more: { resource: `${baseUrl()}/mcp/one` } })
    expect((await mcp(tokens.access_token, "/mcp/one")).status).toBe(200)
    expect((await mcp(tokens.access_token, "/mcp/two")).status).toBe(401)
    expect((await mcp(tokens.access_token)).status).toBe(401)
  })

  it("is for the server that its client names when it asks for it", async () => {
    const one = { resource: `${baseUrl()}/mcp/one` }
    const two = { resource: `${baseUrl()}/mcp/two` }
    const places = async (token: string) => {
      const replies = await Promise.all(["/mcp/one", "/mcp/two", "/mcp"].map((path) => mcp(token, path)))
      return replies.map(({ status }) => status)
    }
    // One login: an address gets few codes in an hour.
    const { browser, ...given } = await approved("cy")
    const { access_token } = await tokensOf(await redeem(given, one))
    expect(await places(access_token)).toEqual([200, 401, 401])
    const { id, tokens } = await connected("cy", { browser })
    const next = await tokensOf(await refresh(id, tokens.refresh_token, one))
    expect(await places(next.access_token)).toEqual([200, 401, 401])
    expect(await errorOf(await refresh(id, next.refresh_token, two))).toMatchObject({ error: "invalid_target" })
    expect((await refresh(id, next.refresh_token, one)).status).toBe(200)
    const other = await redeem(await approved("cy", { more: one, browser }), two)
    expect(await errorOf(other)).toMatchObject({ status: 400, error: "invalid_target" })
  })

  it("ends after half an hour, and its refresh token gives the next", async () => {
    const { id, tokens } = await connected("ada")
    await run(`update client_secrets set expires_at = now() where kind = 'access'`)
    await eventually(async () => (await mcp(tokens.access_token)).status === 401)
    const next = await tokensOf(await refresh(id, tokens.refresh_token))
    expect((await mcp(next.access_token)).status).toBe(200)
  })

  it("ends with its family when a refresh token is used twice", async () => {
    const { id, tokens } = await connected("ada")
    const next = await tokensOf(await refresh(id, tokens.refresh_token))
    expect(await errorOf(await refresh(id, tokens.refresh_token))).toMatchObject({
      status: 400,
      error: "invalid_grant",
    })
    await eventually(async () => (await mcp(next.access_token)).status === 401)
    expect(await errorOf(await refresh(id, next.refresh_token))).toMatchObject({ error: "invalid_grant" })
  })

  it("is not refreshed by another client, and not twice at once", async () => {
    const { id, tokens } = await connected("ada")
    const another = (await client.registered()).client_id
    expect((await refresh(another, tokens.refresh_token)).status).toBe(400)
    expect((await mcp(tokens.access_token)).status).toBe(200)
    const all = await Promise.all([1, 2, 3].map(() => refresh(id, tokens.refresh_token)))
    expect(all.filter(({ status }) => status === 200).length).toBe(1)
  })

  it("is revoked by its client, and by no other", async () => {
    const { id, tokens } = await connected("ada")
    const another = (await client.registered()).client_id
    const revoke = (clientId: string, token: string) => client.form("/oauth/revoke", { client_id: clientId, token })
    expect(await errorOf(await revoke(another, tokens.refresh_token))).toMatchObject({ status: 400 })
    expect((await revoke(id, "unknown")).status).toBe(200)
    expect((await revoke(id, tokens.refresh_token)).status).toBe(200)
    await eventually(async () => (await mcp(tokens.access_token)).status === 401)
    expect((await refresh(id, tokens.refresh_token)).status).toBe(400)
  })

  it("ends with its person, and is listed and revoked where the person sees tokens", async () => {
    const { id, tokens } = await connected("ada")
    const login = await gateway().logIn(at("ada"))
    const headers = { authorization: `Bearer ${login.accessToken}`, "x-svc-key-id": undefined, "x-svc-key": undefined }
    const listed: { data: Array<{ id: string; name: string; scopes: Array<string> }> } = JSON.parse(
      await (await gateway().call("GET", "/v1/tokens", undefined, headers)).text(),
    )
    const [newest] = listed.data
    expect(newest).toMatchObject({ name: "Editor", owner: "person", scopes: ["tools"] })
    expect((await gateway().call("DELETE", `/v1/tokens/${newest?.id}`, undefined, headers)).status).toBe(204)
    await eventually(async () => (await mcp(tokens.access_token)).status === 401)
    expect((await refresh(id, tokens.refresh_token)).status).toBe(400)

    const second = await connected("ada")
    await run(`update users set status = 'disabled' where email = '${at("ada")}'`)
    await eventually(async () => (await mcp(second.tokens.access_token)).status === 401)
    expect((await refresh(second.id, second.tokens.refresh_token)).status).toBe(400)
    await run(`update users set status = 'active' where email = '${at("ada")}'`)
    const audit = await run<{ action: string }>(`select action from audit_log where action like 'auth.client_%'`)
    expect(new Set(audit.map(({ action }) => action))).toEqual(
      new Set(["auth.client_approved", "auth.client_denied", "auth.client_disconnected"]),
    )
  })
})
