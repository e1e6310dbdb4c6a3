/** The HTML pages, in a browser without script. */
import { randomUUID } from "node:crypto"
import { Redacted, Schema } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { DeviceCode } from "../../../src/protocol/control/device.ts"
import { newTestIds } from "../../../src/testing/index.ts"
import { Browser } from "../../support/browser.ts"
import { eventually, useGateway } from "../../support/gateway.ts"
import { startSmtp } from "../../support/smtp.ts"

const smtp = await startSmtp()
afterAll(() => smtp.stop())

const tag = randomUUID().slice(0, 8)
const at = (name: string) => `${name}.${tag}@example.com`
const gateway = useGateway({
  backgroundSpeed: 10,
  ids: newTestIds(),
  config: { smtpUrl: Redacted.make(smtp.url), authPerMinute: 1_000_000 },
})
const strict = useGateway({
  config: { smtpUrl: Redacted.make(smtp.url), authPerMinute: 2, trustedProxies: ["127.0.0.0/8"] },
})

const url = (path: string) => new URL(path, gateway().baseUrl)
const nobody = { "x-svc-key-id": undefined, "x-svc-key": undefined }

const decodeDevice = Schema.decodeUnknownSync(DeviceCode)

const startDevice = async (clientName = "a terminal") => {
  const started = await gateway().call("POST", "/v1/auth/device/code", { clientName, scope: "data" }, nobody)
  return decodeDevice(await started.json())
}
const poll = (deviceCode: string) => gateway().call("POST", "/v1/auth/device/token", { deviceCode }, nobody)

const logIn = async (browser: Browser, name: string) => {
  const before = smtp.lettersTo(at(name)).length
  await browser.submit("/login", { email: at(name) })
  return browser.submit("/login/code", { code: await smtp.codeFor(at(name), before + 1) })
}
const newVisitor = async (name: string) => {
  const browser = new Browser()
  await browser.visit(url("/login"))
  await logIn(browser, name)
  return browser
}

