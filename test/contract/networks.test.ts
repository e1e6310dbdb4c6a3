/** Vendors behind proxies, secrets in files, and what a gateway reveals about itself, over HTTP. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { writeWholeFile } from "../../src/files/whole-file.ts"
import { startGateway } from "../../src/testing/gateway.ts"
import { hello, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { portOf } from "../../src/testing/port.ts"
import { balanceOf, errorOf, eventually, holdsOf, replyOf, useGateway } from "../support/gateway.ts"
import { openTunnel } from "../support/tunnel.ts"

const dir = mkdtempSync(join(tmpdir(), "weir-networks-"))
const credential = join(dir, "credential")
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** A proxy, which may keep silent. */
let asked: Array<string> = []
let isSilent = false
const held = new Set<Socket>()
const proxy = createServer().on("connect", (request, socket: Socket) => {
  asked.push(request.url ?? "")
  held.add(socket)
  socket.on("error", () => {})
  if (isSilent) return
  const [host = "", port] = (request.url ?? "").split(":")
  openTunnel(socket, host, Number(port))
})
beforeAll(async () => {
  writeFileSync(credential, "first-credential\n")
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve))
})
beforeEach(() => {
  asked = []
  isSilent = false
})
afterAll(() => {
  for (const socket of held) socket.destroy()
  proxy.close()
})

const ids = newTestIds()
const withNetworks = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(urls, ids)
    .replace(
      "models:\n",
      `  - { id: proxied, dialect: openai-chat, baseUrl: "${urls.vendor}/v1", credential: "file:${credential}", proxy: "http://127.0.0.1:${portOf(proxy)}", timeouts: { connect: 300ms } }
searchProviders:
  - { id: found, name: Found, vendor: brave, baseUrl: "${urls.second}", credential: "env:WEIR_TEST_VENDOR", pricePerCall: "0.01", currency: USD, proxy: "http://127.0.0.1:${portOf(proxy)}" }
models:
  - { handle: proxied, maxOutput: 100, targets: [{ vendor: proxied, model: a }] }
`,
    )
    .replace(
      "prices:\n",
      `prices:\n  - { model: proxied, currency: USD, input: "3", output: "15", from: 2026-01-01 }\n`,
    )
    .replace("models: [main,", "models: [main, proxied,")

describe("a vendor behind a proxy", () => {
  const gateway = useGateway({ ids, catalogue: withNetworks, backgroundSpeed: 10 })
  const exchange = () => gateway().exchange({ ...hello, model: "proxied" })

  it("answers through a tunnel, which is kept for the next call", async () => {
    expect((await replyOf(await exchange())).stop).toBe("end")
    expect((await replyOf(await exchange())).stop).toBe("end")
    expect(asked).toEqual([new URL(gateway().vendor.url).host])
    expect(await holdsOf(gateway())).toMatchObject([{ state: "settled" }, { state: "settled" }])
  })

  it("a search too", async () => {
    gateway().second.script((call) => {
      call.head(200, { "content-type": "application/json" })
      call.end(JSON.stringify({ web: { results: [{ title: "R", url: "https://r.test", description: "d" }] } }))
    })
    expect((await gateway().call("POST", "/t1/websearch", { query: "rivers" })).status).toBe(200)
    expect(asked).toEqual([new URL(gateway().second.url).host])
  })

  it("the connect tier counts the tunnel; nothing stays held", async () => {
    const before = await balanceOf(gateway())
    isSilent = true
    // The idle connection of the calls before must be gone.
    for (const socket of held) socket.destroy()
    expect(await errorOf(await exchange())).toMatchObject({
      status: 504,
      code: "upstream_connect_timeout",
      detail: { tier: "connect", timeoutMs: 300 },
    })
    await eventually(async () => (await balanceOf(gateway())) === before)
  })

  it("its credential is read again when its file is replaced", async () => {
    const sent = () => gateway().vendor.calls.at(-1)?.headers["authorization"]
    await exchange()
    expect(sent()).toBe("Bearer first-credential")
    writeWholeFile(credential, "second-credential\n")
    await eventually(async () => {
      expect((await exchange()).status).toBe(200)
      return sent() === "Bearer second-credential"
    })
    // While a file is replaced in two steps, calls go on with what it had.
    rmSync(credential)
    await new Promise((resolve) => setTimeout(resolve, 400))
    await exchange()
    expect(sent()).toBe("Bearer second-credential")
  })

  const apply = async (network: string) => {
    const { vendor, second, call, adminKey } = gateway()
    const text = testCatalogue({ vendor: vendor.url, second: second.url }, ids).replace(
      "models:\n",
      `  - { id: x, dialect: openai-chat, baseUrl: "${vendor.url}", ${network} }\nmodels:\n`,
    )
    return call("POST", "/v1/admin/catalogue", { text, dryRun: true }, { "x-svc-admin-key": adminKey })
  }

  it.each([
    [`proxy: "env:UNHEARD"`, "x: there is nothing at env:UNHEARD; calls to it will fail"],
    [`tls: { cert: "file:/unheard", key: "file:/unheard" }`, "x: there is nothing at file:/unheard"],
    [`tls: { ca: "-----BEGIN CERTIFICATE-----no" }`, "x: its tls has no valid certificate and key in PEM"],
  ])("applying warns of %s", async (network, warning) => {
    const reply = await apply(network)
    expect(reply.status).toBe(200)
    expect(JSON.stringify(await reply.json())).toContain(warning)
  })

  it.each([
    [`proxy: "http://ada:secret@proxy"`, "proxy"],
    [`proxy: "socks5://proxy"`, "proxy"],
    [`proxy: "proxy:3128"`, "proxy"],
    [`tls: { key: "-----BEGIN PRIVATE KEY-----" }`, "tls.key"],
    [`tls: { ca: "${"-----BEGIN CERTIFICATE-----".padEnd(70_000, "A")}" }`, "tls.ca"],
    [`tls: { verify: false }`, "tls.verify"],
  ])("applying refuses %.40s", async (network, path) => {
    const { status, detail } = await errorOf(await apply(network))
    expect(status).toBe(400)
    expect(JSON.stringify(detail)).toContain(path)
    expect(JSON.stringify(detail)).not.toContain("secret@")
  })
})

