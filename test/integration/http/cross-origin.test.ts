/**
 * Pages of other origins: which may call the runtime, and the headers that they receive. Source: Fetch Standard,
 * HTTP-CORS protocol.
 */
import { describe, expect, it } from "vitest"
import { hello } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"

const origin = "https://app.example.com"
const gateway = useGateway({ config: { corsOrigins: [origin] } })
const closed = useGateway()

const preflight = (path: string, from: string, to = gateway(), headers = "x-svc-app-token") =>
  fetch(`${to.baseUrl}${path}`, {
    method: "OPTIONS",
    headers: {
      origin: from,
      "access-control-request-method": "POST",
      "access-control-request-headers": headers,
    },
  })
const allowed = (response: Response) => response.headers.get("access-control-allow-origin")

describe("pages of other origins", () => {
  it.each(["/t1/exchange", "/t1/heartbeat", "/t1/config", "/t1/sessions/x"])("may ask for %s", async (path) => {
    const response = await preflight(path, origin)
    expect(response.status).toBe(204)
    expect(allowed(response)).toBe(origin)
    expect(response.headers.get("access-control-allow-headers")).toContain("x-svc-app-token")
    expect(response.headers.get("access-control-allow-credentials")).toBeNull()
    expect(response.headers.get("vary")).toBe("Origin")
  })

  it.each([
    "/openai/v1/chat/completions",
    "/anthropic/v1/messages",
    "/gemini/v1beta/models/main:generateContent",
    "/cohere/v2/rerank",
  ])("may ask for %s with the headers that an SDK sends", async (path) => {
    const response = await preflight(path, origin, gateway(), "authorization, x-stainless-os, anthropic-version")
    expect([response.status, allowed(response)]).toEqual([204, origin])
    expect(response.headers.get("access-control-allow-headers")).toBe(
      "authorization, x-stainless-os, anthropic-version",
    )
    expect(allowed(await preflight(path, "https://evil.example"))).toBeNull()
  })

  it("read answers and refusals alike, with the headers that the client needs", async () => {
    const answered = await gateway().exchange(hello, { headers: { origin } })
    expect([answered.status, allowed(answered)]).toEqual([200, origin])
    const exposed = answered.headers.get("access-control-expose-headers")?.split(", ") ?? []
    // All that the gateway writes itself, here and in replies from the cache or with warnings.
    const own = [...answered.headers.keys()].filter((name) => name.startsWith("x-svc-"))
    expect(own.length).toBeGreaterThan(3)
    for (const name of [...own, "x-svc-cache", "x-svc-warning", "x-svc-warnings", "x-svc-idempotent-replay"]) {
      expect(exposed).toContain(name)
    }
    const refused = await gateway().call("POST", "/t1/exchange", hello, { "x-svc-key": "wrong", origin })
    expect([refused.status, allowed(refused)]).toEqual([401, origin])
  })

  it.each([
    ["another origin", "/t1/exchange", "https://evil.example"],
    ["an origin that begins alike", "/t1/exchange", `${origin}.evil.example`],
    ["the control routes", "/v1/me", origin],
    ["the pages", "/login", origin],
  ])("but not %s", async (_, path, from) => {
    expect(allowed(await preflight(path, from))).toBeNull()
  })

  it("allows no origin if none is set", async () => {
    expect(allowed(await preflight("/t1/exchange", origin, closed()))).toBeNull()
    expect(allowed(await closed().exchange(hello, { headers: { origin } }))).toBeNull()
  })
})
