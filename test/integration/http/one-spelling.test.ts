/** Paths in one spelling, one host, and queries without unknown fields. */
import { connect } from "node:net"
import { describe, expect, it } from "vitest"
import { useGateway } from "../../support/gateway.ts"

const gateway = useGateway({ config: { authPerMinute: 1_000_000 } })

const statusOf = async (path: string, more: ReadonlyArray<string> = [], method = "GET"): Promise<number> => {
  const { hostname, port } = new URL(gateway().baseUrl)
  const socket = connect(Number(port), hostname)
  const keys = [`x-svc-key-id: ${gateway().keyId}`, `x-svc-key: ${gateway().key}`]
  const lines = [`${method} ${path} HTTP/1.1`, "host: a", "connection: close", ...keys, ...more]
  socket.write(`${lines.join("\r\n")}\r\n\r\n`)
  const text = (await socket.setEncoding("utf8").toArray()).join("")
  return Number(text.split(" ")[1])
}

describe("a path", () => {
  it.each([
    "/HEALTHZ",
    "/Healthz",
    "/T1/config",
    "/t1/CONFIG",
    "//",
    "//healthz",
    "//v1/me",
    "/v1//me",
    "/healthz;x=1",
    "/v1;a/me",
    "/%68ealthz",
    "/v1/%61dmin/orgs",
    "/v1/%6De",
    "/v1%2Eme",
    "/v1/%2561dmin/orgs",
    "/./healthz",
    "/t1/../healthz",
    "/openai/../v1/me",
    "/v1%2fme",
    "/v1%5Cme",
    "/v1\\me",
  ])("in another spelling is no route: %s", async (path) => {
    expect(await statusOf(path, ["accept: text/html"])).toBe(404)
  })

  it("may have encoded characters that need it", async () => {
    expect(await statusOf("/healthz")).toBe(200)
    expect(await statusOf("/openai/v1/models/a%2Fb")).toBe(404)
    expect(await statusOf("/openai/v1/models/main")).toBe(200)
    // Some SDKs write a model's name so.
    expect(await statusOf("/openai/v1/models/m%61in")).toBe(200)
    expect(await statusOf("/openai/v1/%6dodels/main")).toBe(404)
  })
})

describe("a host", () => {
  it("is one", async () => {
    expect(await statusOf("/healthz", ["host: b"])).toBe(400)
    expect(await statusOf("/healthz", ["HOST: a"])).toBe(400)
  })
})

it("a target in absolute form is its path, whatever host it names", async () => {
  expect(await statusOf("http://elsewhere.example/t1/config")).toBe(200)
  expect(await statusOf("http://elsewhere.example")).toBe(await statusOf("/"))
  expect(await statusOf("http://elsewhere.example//t1/config")).toBe(404)
})

describe("a field of a query", () => {
  it.each([
    ["/t1/config?x=1", 400],
    ["/t1/budgets?cost=1", 400],
    ["/v1/usage?fro=2026-01-01", 400],
    ["/v1/usage?from=2026-01-01", 400],
    ["/v1/usage?limit=5", 401],
    ["/v1/admin/orgs?serach=a", 400],
    ["/v1/admin/orgs?search=a", 401],
    ["/t1/videos/x/content?variant=video", 404],
    ["/t1/videos/x/content?varient=video", 400],
    ["/v1/auth/sso/callback?state=a&code=b&session_state=c&iss=d", 400],
    ["/openai/v1/models?limit=2&x=1", 200],
    ["/gemini/v1beta/models?pageSize=2", 200],
    ["/t1/config?", 200],
  ])("that no route has is refused, and others are not: %s", async (path, status) => {
    expect(await statusOf(path)).toBe(status)
  })

  it("is named in the refusal", async () => {
    const reply = await gateway().call("GET", "/t1/config?verzion=1")
    expect(await reply.json()).toMatchObject({ error: { detail: { issues: [{ path: "verzion" }] } } })
  })
})