describe("what a gateway tells of itself beyond development", () => {
  const gateway = useGateway({
    backgroundSpeed: 10,
    config: { env: "production", openDetails: undefined, metricsToken: Redacted.make("scraper-token") },
  })
  const get = (path: string, headers: Record<string, string> = {}) => fetch(`${gateway().baseUrl}${path}`, { headers })
  const basic = (secret: string) => ({ authorization: `Basic ${btoa(`ops:${secret}`)}` })

  it.each(["/metrics", "/docs"])("%s needs the admin key or the token of scrapers", async (path) => {
    const refused = [
      {},
      { "x-svc-admin-key": "wrong" },
      { authorization: "Bearer wrong" },
      { authorization: "Bearer" },
      { authorization: "Basic !!" },
      { authorization: `Basic ${btoa("scraper-token")}` },
      { "x-svc-key-id": gateway().keyId, "x-svc-key": gateway().key },
    ]
    for (const headers of refused) {
      const reply = await get(path, headers)
      expect(reply.headers.get("www-authenticate")).toBe('Basic realm="Weir"')
      expect(await errorOf(reply)).toMatchObject({ status: 401, code: "admin_key_invalid" })
    }
    const { adminKey } = gateway()
    const admitted = [
      { "x-svc-admin-key": adminKey },
      { authorization: `Bearer ${adminKey}` },
      { authorization: "bearer scraper-token" },
      basic("scraper-token"),
      basic(adminKey),
    ]
    for (const headers of admitted) expect((await get(path, headers)).status).toBe(200)
  })

  it("/readyz tells whether it is ready, and how only to them", async () => {
    expect(await (await get("/readyz")).json()).toEqual({ status: "ready" })
    expect(await (await get("/readyz", basic("scraper-token"))).json()).toMatchObject({
      status: "ready",
      postgres: true,
    })
  })

  it("/healthz says nothing but ok, and the contract of the API is a detail like its page", async () => {
    expect(await (await get("/healthz")).json()).toEqual({ status: "ok" })
    expect((await get("/openapi.json")).status).toBe(401)
    expect((await get("/openapi.json", basic("scraper-token"))).status).toBe(200)
  })
})

describe("a port for operators", () => {
  it("has metrics, reference and readiness, open; the port of clients has no metrics", async () => {
    const free = await new Promise<number>((resolve) => {
      const server = createServer().listen(0, "127.0.0.1", () => {
        const port = portOf(server)
        server.close(() => resolve(port))
      })
    })
    await Effect.gen(function* () {
      const { baseUrl } = yield* startGateway({
        config: { env: "production", openDetails: undefined, metricsPort: free },
      })
      const get = (url: string) => Effect.promise(() => fetch(url))
      for (const path of ["/metrics", "/docs", "/readyz", "/healthz"]) {
        expect((yield* get(`http://127.0.0.1:${free}${path}`)).status, path).toBe(200)
      }
      expect((yield* get(`http://127.0.0.1:${free}/t1/config`)).status).toBe(404)
      expect((yield* get(`${baseUrl}/metrics`)).status).toBe(404)
      expect((yield* get(`${baseUrl}/docs`)).status).toBe(401)
    }).pipe(Effect.scoped, Effect.runPromise)
  })
})
