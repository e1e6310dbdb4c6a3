/** Accounts at servers of tools: consents, renewals and their end, with an authorisation server that can be dishonest. */
import { randomUUID } from "node:crypto"
import { createServer, type ServerResponse } from "node:http"
import { Effect } from "effect"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue, testKey } from "../../../src/testing/gateway.ts"
import { portOf } from "../../../src/testing/port.ts"
import { startAuthorizationServer } from "../../support/authorization-server.ts"
import { useGateway } from "../../support/gateway.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"

const authority = await startAuthorizationServer()
const foreign = await startAuthorizationServer()
const tools = { whoami: () => textResult("me") }
const serverOf = (isStateless: boolean) =>
  startToolServer({
    isStateless,
    tools,
    get token() {
      return authority.state.accessToken
    },
  })
const [mine, ours] = [await serverOf(true), await serverOf(false)]
/** A server that wants an account of the authorisation server that it names. */
let describeItself = (_response: ServerResponse, _url: string): unknown => undefined
const lying = createServer((request, response) => {
  const url = `http://127.0.0.1:${portOf(lying)}`
  if (request.method === "GET") return void describeItself(response, `${url}/mcp`)
  const metadata = `Bearer resource_metadata="${url}/metadata", scope="read"`
  response.writeHead(401, { "www-authenticate": metadata }).end()
})
await new Promise<void>((resolve) => lying.listen(0, "127.0.0.1", resolve))
afterAll(() => {
  for (const each of [authority, foreign, mine, ours]) each.stop()
  lying.closeAllConnections()
  lying.close()
})

const ids = newTestIds()
const tag = randomUUID().slice(0, 8)
const email = (name: string) => `${name}.${tag}@example.com`
const gateway = useGateway({
  ids,
  backgroundSpeed: 20,
  config: { authPerMinute: 1_000_000 },
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `toolServers:
  - { id: mine, name: Mine, url: "${mine.url}", oauth: { of: person, issuer: "${authority.issuer}" } }
  - { id: ours, url: "${ours.url}", oauth: { of: platform, issuer: "${authority.issuer}", clientId: declared, clientSecret: "env:WEIR_TEST_VENDOR" } }
  - { id: elsewhere, url: "http://127.0.0.1:${portOf(lying)}/mcp", oauth: { of: person } }
users:
${["ada", "bo", "cy"].map((name) => `  - { id: ${name}_${tag}, email: ${email(name)}, org: ${ids.org}, role: member }`).join("\n")}
`,
    ).replace("unpriced] }", "unpriced], tools: [mine, ours, elsewhere] }"),
})

beforeEach(() => {
  authority.state.dishonest = {}
  authority.state.refreshStatus = 200
  authority.state.lifeS = 3600
  authority.state.delayMs = 0
})

interface Person {
  readonly control: string
  readonly runtime: string
}
const people = new Map<string, Person>()
const person = async (name: string): Promise<Person> => {
  const known = people.get(name)
  if (known !== undefined) return known
  const { accessToken } = await gateway().logIn(email(name))
  const control = `Bearer ${accessToken}`
  const reply = await fetch(`${gateway().baseUrl}/v1/tokens`, {
    method: "POST",
    headers: { authorization: control, "content-type": "application/json" },
    body: JSON.stringify({ name: "test", scopes: ["runtime"] }),
  })
  const minted = (await reply.json()) as { secret: string }
  const made = { control, runtime: `Bearer ${minted.secret}` }
  people.set(name, made)
  return made
}

const control = (path: string, authorization: string, method = "GET") =>
  fetch(`${gateway().baseUrl}${path}`, { method, headers: { authorization, "content-type": "application/json" } })

interface Answer {
  readonly result?: { readonly tools?: ReadonlyArray<{ name: string }>; readonly [member: string]: unknown }
  readonly error?: { readonly code: number; readonly message: string; readonly data?: object }
}
const version = "2026-07-28"
const ask = async (authorization: string, method: string, params: object, path: string, capabilities: object = {}) => {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": capabilities,
    "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
  }
  const name = "name" in params ? { "mcp-name": String(params.name) } : {}
  const reply = await fetch(`${gateway().baseUrl}${path}`, {
    method: "POST",
    headers: {
      authorization,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": version,
      "mcp-method": method,
      ...name,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }),
  })
  return (await reply.json()) as Answer
}
const call = (authorization: string, server = "mine", capabilities?: object) =>
  ask(authorization, "tools/call", { name: "whoami", arguments: {} }, `/mcp/${server}`, capabilities)

