/** A gateway below a path prefix that its proxy keeps, and the addresses in its documents. */
import { once } from "node:events"
import { describe, expect, it } from "vitest"
import WebSocket from "ws"
import { hello } from "../../src/testing/index.ts"
import { useCommands } from "../support/use-commands.ts"

const basePath = "/genai/gw"

describe("SVC_BASE_PATH", () => {
  const { run, serve } = useCommands()

  it("serves everything below it, and nothing beside it", async () => {
    const { ready, exchange } = await serve({ SVC_BASE_PATH: basePath })
    const { origin } = new URL(ready.baseUrl)
    expect(ready.baseUrl).toBe(`${origin}${basePath}`)
    expect((await exchange(hello)).status).toBe(200)
    for (const path of ["/healthz", "/readyz", "/metrics", "/console/", "/login", "/docs"]) {
      expect((await fetch(ready.baseUrl + path)).status, path).toBe(200)
    }
    for (const path of ["/healthz", "/t1/exchange", "/genai", "/genai/gww/healthz", "/genai%2Fgw/healthz"]) {
      const outside = await fetch(origin + path)
      expect(outside.status, path).toBe(404)
      expect(await outside.json(), path).toMatchObject({ error: { requestId: expect.any(String) } })
    }
    const env = { SVC_BASE_URL: ready.baseUrl, SVC_ADMIN_KEY: ready.adminKey }
    expect((await run(["orgs"], env)).text).toContain("org_development")
  }, 60_000)

  it("keeps redirects, cookies, sockets and the API document below it", async () => {
    const { ready } = await serve({ SVC_BASE_PATH: basePath })
    const { origin } = new URL(ready.baseUrl)
    const follow = async (path: string) => {
      const reply = await fetch(origin + path, { redirect: "manual", headers: { accept: "text/html" } })
      return new URL(reply.headers.get("location") ?? "", origin + path).pathname
    }
    expect(await follow(basePath)).toBe(`${basePath}/`)
    expect(await follow(`${basePath}/`)).toBe(`${basePath}/console/`)
    expect(await follow(`${basePath}/console`)).toBe(`${basePath}/console/`)
    for (const page of ["/login", "/activate", "/console/"]) {
      const html = await (await fetch(ready.baseUrl + page)).text()
      expect(html.match(/ (?:href|src|action)="\/(?!\/)[^"]*/g) ?? [], page).toEqual([])
    }
    const signedIn = await fetch(`${ready.baseUrl}/v1/session/operator`, {
      method: "POST",
      headers: { "content-type": "application/json", origin, "x-svc-console": "1" },
      body: JSON.stringify({ adminKey: ready.adminKey }),
    })
    expect(signedIn.headers.get("set-cookie")).toMatch(/^weir_operator=.*Path=\/genai\/gw;/)
    const socket = new WebSocket(`${ready.baseUrl.replace("http", "ws")}/t1/socket`, {
      headers: { "x-svc-key-id": ready.keyId, "x-svc-key": ready.key },
    })
    await once(socket, "open")
    socket.terminate()
    const document = await (await fetch(`${ready.baseUrl}/openapi.json`)).json()
    expect(document).toMatchObject({ servers: [{ url: basePath }] })
  }, 60_000)

  it("a public address is what the API document names", async () => {
    const { ready } = await serve({ SVC_PUBLIC_URL: "https://models.example.com/weir" })
    const document = await (await fetch(`${ready.baseUrl}/openapi.json`)).json()
    expect(document).toMatchObject({ servers: [{ url: "https://models.example.com/weir" }] })
  }, 60_000)
})