describe("/login", () => {
  it("by mail: logs in, says as whom, and logs out for good", async () => {
    const browser = await newVisitor("ada")
    expect(browser.shown.html).toContain(`You are logged in as <strong>${at("ada")}</strong>`)
    const { cookies } = browser
    await browser.submit("/logout", {})
    expect(browser.shown.html).toContain("Send me a code")
    expect(browser.cookies).toEqual([])
    const thief = new Browser()
    thief.cookies = cookies
    await eventually(async () => (await thief.visit(url("/login"))).html.includes("Send me a code"))
  })

  it("a wrong code can be tried again; too many cannot", async () => {
    const browser = new Browser()
    await browser.visit(url("/login"))
    await browser.submit("/login", { email: at("bo") })
    const code = await smtp.codeFor(at("bo"), 1)
    const wrong = String((Number(code) + 1) % 1_000_000).padStart(6, "0")
    const again = await browser.submit("/login/code", { code: wrong })
    expect([again.status, again.html]).toEqual([401, expect.stringMatching(/role="alert">This code is wrong/)])
    for (let attempt = 0; attempt < 4; attempt++) await browser.submit("/login/code", { code: wrong })
    expect((await browser.submit("/login/code", { code })).status).toBe(429)
  })

  it("an organisation without a provider is reported on the same page", async () => {
    const headers = { ...nobody, origin: gateway().baseUrl, "content-type": "application/x-www-form-urlencoded" }
    const reply = await gateway().call("POST", "/login/sso", `org=${gateway().orgId}&device=BCDF-GHJK`, headers)
    const text = await reply.text()
    expect([reply.status, text]).toEqual([404, expect.stringContaining("no login of its own")])
    expect(text).toContain(`name="device" value="BCDF-GHJK"`)
    // Without any provider, the page does not ask for one.
    expect((await new Browser().visit(url("/login"))).html).not.toContain("organisation")
  })

  it("input is shown as text, not as HTML", async () => {
    const browser = new Browser()
    const shown = await browser.visit(url(`/login?device=${encodeURIComponent(`"><script>alert(1)</script>`)}`))
    expect(shown.html).not.toContain("<script>")
    expect(shown.html).toContain("&#34;&#62;&#60;script&#62;")
  })
})

describe("/activate", () => {
  it("a device's link: log in on the way, see who asks, approve; the device has its tokens", async () => {
    const { deviceCode, verificationUriComplete, userCode } = await startDevice("Ada's <terminal>")
    const browser = new Browser()
    await browser.visit(verificationUriComplete)
    expect(browser.shown.url.pathname).toBe("/login")
    const page = await logIn(browser, "cy")
    expect(page.url.href).toBe(verificationUriComplete)
    expect(page.html).toContain("Ada&#39;s &#60;terminal&#62;")
    expect(page.html).toContain(userCode)
    const decided = await browser.submit("/activate", { decision: "approve" })
    expect(decided.html).toContain("The device is connected")
    expect((await poll(deviceCode)).status).toBe(200)
  })

  it("denied: the device receives the denial", async () => {
    const { deviceCode, userCode } = await startDevice()
    const browser = await newVisitor("di")
    await browser.visit(url("/activate"))
    await browser.submit("/activate", { code: userCode.toLowerCase().replace("-", " ") })
    expect((await browser.submit("/activate", { decision: "deny" })).html).toContain("The device was refused")
    expect(await (await poll(deviceCode)).json()).toMatchObject({ error: { code: "device_code_denied" } })
  })

  it("an unknown code and a decided code get the same reply", async () => {
    const { userCode } = await startDevice()
    const browser = await newVisitor("ed")
    const unknown = await browser.visit(url("/activate?code=BBBB-BBBB"))
    expect(unknown.status).toBe(404)
    await browser.visit(url(`/activate?code=${userCode}`))
    await browser.submit("/activate", { decision: "deny" })
    expect((await browser.visit(url(`/activate?code=${userCode}`))).html).toBe(unknown.html)
  })
})

describe("/auth/sso/link", () => {
  it("an invalid link is answered with a page, not with JSON", async () => {
    const browser = new Browser()
    await browser.visit(url("/auth/sso/link?linkToken=lk_unknown"))
    const shown = await browser.submit("/auth/sso/link", { code: "123456" })
    expect([shown.status, shown.html]).toEqual([400, expect.stringContaining("The link is invalid")])
  })
})

describe("protection of the pages", () => {
  const pages = ["/login", "/auth/sso/link?linkToken=x", "/activate"]

  it.each(pages)("%s: has a strict policy, is not cached, cannot be framed, and has no script", async (path) => {
    const { headers, html } = await (await newVisitor(`guard${pages.indexOf(path)}`)).visit(url(path))
    const policy = headers.get("content-security-policy") ?? ""
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("form-action 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain("unsafe")
    expect(headers.get("cache-control")).toBe("no-store")
    expect(headers.get("x-content-type-options")).toBe("nosniff")
    expect(html).not.toMatch(/<script|javascript:|\son\w+=|style="/)
  })

  it.each<[string, Record<string, string | undefined>, number]>([
    ["another site's form", { origin: "https://evil.example" }, 403],
    ["a sandboxed frame's form", { origin: "null" }, 403],
    ["a form of nowhere", {}, 403],
    ["a form of a site beside ours", { "sec-fetch-site": "same-site" }, 403],
    ["our own, of a browser that keeps its origin to itself", { "sec-fetch-site": "same-origin" }, 200],
    ["our own", { origin: "own" }, 200],
  ])("CSRF: %s", async (_what, given, status) => {
    const origin = given["origin"] === "own" ? gateway().baseUrl : given["origin"]
    const headers = { ...nobody, ...given, origin, "content-type": "application/x-www-form-urlencoded" }
    const body = new URLSearchParams({ email: at("csrf") }).toString()
    const before = smtp.lettersTo(at("csrf")).length
    const reply = await gateway().call("POST", "/login", body, headers)
    expect(reply.status).toBe(status)
    if (status === 403) expect(smtp.lettersTo(at("csrf")).length).toBe(before)
  })

  it("CSRF: a decision needs the session too, which other sites' forms do not carry", async () => {
    const { deviceCode, userCode } = await startDevice()
    const browser = await newVisitor("flo")
    await browser.visit(url(`/activate?code=${userCode}`))
    const foreign = await browser.submit("/activate", { decision: "approve" }, { origin: "https://evil.example" })
    expect(foreign.status).toBe(403)
    expect(await (await poll(deviceCode)).json()).toMatchObject({ error: { code: "device_code_pending" } })
    expect(browser.cookies.map(({ attributes }) => attributes).join()).toMatch(/HttpOnly.*SameSite=Lax/i)
  })

  it.each([
    ["a field too many", "email=ada%40example.com&admin=1", 400],
    ["no address", "email=ada", 400],
    ["nothing", "", 400],
    ["more than anybody types", `email=${"a".repeat(20_000)}`, 413],
  ])("bad input: %s", async (_what, body, status) => {
    const headers = { ...nobody, origin: gateway().baseUrl, "content-type": "application/x-www-form-urlencoded" }
    const reply = await gateway().call("POST", "/login", body, headers)
    expect([reply.status, reply.headers.get("content-type")]).toEqual([status, "text/html; charset=utf-8"])
  })

  it.each([
    ["/login/sso", "org=a%00b"],
    ["/login/code", "email=ada%40example.com&code=%00"],
    ["/activate", "userCode=%00&decision=deny"],
    ["/auth/sso/link", "linkToken=%00&code=1"],
  ])("bad input: U+0000 for %s", async (path, body) => {
    const headers = { ...nobody, origin: gateway().baseUrl, "content-type": "application/x-www-form-urlencoded" }
    expect((await gateway().call("POST", path, body, headers)).status).toBe(400)
  })

  it("the strict rate limit applies to them, too", async () => {
    const address = `2001:db8:${randomUUID().slice(0, 4)}::1`
    const send = () =>
      strict().call("POST", "/login", "email=ada%40example.com", {
        ...nobody,
        origin: strict().baseUrl,
        "x-forwarded-for": address,
        "content-type": "application/x-www-form-urlencoded",
      })
    expect([(await send()).status, (await send()).status]).toEqual([200, 200])
    const refused = await send()
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
  })
})