/** The cookie of a person's browser. */
const cookieOf = async (name: string): Promise<string> => {
  const token = await gateway().browserToken(await gateway().logIn(email(name)))
  return `weir_session=${token}`
}
/** Consents, and returns the reply of the callback. */
const consent = async (name: string, server = "mine", browser = name) => {
  const { control: authorization } = await person(name)
  const begun = await control(`/v1/tool-servers/${server}/connect`, authorization, "POST")
  if (begun.status !== 200) return begun
  const { url } = (await begun.json()) as { url: string }
  const back = (await fetch(url, { redirect: "manual" })).headers.get("location") ?? ""
  return fetch(back, { headers: { cookie: await cookieOf(browser), accept: "text/html" } })
}
const sql = (statement: string) => Effect.runPromise(gateway().sql.unsafe(statement))
const due = (what: "renew_at" | "expires_at = now(), renew_at") =>
  sql(`update tool_accounts set ${what} = now() where owner <> ''`)

describe("a person's account", () => {
  it("is asked for in the form that the client takes, and is connected once", async () => {
    const { runtime, control: authorization } = await person("ada")
    const listed = await ask(runtime, "tools/list", {}, "/mcp/mine")
    expect(listed.result?.tools?.map(({ name }) => name)).toEqual(["connect_account"])
    const plain = await call(runtime)
    expect(plain.error?.code).toBe(403)
    expect(plain.error?.message).toContain(`${gateway().baseUrl}/tools/connect/mine`)
    expect(await call(runtime, "mine", { elicitation: { url: {} } })).toMatchObject({
      result: {
        resultType: "input_required",
        inputRequests: { weir_account: { params: { mode: "url", url: `${gateway().baseUrl}/tools/connect/mine` } } },
      },
    })
    expect((await consent("ada")).status).toBe(200)
    expect(await call(runtime)).toMatchObject({ result: { content: [{ text: "me" }] } })
    expect((await ask(runtime, "tools/list", {}, "/mcp/mine")).result?.tools).toMatchObject([{ name: "whoami" }])
    expect(await (await control("/v1/tool-servers", authorization)).json()).toMatchObject({
      data: [
        { id: "mine", name: "Mine", state: "connected" },
        { id: "elsewhere", state: "missing" },
      ],
    })
    expect(authority.seen.consents.at(-1)?.get("resource")).toBe(mine.url)
    expect(authority.seen.consents.at(-1)?.get("scope")).toContain("offline_access")
  })

  it("is nobody else's, and keys have none", async () => {
    const { runtime } = await person("bo")
    expect((await call(runtime)).error?.code).toBe(403)
    const key = await call(`Bearer ${ids.key}~${testKey}`)
    expect(key.error?.message ?? "").not.toContain("/tools/connect")
    expect(key.error?.code).toBe(403)
  })

  it("is connected by its person's own browser only, and a state is used once", async () => {
    expect((await consent("bo", "mine", "ada")).status).toBe(403)
    const begun = await control("/v1/tool-servers/mine/connect", (await person("bo")).control, "POST")
    const { url } = (await begun.json()) as { url: string }
    const back = (await fetch(url, { redirect: "manual" })).headers.get("location") ?? ""
    const headers = { cookie: await cookieOf("bo"), accept: "text/html" }
    expect((await fetch(back, { headers })).status).toBe(200)
    expect((await fetch(back, { headers })).status).toBe(400)
    expect(authority.seen.registrations).toHaveLength(1)
  })

  it("is renewed once for many calls, and its refresh token is never used twice", async () => {
    const { runtime } = await person("ada")
    await consent("ada")
    authority.state.delayMs = 200
    await due("expires_at = now(), renew_at")
    await new Promise((resolve) => setTimeout(resolve, 2100))
    const before = authority.seen.grants.length
    const answers = await Promise.all(Array.from({ length: 20 }, () => call(runtime)))
    for (const answer of answers) expect(answer).toMatchObject({ result: { content: [{ text: "me" }] } })
    expect(authority.seen.grants.slice(before).map((form) => form.get("grant_type"))).toEqual(["refresh_token"])
    expect(authority.seen.reused).toBe(0)
  })

  it("waits while another node renews it", async () => {
    const { runtime } = await person("ada")
    await consent("ada")
    const before = authority.seen.grants.length
    await sql(
      "update tool_accounts set expires_at = now(), renew_at = now(), lease = gen_random_uuid(), lease_until = now() + interval '10 seconds' where owner <> ''",
    )
    await new Promise((resolve) => setTimeout(resolve, 2100))
    const called = call(runtime)
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(authority.seen.grants).toHaveLength(before)
    await sql(
      "update tool_accounts set expires_at = null, renew_at = null, lease = null, lease_until = null, revision = revision + 1 where owner <> ''",
    )
    expect(await called).toMatchObject({ result: { content: [{ text: "me" }] } })
    expect(authority.seen.grants).toHaveLength(before)
  })

  it("is renewed after a refusal of the server, and the call is sent again", async () => {
    const { runtime } = await person("ada")
    expect(await call(runtime)).toMatchObject({ result: { content: [{ text: "me" }] } })
    await sql("update tool_accounts set renewed_at = null")
    authority.state.accessToken = "another"
    const before = mine.runs.get("whoami") ?? 0
    expect(await call(runtime)).toMatchObject({ result: { content: [{ text: "me" }] } })
    expect(mine.runs.get("whoami")).toBe(before + 1)
  })

  it("goes on with its token while its authorisation server is out of order", async () => {
    const { runtime } = await person("ada")
    authority.state.refreshStatus = 503
    await due("renew_at")
    await new Promise((resolve) => setTimeout(resolve, 2100))
    expect(await call(runtime)).toMatchObject({ result: { content: [{ text: "me" }] } })
  })

  it("needs a new consent after it has ended at its authorisation server", async () => {
    const { runtime } = await person("ada")
    authority.state.refreshStatus = 400
    await due("expires_at = now(), renew_at")
    await new Promise((resolve) => setTimeout(resolve, 2100))
    expect((await call(runtime)).error?.message).toContain("/tools/connect/mine")
    authority.state.refreshStatus = 200
    await consent("ada")
    expect(await call(runtime)).toMatchObject({ result: { content: [{ text: "me" }] } })
  })

  it("is removed, and ended at its authorisation server", async () => {
    const { control: authorization, runtime } = await person("ada")
    expect((await control("/v1/tool-servers/mine/account", authorization, "DELETE")).status).toBe(204)
    expect((await control("/v1/tool-servers/mine/account", authorization, "DELETE")).status).toBe(404)
    expect(authority.seen.revoked).toHaveLength(1)
    await new Promise((resolve) => setTimeout(resolve, 2100))
    expect((await call(runtime)).error?.code).toBe(403)
  })

  it("is removed when its person is disabled", async () => {
    await consent("cy")
    const [user] = await Effect.runPromise(
      gateway().sql<{ id: string }>`select id from users where email = ${email("cy")}`,
    )
    await sql(`update users set status = 'disabled' where id = '${user?.id}'`)
    await expect
      .poll(
        async () =>
          (await Effect.runPromise(gateway().sql`select from tool_accounts where owner = ${user?.id}`)).length,
        {
          timeout: 10_000,
        },
      )
      .toBe(0)
  })

  it("is sealed in the database", async () => {
    const rows = JSON.stringify(await sql("select row_to_json(a) as row from tool_accounts a"))
    expect(rows).not.toContain("at_")
    expect(rows).not.toContain("rt_")
  })
})

