/** The conformance suite of the Model Context Protocol against the gateway as a client of servers: their tools and their accounts. */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { json } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { afterAll, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../../src/testing/gateway.ts"
import { portOf } from "../../../src/testing/port.ts"
import { readChallenge } from "../../../src/tools/oauth/challenge.ts"
import { useGateway } from "../../support/gateway.ts"

const results = mkdtempSync(join(tmpdir(), "weir-conformance-"))
afterAll(() => rmSync(results, { recursive: true, force: true }))

const ids = newTestIds()
const email = `ada.${ids.org}@example.com`
const servers: Array<string> = []
const catalogue = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(
    urls,
    ids,
    `users:\n  - { id: ada_${ids.org}, email: ${email}, org: ${ids.org}, role: member }\ntoolServers:\n${servers.join("\n")}\n`,
  ).replace("unpriced] }", "unpriced], tools: ['*'] }")
const gateway = useGateway({
  ids,
  config: { authPerMinute: 1_000_000 },
  catalogue: (urls) => catalogue(urls).replace("toolServers:\n\n", ""),
})

interface Scenario {
  readonly scenario: string
  readonly server: string
  readonly context: {
    readonly client_id?: string
    readonly client_secret?: string
    readonly toolCalls?: ReadonlyArray<{ readonly name: string; readonly arguments: object }>
  }
}

/** The authorisation server of a server, as an operator finds it in its documentation. */
const issuerOf = async (server: string): Promise<string | undefined> => {
  const refused = await fetch(server, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
  })
  const { resourceMetadata } = readChallenge(refused.headers.get("www-authenticate") ?? undefined)
  const { origin, pathname } = new URL(server)
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`
  for (const url of resourceMetadata === undefined ? [`${wellKnown}${pathname}`, wellKnown] : [resourceMetadata]) {
    const reply = await fetch(url)
    if (!reply.ok) continue
    const found = (await reply.json()) as { authorization_servers?: ReadonlyArray<string> }
    return found.authorization_servers?.[0]
  }
  return undefined
}

const declare = async (at: number, { scenario, server, context }: Scenario) => {
  const id = `s${at}`
  const { client_id: clientId, client_secret: secret } = context
  const oauth: Array<string> = []
  if (scenario.startsWith("auth/")) {
    const issuer = await issuerOf(server)
    oauth.push(`of: ${scenario.includes("client-credentials") ? "platform" : "person"}`)
    if (issuer !== undefined) oauth.push(`issuer: "${issuer}"`)
    if (clientId !== undefined && issuer !== undefined) oauth.push(`clientId: ${clientId}`)
    if (secret !== undefined) {
      const file = join(results, `${id}-secret`)
      writeFileSync(file, secret)
      oauth.push(`clientSecret: "file:${file}"`)
    }
  }
  servers[at] = `  - { id: ${id}, url: "${server}"${oauth.length > 0 ? `, oauth: { ${oauth.join(", ")} }` : ""} }`
  const { vendor, second } = gateway()
  await Effect.runPromise(gateway().catalogue.apply(catalogue({ vendor: vendor.url, second: second.url })))
  return id
}

let waiting = Promise.resolve()
/** Catalogues are applied one after the other. */
const inTurn = <A>(work: () => Promise<A>): Promise<A> => {
  const done = waiting.then(work)
  waiting = done.then(
    () => {},
    () => {},
  )
  return done
}

const version = "2026-07-28"
const runScenario = async (scenario: Scenario): Promise<string> => {
  const login = await gateway().logIn(email)
  const bearer = `Bearer ${login.accessToken}`
  const post = (path: string, authorization: string, body: object, headers = {}) =>
    fetch(`${gateway().baseUrl}${path}`, {
      method: "POST",
      headers: {
        authorization,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: JSON.stringify(body),
    })
  const minted = await post("/v1/tokens", bearer, { name: "test", scopes: ["runtime"] })
  const runtime = `Bearer ${((await minted.json()) as { secret: string }).secret}`
  const at = servers.push("") - 1
  servers[at] = `  - { id: s${at}, url: "http://127.0.0.1:9" }`
  const server = await inTurn(() => declare(at, scenario))
  const ask = async (method: string, params: object) => {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
    }
    const name = "name" in params ? { "mcp-name": String(params.name) } : {}
    // A client of the first generation sends no headers of arguments: the gateway makes them.
    const isOld = scenario.scenario.startsWith("http-")
    const headers = isOld ? {} : { "mcp-protocol-version": version, "mcp-method": method, ...name }
    const message = { jsonrpc: "2.0", id: 1, method, params: isOld ? params : { ...params, _meta: meta } }
    const text = await (await post(`/mcp/${server}`, runtime, message, headers)).text()
    const data = text.startsWith("{") ? text : (/data: (.*)\n\n$/.exec(text)?.[1] ?? "{}")
    return JSON.parse(data) as {
      readonly result?: {
        readonly inputRequests?: Readonly<Record<string, unknown>>
        readonly requestState?: string
        readonly tools?: ReadonlyArray<{
          readonly name: string
          readonly inputSchema: { readonly properties?: object }
        }>
      }
      readonly error?: { readonly message: string }
    }
  }
  const consent = async () => {
    const begun = await post(`/v1/tool-servers/${server}/connect`, bearer, {})
    if (!begun.ok) throw new Error(await begun.text())
    const { url } = (await begun.json()) as { url: string }
    const back = (await fetch(url, { redirect: "manual" })).headers.get("location") ?? ""
    const cookie = `weir_session=${await gateway().browserToken(login)}`
    const ended = await fetch(back, { headers: { cookie, accept: "application/json" } })
    if (!ended.ok) throw new Error(`the consent failed: ${ended.status}`)
  }
  if (scenario.scenario.startsWith("auth/") && !scenario.scenario.includes("client-credentials")) await consent()
  const log: Array<string> = []
  let names = await ask("tools/list", {})
  // The authorisation server may have changed: the operator writes the new one into the catalogue.
  for (
    let tries = 0;
    tries < 2 && (names.result?.tools?.[0]?.name ?? "connect_account") === "connect_account";
    tries++
  ) {
    if (!scenario.scenario.startsWith("auth/")) break
    await inTurn(() => declare(at, scenario))
    await consent()
    names = await ask("tools/list", {})
  }
  log.push(JSON.stringify(names))
  const listed = names.result?.tools ?? []
  const calls =
    scenario.context.toolCalls ??
    listed.map(({ name, inputSchema: { properties = {} } }) => ({
      name,
      arguments: Object.fromEntries(
        Object.keys(properties).map((each) => [each, each === "schema" ? listed[0]?.inputSchema : 1]),
      ),
    }))
  for (const { name, arguments: given } of calls) {
    let answer = await ask("tools/call", { name, arguments: given })
    for (let tries = 0; tries < 3 && answer.error?.message.includes("/tools/connect/") === true; tries++) {
      await inTurn(() => declare(at, scenario))
      await consent()
      answer = await ask("tools/call", { name, arguments: given })
    }
    // A server that asks something gets an answer, and its own state back.
    for (let tries = 0; tries < 3 && answer.result?.inputRequests !== undefined; tries++) {
      const { inputRequests, requestState } = answer.result
      const response = { action: "accept", content: { confirmed: true } }
      const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((each) => [each, response]))
      const more = { inputResponses, ...(requestState !== undefined && { requestState }) }
      answer = await ask("tools/call", { name, arguments: given, ...more })
    }
    log.push(JSON.stringify(answer))
  }
  return log.join("\n")
}

const control = createServer(async (request, response) => {
  try {
    response.end(await runScenario((await json(request)) as Scenario))
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
})
await new Promise<void>((resolve) => control.listen(0, "127.0.0.1", resolve))
afterAll(() => {
  control.closeAllConnections()
  control.close()
})

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const suite = path("../../../node_modules/@modelcontextprotocol/conformance/dist/index.js")

it("passes every scenario of clients, but those with a reason", async () => {
  const command = `${process.execPath} ${path("../../support/conformance-client.ts")} http://127.0.0.1:${portOf(control)}`
  const child = spawn(
    process.execPath,
    [
      suite,
      "client",
      "--command",
      command,
      "--suite",
      "all",
      "--timeout",
      "60000",
      "--expected-failures",
      path("expected-client-failures.yaml"),
      "-o",
      results,
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  )
  let output = ""
  child.stdout.on("data", (chunk) => (output += String(chunk)))
  child.stderr.on("data", (chunk) => (output += String(chunk)))
  const code = await new Promise((resolve) => child.once("exit", resolve))
  const summary = output.slice(output.indexOf("=== SUITE SUMMARY ==="))
  expect(code, summary).toBe(0)
}, 240_000)
