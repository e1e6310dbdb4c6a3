/** Around the routes: health, readiness, metrics, OpenAPI, documentation, and the caller's address. */
import { connect } from "node:net"
import { Option } from "effect"
import { Headers } from "effect/http"
import { NetAddress } from "effect/net"
import { describe, expect, it } from "vitest"
import { makeCallerAddress } from "../../../src/http/request.ts"
import { errorCodes, errorStatus } from "../../../src/protocol/error.ts"
import { hello } from "../../../src/testing/index.ts"
import { errorOf, useGateway } from "../../support/gateway.ts"

const gateway = useGateway()
const get = (path: string) => fetch(`${gateway().baseUrl}${path}`)

/** Sends bytes as they are; the connection is the request's alone. */
const send = async (text: string): Promise<Response> => {
  const { hostname, port } = new URL(gateway().baseUrl)
  const socket = connect(Number(port), hostname)
  socket.end(text)
  const answer = (await socket.setEncoding("utf8").toArray()).join("")
  const [head = "", body = ""] = answer.split("\r\n\r\n")
  const [status = "", ...headers] = head.split("\r\n")
  return new Response(body, {
    status: Number(status.split(" ")[1]),
    headers: headers.map((line): [string, string] => [line.split(": ")[0] ?? "", line.split(": ")[1] ?? ""]),
  })
}

describe("for machines", () => {
  it("/healthz reports that the process is alive", async () => {
    expect((await get("/healthz")).status).toBe(200)
  })

  it("/readyz reports its dependencies", async () => {
    const response = await get("/readyz")
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      status: "ready",
      postgres: true,
      gate: true,
      catalogue: true,
      draining: false,
    })
  })

  it("/metrics has a histogram for each tier's actual time, by vendor and model, and its limit", async () => {
    await gateway().exchange(hello)
    await (await gateway().exchange({ ...hello, stream: true })).text()
    const text = await (await get("/metrics")).text()
    for (const tier of ["connect", "ttfb", "idle", "total"]) {
      expect(text).toMatch(
        new RegExp(`weir_upstream_tier_ms_count\\{tier="${tier}",vendor="openai",model="upstream-main"\\} [1-9]`),
      )
    }
    expect(text).toMatch(
      /weir_upstream_tier_limit_ms\{tier="ttfb",vendor="openai",model="upstream-main",source="default"\} 120000/,
    )
    expect(text).toContain(`weir_exchanges_total{outcome="end",model="main"}`)
  })

  it("callers cannot make label values", async () => {
    await gateway().exchange({ ...hello, model: "made-up" })
    expect(await (await get("/metrics")).text()).not.toContain("made-up")
  })
})