describe("the platform's account", () => {
  it("is made with the secret of the client, for all callers", async () => {
    expect(await call(`Bearer ${ids.key}~${testKey}`, "ours")).toMatchObject({ result: { content: [{ text: "me" }] } })
    expect(authority.seen.grants.at(-1)?.get("resource")).toBe(ours.url)
  })

  it("can be seen and removed by an operator", async () => {
    const headers = { "x-svc-admin-key": gateway().adminKey }
    const listed = await gateway().call("GET", "/v1/admin/tool-accounts", undefined, headers)
    expect(await listed.json()).toMatchObject({ data: [{ id: "ours", state: "connected" }] })
    const gone = await gateway().call("DELETE", "/v1/admin/tool-accounts/ours", undefined, headers)
    expect(gone.status).toBe(204)
  })
})

const endless = (response: ServerResponse) => {
  response.writeHead(200, { "content-type": "application/json" })
  const more = () => {
    if (response.destroyed) return
    response.write("x".repeat(64 * 1024))
    setImmediate(more)
  }
  more()
}

describe("a dishonest authorisation server", () => {
  const wellKnown = "/.well-known/oauth-authorization-server"
  it.each([
    ["metadata of another issuer", { metadata: { issuer: "https://honest.example" } }, 502],
    ["no PKCE", { metadata: { code_challenge_methods_supported: undefined } }, 502],
    ["a private token endpoint", { metadata: { token_endpoint: "http://169.254.169.254/token" } }, 502],
    ["a script as the address of consents", { metadata: { authorization_endpoint: "javascript:alert(1)" } }, 502],
    ["endless metadata", { at: { [wellKnown]: endless } }, 502],
    ["an endless answer with tokens", { at: { "/token": endless } }, 502],
    [
      "a redirect of the token endpoint",
      {
        at: {
          "/token": (response: ServerResponse) => response.writeHead(307, { location: "http://127.0.0.1:9/" }).end(),
        },
      },
      502,
    ],
    ["another issuer in its callback", { callback: { iss: "https://honest.example" } }, 502],
    ["no issuer in its callback", { callback: { iss: undefined } }, 502],
    [
      "an identity for another client",
      { tokens: { id_token: `e30.${Buffer.from('{"aud":"other"}').toString("base64url")}.x` } },
      502,
    ],
    ["a token of another type", { tokens: { token_type: "mac" } }, 502],
    ["a token that is more than one header", { tokens: { access_token: "a\r\nx: y" } }, 502],
    ["a refusal", { callback: { code: undefined, error: "access_denied" } }, 403],
  ])("with %s gives no account", async (_, dishonest, status) => {
    authority.state.dishonest = dishonest
    expect((await consent("bo")).status).toBe(status)
  })
})

