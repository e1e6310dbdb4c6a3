/**
 * Real clients: the official SDKs of both generations and the official checks of authorization servers; and clients whose id
 * is the address of their document.
 */
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { createServer as createSecureServer } from "node:https"
import { rootCertificates, setDefaultCACertificates } from "node:tls"
import { fileURLToPath } from "node:url"
import {
  Client as StatelessClient,
  StreamableHTTPClientTransport as StatelessTransport,
} from "@modelcontextprotocol/client"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Redacted } from "effect"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../../src/testing/gateway.ts"
import { portOf } from "../../../src/testing/port.ts"
import { certificate, privateKey } from "../../support/certificate.ts"
import { freePort } from "../../support/free-port.ts"
import { useGateway } from "../../support/gateway.ts"
import { answerOf, callback, makeOauthClient } from "../../support/oauth-client.ts"
import { startSmtp } from "../../support/smtp.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"

setDefaultCACertificates([...rootCertificates, certificate])
const smtp = await startSmtp()
const server = await startToolServer({ isStateless: false, tools: { echo: () => textResult("hi") } })

/** Publishes documents of clients. */
let documents: Record<string, { status?: number; headers?: Record<string, string>; body: string }> = {}
let fetched: Array<string> = []
const publisher = createSecureServer({ cert: certificate, key: privateKey }, (request, response) => {
  fetched.push(request.url ?? "")
  const { status = 200, headers = {}, body } = documents[request.url ?? ""] ?? { status: 404, body: "" }
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(body)
})
await new Promise<void>((resolve) => publisher.listen(0, "localhost", resolve))
const published = `https://localhost:${portOf(publisher)}`
afterAll(async () => {
  server.stop()
  publisher.closeAllConnections()
  publisher.close()
  await smtp.stop()
})
beforeEach(() => {
  fetched = []
})

const tag = randomUUID().slice(0, 8)
const email = `ada.${tag}@example.com`
const ids = newTestIds()
const catalogue = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(
    urls,
    ids,
    `toolServers:
  - { id: one, url: "${server.url}" }
users:
  - { id: ada_${tag}, email: ${email}, org: ${ids.org}, role: member, tools: [one] }
`,
  ).replace("unpriced] }", "unpriced], tools: ['*'] }")
const config = { smtpUrl: Redacted.make(smtp.url), authPerMinute: 1_000_000 }
const gateway = useGateway({ ids, catalogue, config: { ...config, egressAllow: ["127.0.0.0/8", "::1/128"] } })
const guarded = useGateway({ config })
const baseUrl = () => gateway().baseUrl
const client = makeOauthClient(baseUrl, smtp)

const browser = client.newBrowser()
let isLoggedIn = false
/** Opens an address as a person who approves it. @returns the address at which the client continues */
const approve = async (url: URL | string): Promise<URL> => {
  await browser.visit(url)
  if (!isLoggedIn) await client.logIn(browser, email)
  isLoggedIn = true
  return browser.shown.url.pathname === "/oauth/consent"
    ? (await browser.submit("oauth/consent", { decision: "approve" })).url
    : browser.shown.url
}

/** The storage of an SDK's client, which opens addresses for its person. */
const makeProvider = (documentUrl?: string) => {
  const kept = { verifier: "", answer: new URL("http://none") }
  let information: { client_id: string; client_secret?: string } | undefined
  let tokens: { access_token: string; token_type: string; refresh_token?: string } | undefined
  return {
    kept,
    tokensNow: () => tokens,
    redirectUrl: callback,
    ...(documentUrl !== undefined && { clientMetadataUrl: documentUrl }),
    clientMetadata: { client_name: "SDK", redirect_uris: [callback], token_endpoint_auth_method: "none" },
    clientInformation: () => information,
    saveClientInformation: (given: { client_id: string }) => {
      information = given
    },
    tokens: () => tokens,
    saveTokens: (given: { access_token: string; token_type: string; refresh_token?: string }) => {
      tokens = given
    },
    redirectToAuthorization: async (url: URL) => {
      kept.answer = await approve(url)
    },
    saveCodeVerifier: (verifier: string) => {
      kept.verifier = verifier
    },
    codeVerifier: () => kept.verifier,
    expire: () => {
      if (tokens !== undefined) tokens = { ...tokens, access_token: "oat_expired" }
    },
  }
}
const codeAt = (url: URL) => url.searchParams.get("code") ?? ""

describe("the official SDKs", () => {
  it.each(["", "/one"])("of the first generation log in, call tools and refresh at /mcp%s", async (place) => {
    const provider = makeProvider()
    const url = new URL(`${baseUrl()}/mcp${place}`)
    const transport = new StreamableHTTPClientTransport(url, { authProvider: provider })
    await expect(new Client({ name: "t", version: "1" }).connect(transport)).rejects.toThrow()
    await transport.finishAuth(codeAt(provider.kept.answer))
    const sdk = new Client({ name: "t", version: "1" })
    await sdk.connect(new StreamableHTTPClientTransport(url, { authProvider: provider }))
    const name = place === "" ? "one__echo" : "echo"
    expect(await sdk.callTool({ name, arguments: {} })).toMatchObject({ content: [{ text: "hi" }] })
    const before = provider.tokensNow()?.refresh_token
    provider.expire()
    expect((await sdk.listTools()).tools.map((tool) => tool.name)).toEqual([name])
    expect(provider.tokensNow()?.refresh_token).not.toBe(before)
    await sdk.close()
  })

  it("of the second generation log in and call tools, with the issuer in the answer", async () => {
    const provider = makeProvider()
    const url = new URL(`${baseUrl()}/mcp`)
    const transport = new StatelessTransport(url, { authProvider: provider })
    const options = { versionNegotiation: { mode: "auto" } } as const
    await expect(new StatelessClient({ name: "t", version: "1" }, options).connect(transport)).rejects.toThrow()
    await transport.finishAuth(provider.kept.answer.searchParams)
    const sdk = new StatelessClient({ name: "t", version: "1" }, options)
    await sdk.connect(new StatelessTransport(url, { authProvider: provider }))
    expect((await sdk.listTools()).tools.map(({ name }) => name)).toEqual(["one__echo"])
    await sdk.close()
  })
})