describe("for people", () => {
  it("/openapi.json has every route, schema and error code of the exchange", async () => {
    const document = await (await get("/openapi.json")).text()
    expect(Object.keys(JSON.parse(document).paths)).toEqual([
      "/t1/exchange",
      "/t1/embeddings",
      "/t1/rerank",
      "/t1/moderations",
      "/t1/images",
      "/t1/speech",
      "/t1/transcriptions",
      "/t1/videos",
      "/t1/videos/{id}",
      "/t1/videos/{id}/content",
      "/t1/heartbeat",
      "/t1/sessions/{id}",
      "/t1/config",
      "/t1/budgets",
      "/t1/handshake",
      "/t1/websearch",
      "/t1/usage",
      "/v1/app-tokens",
      "/v1/apps/{id}/config",
      "/v1/plan/usage",
      "/v1/search-providers",
      "/v1/auth/otp/request",
      "/v1/auth/otp/verify",
      "/v1/auth/refresh",
      "/v1/auth/logout",
      "/v1/me",
      "/v1/invitations/{org}/accept",
      "/v1/invitations/{org}/decline",
      "/.well-known/jwks.json",
      "/v1/auth/sso/start",
      "/v1/auth/sso/callback",
      "/v1/auth/sso/link/confirm",
      "/v1/auth/sso/exchange",
      "/v1/auth/device/code",
      "/v1/auth/device/token",
      "/v1/auth/device/approve",
      "/v1/tokens",
      "/v1/tokens/{id}",
      "/v1/tool-servers",
      "/v1/tool-servers/{id}/connect",
      "/v1/tool-servers/{id}/account",
      "/v1/config/effective",
      "/v1/config/shadow-report",
      "/v1/config-revisions",
      "/v1/admin/config-revisions",
      "/v1/config/{scope}",
      "/v1/config/{scope}/{keyPath}",
      "/v1/org-licenses",
      "/v1/org-licenses/activate",
      "/v1/org-licenses/{id}/revoke",
      "/v1/org-licenses/{id}/suspend",
      "/v1/usage",
      "/v1/ledger",
      "/v1/usage.csv",
      "/v1/budgets",
      "/v1/budgets/{id}",
      "/v1/budgets/{id}/adjust",
      "/v1/policies",
      "/v1/policies/test",
      "/v1/webhooks",
      "/v1/webhooks/{id}",
      "/v1/webhooks/{id}/rotate",
      "/v1/webhooks/{id}/test",
      "/v1/webhooks/{id}/deliveries",
      "/v1/webhooks/{id}/deliveries/{event}/resend",
      "/v1/members",
      "/v1/members/{id}",
      "/v1/teams",
      "/v1/teams/{id}",
      "/v1/apps",
      "/v1/apps/{id}",
      "/v1/keys",
      "/v1/keys/{id}",
      "/v1/keys/{id}/rotate",
      "/v1/keys/{id}/revoke",
      "/v1/scim",
      "/v1/admin/catalogue",
      "/v1/admin/catalogue/events",
      "/v1/admin/topups",
      "/v1/admin/ledger/{org}",
      "/v1/admin/doctor",
      "/v1/admin/tier-times",
      "/v1/admin/audit/verify",
      "/v1/admin/search",
      "/v1/admin/orgs/{org}/budgets",
      "/v1/admin/orgs/{org}/budgets/{id}",
      "/v1/admin/orgs/{org}/budgets/{id}/adjust",
      "/v1/admin/orgs",
      "/v1/admin/users",
      "/v1/admin/users/{id}/disable",
      "/v1/admin/users/{id}/enable",
      "/v1/admin/keys",
      "/v1/admin/keys/{id}",
      "/v1/admin/keys/{id}/rotate",
      "/v1/admin/keys/{id}/revoke",
      "/v1/admin/orgs/{org}/licences",
      "/v1/admin/orgs/{org}/licences/{id}/suspend",
      "/v1/admin/orgs/{org}/licences/{id}/revoke",
      "/v1/admin/orgs/{org}/usage",
      "/v1/admin/orgs/{org}/usage.csv",
      "/v1/admin/orgs/{id}",
      "/v1/admin/teams",
      "/v1/admin/teams/{id}",
      "/v1/admin/members",
      "/v1/admin/members/{id}",
      "/v1/admin/apps",
      "/v1/admin/apps/{id}",
      "/v1/admin/tenants:batch",
      "/v1/admin/vendors/{vendor}/test",
      "/v1/admin/orgs/{org}/upstream-keys",
      "/v1/admin/orgs/{org}/upstream-keys/{vendor}",
      "/v1/admin/jobs",
      "/v1/admin/orgs/{org}/jobs/{id}",
      "/v1/admin/webhooks",
      "/v1/admin/webhooks/deliveries",
      "/v1/admin/orgs/{org}/webhooks",
      "/v1/admin/webhooks/rotate",
      "/v1/admin/webhooks/test",
      "/v1/admin/webhooks/resend",
      "/v1/admin/exports",
      "/v1/admin/exports/{id}/run",
      "/v1/admin/reply-cache",
      "/v1/admin/orgs/{org}/reply-cache",
      "/v1/admin/orgs/{org}/responses",
      "/v1/admin/orgs/{org}/responses/{id}",
      "/v1/admin/orgs/{org}/files",
      "/v1/admin/orgs/{org}/files/{id}",
      "/v1/admin/orgs/{org}/batches",
      "/v1/admin/orgs/{org}/batches/{id}/cancel",
      "/v1/admin/policies",
      "/v1/admin/policies/test",
      "/v1/admin/tool-servers",
      "/v1/admin/tool-servers/{server}",
      "/v1/admin/tool-servers/{server}/forget",
      "/v1/admin/changed-tools",
      "/v1/admin/tool-servers/{server}/agree",
      "/v1/admin/catalogue/draft",
      "/v1/admin/vendors",
      "/v1/admin/vendors/{vendor}/offers",
      "/v1/admin/orgs/{org}/scim",
      "/v1/admin/tool-accounts",
      "/v1/admin/tool-accounts/{id}/connect",
      "/v1/admin/tool-accounts/{id}",
      "/v1/usage-summary",
      "/v1/exchanges",
      "/v1/open-exchanges",
      "/v1/exchanges/{id}",
      "/v1/audit",
      "/v1/models",
      "/v1/plan",
      "/v1/admin/usage-summary",
      "/v1/admin/exchanges",
      "/v1/admin/open-exchanges",
      "/v1/admin/orgs/{org}/exchanges/{id}",
      "/v1/admin/orgs/{org}/plan-usage",
      "/v1/admin/orgs/{org}/plan",
      "/v1/admin/targets",
      "/v1/admin/models",
      "/v1/admin/plans",
      "/v1/admin/prices",
      "/v1/admin/problems",
      "/v1/admin/catalogue/revisions",
      "/v1/admin/catalogue/revisions/{revision}",
      "/v1/admin/audit",
      "/v1/session",
      "/v1/session/operator",
    ])
    for (const word of ["ExchangeRequest", "ExchangeResponse", "t.delta", "upstream_idle_timeout", "in_progress"]) {
      expect(document).toContain(word)
    }
  })
})

describe("errors", () => {
  it("every code has one error status", () => {
    expect(errorCodes.length).toBe(85)
    for (const code of errorCodes) expect(errorStatus[code]).toBeGreaterThanOrEqual(400)
  })

  it.each(["GET", "PUT", "DELETE"])("%s on a route that takes POST is not_found in the envelope", async (method) => {
    const response = await fetch(`${gateway().baseUrl}/t1/exchange`, { method })
    expect(await errorOf(response)).toMatchObject({ status: 404, code: "not_found" })
  })
})