describe("a server of tools that describes itself", () => {
  const json = (value: object) => (response: ServerResponse) =>
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value))
  it.each<[string, (response: ServerResponse, url: string) => unknown, string]>([
    [
      "with a private authorisation server",
      (response, resource) => json({ resource, authorization_servers: [foreign.issuer] })(response),
      "not allowed",
    ],
    [
      "with a name of a private authorisation server",
      (response, resource) => json({ resource, authorization_servers: ["https://localhost:9"] })(response),
      "not allowed",
    ],
    [
      "as another resource",
      (response) => json({ resource: mine.url, authorization_servers: [foreign.issuer] })(response),
      "another resource",
    ],
    [
      "without an authorisation server",
      (response, resource) => json({ resource })(response),
      "names no authorisation server",
    ],
    [
      "with an authorisation server that sends people to another one",
      (response, resource) => {
        const issuer = new URL(resource).origin
        json({
          resource,
          authorization_servers: [issuer],
          issuer,
          authorization_endpoint: "https://honest.example/authorize",
          token_endpoint: `${issuer}/token`,
          code_challenge_methods_supported: ["S256"],
        })(response)
      },
      "at another one",
    ],
    ["without end", endless, "cannot be reached"],
    [
      "by a redirect to a private address",
      (response) => response.writeHead(302, { location: foreign.origin }).end(),
      "does not register",
    ],
  ])("%s gives no account", async (_, describing, message) => {
    describeItself = describing
    const reply = await consent("ada", "elsewhere")
    expect(reply.status).toBe(502)
    expect(await reply.text()).toContain(message)
    expect(foreign.seen.registrations).toHaveLength(0)
  })
})