const document = (path: string, more: object = {}) => ({
  [path]: {
    body: JSON.stringify({
      client_id: `${published}${path}`,
      client_name: "Published",
      redirect_uris: ["http://127.0.0.1/callback", "https://client.example.com/back"],
      ...more,
    }),
  },
})
const visit = (clientId: string, more: Record<string, string> = {}) =>
  browser.visit(client.newRequest(clientId, more).url)

describe("a client whose id is the address of its document", () => {
  it("is connected without a registration, shown with its publisher, and its document is kept", async () => {
    documents = document("/client.json")
    const id = `${published}/client.json`
    const asked = client.newRequest(id)
    const answer = await approve(asked.url)
    expect(answer.searchParams.get("iss")).toBe(baseUrl())
    const shown = await visit(id)
    expect(shown.html).toContain(`<strong>${new URL(published).host}</strong>`)
    expect(shown.html).toContain("on this computer")
    const tokens = await client.token({
      grant_type: "authorization_code",
      code: codeAt(answer),
      redirect_uri: callback,
      client_id: id,
      code_verifier: asked.verifier,
    })
    expect(tokens.status).toBe(200)
    expect(fetched).toEqual(["/client.json"])
  })

  it.each([
    ["of another address", document("/a.json", { client_id: `${published}/b.json` })],
    ["without addresses", document("/a.json", { redirect_uris: [] })],
    ["with a secret", document("/a.json", { client_secret: "x" })],
    ["with a shared secret", document("/a.json", { token_endpoint_auth_method: "client_secret_basic" })],
    ["with an address of no client", document("/a.json", { redirect_uris: [callback, "http://evil.example/"] })],
    ["that is no JSON", { "/a.json": { body: "<html>" } }],
    ["that is too large", { "/a.json": { body: `{"x":"${"y".repeat(20_000)}"}` } }],
    ["that is elsewhere", { "/a.json": { status: 302, headers: { location: "/client.json" }, body: "" } }],
    ["that is not there", {}],
  ])("%s is refused", async (_, these) => {
    documents = { ...document("/client.json"), ...these }
    const shown = await visit(`${published}/a.json`)
    expect(shown.status).toBe(400)
    expect(fetched).toEqual(["/a.json"])
  })

  it("must be an HTTPS address in one spelling, and public", async () => {
    documents = document("/client.json")
    for (const id of [
      "https://localhost/",
      `${published}/client.json?x=1`,
      `${published}/client.json#x`,
      `${published}/a/../client.json`,
      published.replace("https", "http"),
      `${published.replace("https://", "https://u:p@")}/client.json`,
    ])
      expect((await visit(id)).status).toBe(400)
    expect(fetched).toEqual([])
    const inside = new URLSearchParams({ client_id: `${published}/client.json`, response_type: "code" })
    expect((await fetch(`${guarded().baseUrl}/oauth/authorize?${inside}`)).status).toBe(400)
    const metadata = new URLSearchParams({ client_id: "https://169.254.169.254/latest/meta-data" })
    expect((await fetch(`${guarded().baseUrl}/oauth/authorize?${metadata}`)).status).toBe(400)
    expect(fetched).toEqual([])
  })

  it("is sent only to addresses of its document", async () => {
    documents = document("/other.json")
    const id = `${published}/other.json`
    expect((await visit(id, { redirect_uri: "https://client.example.com/other" })).status).toBe(400)
    expect((await visit(id, { redirect_uri: "https://client.example.com/back" })).url.pathname).toBe("/oauth/consent")
  })
})

describe("the official checks of authorization servers", () => {
  it("pass", async () => {
    const port = await freePort()
    const { client_id } = await client.registered({ redirect_uris: [`http://127.0.0.1:${port}/callback`] })
    const program = fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"))
    const given = ["authorization", "--url", baseUrl(), "--client-id", client_id]
    const more = ["--resource", `${baseUrl()}/mcp`, "--port", String(port), "--verbose"]
    let shown = ""
    let opened = false
    const passed = await new Promise<boolean>((resolve) => {
      const check = execFile(process.execPath, [program, ...given, ...more], (error) => resolve(error === null))
      const read = (chunk: string) => {
        shown += chunk
        const url = /https?:\/\/\S+\/oauth\/authorize\?\S+/.exec(shown)?.[0]
        if (url === undefined || opened) return
        opened = true
        void approve(url).then((answer) => fetch(answer))
      }
      check.stdout?.on("data", read)
      check.stderr?.on("data", read)
    })
    expect({ passed, shown: passed ? "" : shown }).toEqual({ passed: true, shown: "" })
    expect(opened).toBe(true)
    expect(shown).not.toMatch(/FAILURE|WARNING/)
  })
})

it("a client learns nothing from the answer of a person who is not asked", async () => {
  const { client_id } = await client.registered()
  const shown = await browser.visit(client.newRequest(client_id, { prompt: "none" }).url)
  expect(answerOf(shown)).toMatchObject({ error: "interaction_required" })
})