describe("every reply", () => {
  it.each([
    "/healthz",
    "/nowhere",
    "/login",
    "/t1/config",
    "/v1/me",
    "/openai/v1/models",
    "/gemini/v1/none",
    "/console",
  ])("has the type that it says and no other: %s", async (path) => {
    const reply = await gateway().call("GET", path)
    expect(reply.headers.get("x-content-type-options")).toBe("nosniff")
    expect(reply.headers.get("strict-transport-security")).toBeNull()
    await reply.arrayBuffer()
  })

  it("of an exchange and of a refused upgrade too", async () => {
    const whole = await gateway().exchange(hello)
    const stream = await gateway().exchange({ ...hello, stream: true })
    await stream.text()
    for (const { headers } of [whole, stream]) expect(headers.get("x-content-type-options")).toBe("nosniff")
    const upgrade = ["GET /t1/socket HTTP/1.1", "host: a", "connection: upgrade", "upgrade: websocket", "", ""]
    for (const text of [upgrade.join("\r\n"), "EHLO example.com\r\n\r\n"]) {
      expect((await send(text)).headers.get("x-content-type-options")).toBe("nosniff")
    }
  })
})

describe("a caller's address", () => {
  const from = (trusted: ReadonlyArray<string>, remote: string, forwarded?: string) => {
    const headers = Headers.fromInput(forwarded === undefined ? {} : { "x-forwarded-for": forwarded })
    const address = makeCallerAddress(trusted)({ remoteAddress: Option.some(remote), headers })
    return address && NetAddress.formatIp(address)
  }
  it.each([
    ["the peer's", [], "203.0.113.7", undefined, "203.0.113.7"],
    ["IPv4 also when it comes over IPv6", [], "::ffff:203.0.113.7", undefined, "203.0.113.7"],
    ["not what an untrusted peer says", [], "203.0.113.7", "10.0.0.1", "203.0.113.7"],
    ["what a trusted proxy says", ["10.0.0.0/8"], "10.0.0.1", "203.0.113.7", "203.0.113.7"],
    [
      "what a proxy says that is trusted by a mapped network",
      ["::ffff:10.0.0.0/104"],
      "::ffff:10.0.0.1",
      "203.0.113.7",
      "203.0.113.7",
    ],
    [
      "what a proxy says that is trusted by a mapped address",
      ["::ffff:10.0.0.1"],
      "10.0.0.1",
      "203.0.113.7",
      "203.0.113.7",
    ],
    ["with its port", ["10.0.0.0/8"], "10.0.0.1", "6.6.6.6, 203.0.113.7:4711", "203.0.113.7"],
    ["of IPv6 in brackets", ["10.0.0.0/8"], "10.0.0.1", "6.6.6.6, [2001:db8::7]:4711", "2001:db8::7"],
    ["of IPv6 without a port", ["10.0.0.0/8"], "10.0.0.1", "6.6.6.6, [2001:db8::7]", "2001:db8::7"],
    ["what a trusted proxy says, beside nothing", ["10.0.0.0/8"], "10.0.0.1", "6.6.6.6, 203.0.113.7, ,", "203.0.113.7"],
    ["the proxy's, if it writes what cannot be read", ["10.0.0.0/8"], "10.0.0.1", "6.6.6.6, unknown", "10.0.0.1"],
    [
      "the last hop that no trusted proxy is",
      ["10.0.0.0/8"],
      "10.0.0.1",
      "6.6.6.6, 203.0.113.7, 10.0.0.2",
      "203.0.113.7",
    ],
    ["the proxy's where it says nonsense", ["10.0.0.0/8"], "10.0.0.1", "nonsense", "10.0.0.1"],
  ])("is %s", (_what, trusted, remote, forwarded, expected) => {
    expect(from(trusted, remote, forwarded)).toBe(expected)
  })
})

describe("what is not read as a request", () => {
  it.each([
    ["an over-long URL", `GET /v1/apps/${"a".repeat(20_000)} HTTP/1.1\r\nhost: a\r\n\r\n`, 400, "bad_request"],
    ["over-long headers", `GET /healthz HTTP/1.1\r\nhost: a\r\nx: ${"a".repeat(20_000)}\r\n\r\n`, 400, "bad_request"],
    ["U+0000 in a header", "GET /healthz HTTP/1.1\r\nhost: a\r\nx: a\0b\r\n\r\n", 400, "bad_request"],
    ["another protocol", "EHLO example.com\r\n\r\n", 400, "bad_request"],
  ])("%s is answered in the envelope", async (_what, text, status, code) => {
    expect(await errorOf(await send(text))).toMatchObject({ status, code })
  })

  it("a parameter of a path that is too long is refused as such", async () => {
    const reply = await gateway().call("GET", `/v1/admin/ledger/${"a".repeat(3000)}`, undefined, {
      "x-svc-admin-key": gateway().adminKey,
    })
    expect(await errorOf(reply)).toMatchObject({ status: 400, code: "bad_request" })
  })
})
