/**
 * Each step of a login at another node: registration, request, login, consent, code, refresh and call. On servers, two nodes
 * have one database; with an embedded database there is one node.
 */
import { createServer, request as sendRequest } from "node:http"
import { Effect, Exit, Redacted, Scope } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { newTestIds, startGateway, type TestGateway, testCatalogue } from "../../../src/testing/gateway.ts"
import { portOf } from "../../../src/testing/port.ts"
import { testStores } from "../../../src/testing/stores.ts"
import { eventually } from "../../support/gateway.ts"
import { answerOf, callback, makeOauthClient } from "../../support/oauth-client.ts"
import { startSmtp } from "../../support/smtp.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"

const smtp = await startSmtp()
const tools = await startToolServer({ isStateless: false, tools: { echo: () => textResult("hi") } })
const ids = newTestIds()
const email = `ada.${ids.org}@example.com`
const scope = Scope.makeUnsafe()
let nodes: ReadonlyArray<TestGateway> = []
/** The node that answered each request. */
const answered: Array<string> = []

/** A balancer that never gives two requests in a row to one node. */
const balancer = createServer((request, response) => {
  const at = answered.length % nodes.length
  answered.push(`${at} ${request.method} ${request.url?.split("?")[0]}`)
  const { hostname, port } = new URL(nodes[at]?.baseUrl ?? "")
  const { url: path, method, headers } = request
  request.pipe(
    sendRequest({ hostname, port, path, method, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(response)
    }),
  )
})
await new Promise<void>((resolve) => balancer.listen(0, "127.0.0.1", resolve))
const baseUrl = `http://127.0.0.1:${portOf(balancer)}`

beforeAll(async () => {
  const start = Effect.gen(function* () {
    const stores = yield* testStores
    const config = {
      ...stores,
      publicUrl: baseUrl,
      masterKey: Redacted.make("a".repeat(64)),
      smtpUrl: Redacted.make(smtp.url),
      authPerMinute: 1_000_000,
    }
    const catalogue = (urls: { readonly vendor: string; readonly second: string }) =>
      testCatalogue(
        urls,
        ids,
        `toolServers:\n  - { id: one, url: "${tools.url}" }
users:\n  - { id: u_${ids.org}, email: ${email}, org: ${ids.org}, role: member, tools: [one] }\n`,
      ).replace("unpriced] }", "unpriced], tools: ['*'] }")
    const first = yield* startGateway({ ids, config, catalogue })
    if (stores.databaseUrl === undefined) return [first]
    return [first, yield* startGateway({ ids, config, catalogue })]
  })
  nodes = await Effect.runPromise(Scope.provide(start, scope))
}, 120_000)
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  balancer.closeAllConnections()
  balancer.close()
  tools.stop()
  await smtp.stop()
})

const client = makeOauthClient(() => baseUrl, smtp)
const mcp = (token: string) =>
  fetch(`${baseUrl}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  })
const send = async (fields: Record<string, string>) => {
  const response = await client.token(fields)
  return { status: response.status, ...JSON.parse(await response.text()) }
}

it("any node serves any step, ten times, whichever is the first", async () => {
  const browser = client.newBrowser()
  for (let round = 0; round < 10; round++) {
    // Each round begins at the other node.
    if (round % 2 === 1) await fetch(`${baseUrl}/.well-known/oauth-authorization-server`)
    const { client_id } = await client.registered()
    const asked = client.newRequest(client_id)
    const shown = await browser.visit(asked.url)
    if (shown.url.pathname === "/login") await client.logIn(browser, email)
    const { code = "", state, iss } = answerOf(await browser.submit("oauth/consent", { decision: "approve" }))
    expect([state, iss]).toEqual([asked.state, baseUrl])
    const fields = { code, redirect_uri: callback, client_id, code_verifier: asked.verifier }
    const given = await send({ grant_type: "authorization_code", ...fields })
    expect(given.status).toBe(200)
    expect((await mcp(given.access_token)).status).toBe(200)
    const next = await send({ grant_type: "refresh_token", refresh_token: given.refresh_token, client_id })
    expect(next.status).toBe(200)
    expect([(await mcp(next.access_token)).status, (await mcp(next.access_token)).status]).toEqual([200, 200])
    // The replay reaches the other node, and ends the connection at both.
    expect((await send({ grant_type: "authorization_code", ...fields })).error).toBe("invalid_grant")
    await eventually(async () => {
      const statuses = [(await mcp(next.access_token)).status, (await mcp(next.access_token)).status]
      return statuses.every((status) => status === 401)
    })
  }
  const used = new Set(answered.map((line) => line.split(" ")[0]))
  expect(used.size).toBe(nodes.length)
}, 120_000)

it("many exchanges of one code and one refresh token at once succeed once", async () => {
  const browser = client.newBrowser()
  const { client_id } = await client.registered()
  const asked = client.newRequest(client_id)
  await browser.visit(asked.url)
  await client.logIn(browser, email)
  const { code = "" } = answerOf(await browser.submit("oauth/consent", { decision: "approve" }))
  const fields = { code, redirect_uri: callback, client_id, code_verifier: asked.verifier }
  const all = await Promise.all([1, 2, 3, 4, 5, 6].map(() => send({ grant_type: "authorization_code", ...fields })))
  expect(all.filter(({ status }) => status === 200).length).toBe(1)
}, 60_000)
