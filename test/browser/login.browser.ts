/**
 * Logins with a real browser: by code, at an identity provider, and for a waiting command. The pages must do without
 * script. Source: RFC 8628 section 3.3.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtempSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Redacted, Schema } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { DeviceCode } from "../../src/protocol/control/device.ts"
import { newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { portOf } from "../../src/testing/port.ts"
import { eventually, useGateway } from "../support/gateway.ts"
import { clientId, startOidc } from "../support/oidc.ts"
import { startSmtp } from "../support/smtp.ts"
import { useChromium } from "./chromium.ts"
import { inviteTo } from "./inviting.ts"

const callbacks: Array<string> = []
const smtp = await startSmtp()
const oidc = await startOidc(() => callbacks)
const children: Array<ChildProcess> = []
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL")
  await Promise.all([smtp.stop(), oidc.stop()])
})

const tag = randomUUID().slice(0, 8)
const at = (name: string) => `${name}.${tag}@example.com`
const ids = newTestIds()
const sso = `sso: { issuer: "${oidc.issuer}", clientId: ${clientId}, clientSecret: "env:WEIR_TEST_VENDOR" }`
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `users:\n${["ada", "bo", "cy"].map((name) => `  - { id: ${name}_${tag}, email: ${at(name)}, org: ${ids.org}, role: member }`).join("\n")}`,
    ).replace("currency: USD, models: [main, claude", `currency: USD, ${sso}, models: [main, claude`),
  config: { smtpUrl: Redacted.make(smtp.url), authPerMinute: 1_000_000, egressAllow: ["127.0.0.0/8", "::1/128"] },
})
const { newPage, look, complaints } = useChromium()
beforeEach(() => {
  if (callbacks.length === 0) callbacks.push(`${gateway().baseUrl}/v1/auth/sso/callback`)
})

const url = (path: string) => `${gateway().baseUrl}${path}`

/** Logs in by mail from wherever the login page is shown, with the keyboard alone. */
const logInByMail = async (page: Page, name: string) => {
  const before = smtp.lettersTo(at(name)).length
  await page.getByLabel("E-mail address").focus()
  await page.keyboard.type(at(name))
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "Enter the code" }).waitFor()
  await look(page, "code")
  await page.getByLabel("Code", { exact: true }).focus()
  await page.keyboard.type(await smtp.codeFor(at(name), before + 1))
  await page.keyboard.press("Enter")
}

const decodeDevice = Schema.decodeUnknownSync(DeviceCode)
const anonymous = { "x-svc-key-id": undefined, "x-svc-key": undefined }
const startDevice = async () =>
  decodeDevice(await (await gateway().call("POST", "/v1/auth/device/code", { clientName: "a test" }, anonymous)).json())
const poll = async (deviceCode: string): Promise<unknown> =>
  (await gateway().call("POST", "/v1/auth/device/token", { deviceCode }, anonymous)).json()

const home = mkdtempSync(join(tmpdir(), "weir-home-"))
const weir = (...args: ReadonlyArray<string>) => {
  const cli = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
  const node = fileURLToPath(new URL("../../node_modules/.bin/node", import.meta.url))
  const env = { PATH: process.env["PATH"], HOME: home, SVC_BASE_URL: gateway().baseUrl }
  const child = spawn(node, [cli, ...args], { env })
  children.push(child)
  const output = { text: "" }
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output.text += chunk))
  return { output, exit: new Promise<number | null>((resolve) => child.once("exit", resolve)) }
}

describe("by a code that comes by mail", () => {
  it("logs in, stays logged in, and logs out", async () => {
    const page = await newPage()
    await page.goto(url("/login"))
    await look(page, "login")
    await logInByMail(page, "ada")
    await page.getByText(`You are logged in as ${at("ada")}`).waitFor()
    await page.goto(url("/activate"))
    await page.getByLabel("Code shown on the device").waitFor()
    await page.goto(url("/login"))
    await page.getByRole("button", { name: "Log out" }).click()
    await page.getByLabel("E-mail address").waitFor()
    expect(await page.context().cookies()).toEqual([])
  })

  it("a wrong code is reported in an alert, first on the page", async () => {
    const page = await newPage({ colorScheme: "dark" })
    await page.goto(url("/login"))
    await page.getByLabel("E-mail address").fill(at("bo"))
    await page.getByRole("button", { name: "Send me a code" }).click()
    const code = await smtp.codeFor(at("bo"), 1)
    await page.getByLabel("Code", { exact: true }).fill(String((Number(code) + 1) % 1_000_000).padStart(6, "0"))
    await page.getByRole("button", { name: "Log in" }).click()
    expect(await page.getByRole("alert").textContent()).toContain("This code is wrong")
    await look(page, "wrong-code-dark")
    await page.getByLabel("Code", { exact: true }).fill(code)
    await page.getByRole("button", { name: "Log in" }).click()
    await page.getByRole("heading", { name: "You are logged in" }).waitFor()
  })
})

