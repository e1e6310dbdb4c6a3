/**
 * `npm run screenshots [FOLDER]`: pictures of every page of the console, of the login and of the activation, in both themes
 * at 1280 and 390 px, of a gateway with traffic. Needs a Chromium (CHROMIUM is its path). The pictures of the README are
 * written beside this file.
 */
import { copyFileSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"
import { launchChromium } from "../../test/support/chromium.ts"
import { StartedGateway } from "../../test/support/started-gateway.ts"

const folder = process.argv[2] ?? ".screenshots"
const org = "org_development"
/** Names of pictures, and the addresses of their pages below the gateway. */
const pages: ReadonlyArray<readonly [name: string, path: string]> = [
  ["login", "login"],
  ["activate", "activate"],
  ["overview", "console/#/overview?range=15m"],
  ["exchanges", "console/#/exchanges?range=1h"],
  ["jobs", "console/#/jobs"],
  ["timeouts", "console/#/timeouts?range=1h"],
  ["money", "console/#/money"],
  ["ledger", `console/#/money/${org}`],
  ["catalogue", "console/#/catalogue"],
  ["organisations", "console/#/organisations"],
  ["organisation", `console/#/organisations/${org}`],
  ["settings", "console/#/settings"],
  ["plan", `console/#/plan?org=${org}`],
  ["audit", "console/#/audit"],
  ["playground", "console/#/playground"],
]
/** The pages that the README shows. */
const shown = ["overview", "timeouts"]

const gateway = new StartedGateway()
const browser = await launchChromium()
try {
  const ready = await gateway.ready()
  const { baseUrl = "", keyId = "", key = "", adminKey = "" } = ready
  const call = (path: string, body: object) =>
    fetch(`${baseUrl}${path}`, {
      method: "POST",
      headers: { "x-svc-key-id": keyId, "x-svc-key": key, "content-type": "application/json" },
      body: JSON.stringify(body),
    }).then((reply) => reply.text())
  const ask = (text: string, more: object = {}) =>
    call("/t1/exchange", { model: "main", thread: [{ role: "user", blocks: [{ t: "text", v: text }] }], ...more })
  for (let turn = 0; turn < 60; turn++) {
    const texts = ["rivers", "a long question ".repeat(turn % 12), "notches", "leases"]
    await Promise.all(texts.map((text, index) => ask(text, { stream: index === 0 && turn % 6 === 0 })))
  }
  await ask("Hello", { model: "not-there" })
  await call("/t1/heartbeat", {})
  mkdirSync(folder, { recursive: true })
  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of [1280, 390]) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } })
      const page = await context.newPage()
      await page.goto(`${baseUrl}/console/`)
      await page.getByLabel("Admin key").waitFor()
      await take(page, "sign-in", colorScheme, width)
      await page.getByLabel("Admin key").fill(adminKey)
      await page.getByRole("button", { name: "Sign in" }).click()
      await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor()
      for (const [name, path] of pages) {
        await page.goto(`${baseUrl}/${path}`)
        await page.getByRole("heading", { level: 1 }).waitFor()
        await page.getByText("Loading…").first().waitFor({ state: "detached" })
        await page.waitForTimeout(600)
        await take(page, name, colorScheme, width)
      }
      await context.close()
    }
  }
} finally {
  await browser.close()
  await gateway.stop()
}

async function take(page: Page, name: string, colorScheme: string, width: number): Promise<void> {
  const path = join(folder, `${name}-${colorScheme}-${width}.png`)
  await page.screenshot({ path, fullPage: true })
  console.log(path)
  if (shown.includes(name) && colorScheme === "light" && width === 1280) {
    copyFileSync(path, fileURLToPath(new URL(`../../docs/images/${name}.png`, import.meta.url)))
  }
}