describe("for a command that waits", () => {
  it("weir login: the page shows who asks, a person approves, and /v1/me is listed", async () => {
    const login = weir("login")
    await eventually(() => login.output.text.includes("the code"), 20_000)
    const [link = ""] = /http\S+/.exec(login.output.text) ?? []
    const [code = ""] = /[A-Z]{4}-[A-Z]{4}$/m.exec(login.output.text.trim()) ?? []
    const page = await newPage({ viewport: { width: 360, height: 640 } })
    await page.goto(link)
    await logInByMail(page, "cy")
    await page.getByRole("heading", { name: "Connect this device?" }).waitFor()
    expect(await page.getByRole("main").textContent()).toContain(code)
    expect(await page.getByRole("main").textContent()).toContain(`weir on `)
    await look(page, "activate-narrow")
    await page.getByRole("button", { name: "Approve" }).click()
    await page.getByRole("heading", { name: "The device is connected" }).waitFor()
    await look(page, "connected")
    expect(await login.exit).toBe(0)
    expect(login.output.text).toContain(`Logged in as ${at("cy")}`)
    const me = weir("me", "--json")
    expect(await me.exit).toBe(0)
    expect(JSON.parse(me.output.text)).toEqual({
      user: { id: `cy_${tag}`, email: at("cy") },
      orgs: [{ id: ids.org, name: "Test", role: "member", teams: [] }],
    })
    const acme = `acme_${tag}`
    await inviteTo(gateway(), acme, at("cy"))
    const invited = weir("me")
    expect(await invited.exit).toBe(0)
    expect(invited.output.text).toContain(`Acme invites you as member: weir invitations accept ${acme}`)
    const accepted = weir("invitations", "accept", acme)
    expect([await accepted.exit, accepted.output.text]).toEqual([0, `You are a member of ${acme} now\n`])
    const refused = weir("invitations", "decline", acme)
    expect(await refused.exit).not.toBe(0)
    expect(refused.output.text).toContain("There is no open invitation of this organisation")
    const later = weir("me")
    expect(await later.exit).toBe(0)
    expect(later.output.text).toMatch(new RegExp(`^${acme} +Acme +member`, "m"))
  })
})

describe("at the organisation", () => {
  const logInThere = async (page: Page, name: string) => {
    oidc.emails.set(name, at(name))
    await page.goto(url("/login"))
    await page.getByLabel("Or log in through your organisation").fill(ids.org)
    await page.getByRole("button", { name: "Continue to its login" }).click()
    // The provider's own page, on its own origin.
    await page.waitForURL(`${oidc.issuer}/**`)
    await page.locator("input[name=login]").fill(name)
    await page.locator("input[name=password]").fill("any")
    await page.locator("button[type=submit]").click()
    await page.locator("input[name=prompt][value=consent]").waitFor({ state: "attached" })
    await page.locator("button[type=submit]").click()
  }

  it("the first login is confirmed with a code by mail; the next one goes straight through", async () => {
    const page = await newPage()
    const before = smtp.lettersTo(at("ada")).length
    await logInThere(page, "ada")
    await page.getByRole("heading", { name: "Confirm that it is you" }).waitFor()
    await look(page, "sso-link")
    await page.getByLabel("Code", { exact: true }).fill(await smtp.codeFor(at("ada"), before + 1))
    await page.getByRole("button", { name: "Confirm" }).click()
    await page.getByText(`You are logged in as ${at("ada")}`).waitFor()

    const another = await newPage()
    await logInThere(another, "ada")
    await another.getByText(`You are logged in as ${at("ada")}`).waitFor()
    const cookies = await another.context().cookies(gateway().baseUrl)
    expect(cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite])).toEqual([
      ["weir_session", true, "Lax"],
    ])
  })
})

describe("another site", () => {
  /** A page of another origin, with script. */
  const serving = async (html: string, use: (origin: string) => Promise<void>) => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end(html)
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    // Another host name, so that it is another site.
    await use(`http://localhost:${portOf(server)}`)
    server.closeAllConnections()
    server.close()
  }

  it("cannot approve a device for who is logged in", async () => {
    const page = await newPage({ javaScriptEnabled: true })
    await page.goto(url("/login"))
    await logInByMail(page, "bo")
    await page.getByRole("heading", { name: "You are logged in" }).waitFor()
    const { deviceCode, userCode } = await startDevice()
    const form = `<form method="post" action="${url("/activate")}"><input name="userCode" value="${userCode}"><input name="decision" value="approve"></form><script>document.forms[0].submit()</script>`
    await serving(form, async (origin) => {
      await page.goto(origin)
      await page.getByRole("alert").waitFor()
      expect(await page.getByRole("alert").textContent()).toContain("not sent by a page of this site")
    })
    expect(await poll(deviceCode)).toMatchObject({ error: { code: "device_code_pending" } })
  })

  it("cannot frame a page", async () => {
    const page = await newPage({ javaScriptEnabled: true })
    await serving(`<iframe src="${url("/login")}"></iframe>`, async (origin) => {
      await page.goto(origin)
      await eventually(() => complaints.length > 0)
      expect(complaints.splice(0).join()).toMatch(/frame-ancestors/)
      const frame = page.frames()[1]
      expect(
        await frame
          ?.locator("form")
          .count()
          .catch(() => 0),
      ).toBe(0)
    })
  })
})
