/**
 * `npm run screenshots [FOLDER]`: pictures of every page of the console, of the login and of the activation, in both themes
 * at 1280 and 390 px, of a gateway with a busy month. Needs a Chromium (CHROMIUM is its path). The pictures of the README are
 * written beside this file.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"
import { launchChromium } from "../../test/support/chromium.ts"
import { StartedGateway } from "../../test/support/started-gateway.ts"
import { makeDemoData } from "../demo-data/month.ts"

const folder = process.argv[2] ?? ".screenshots"
const org = "harbour"
/** Names of pictures, and the addresses of their pages below the gateway. */
const pages: ReadonlyArray<readonly [name: string, path: string]> = [
  ["login", "login"],
  ["activate", "activate"],
  ["overview", "console/#/overview?range=30d"],
  ["exchanges", "console/#/exchanges?range=7d"],
  ["timeouts", "console/#/timeouts?range=7d"],
  ["reply-cache", "console/#/reply-cache"],
  ["jobs", "console/#/jobs"],
  ["organisations", "console/#/organisations"],
  ["organisation", `console/#/organisations/${org}`],
  ["keys", "console/#/keys"],
  ["teams", "console/#/teams"],
  ["money", "console/#/money"],
  ["ledger", `console/#/money/${org}`],
  ["plan", `console/#/plan?org=${org}`],
  ["models", "console/#/models"],
  ["vendors", "console/#/vendors"],
  ["catalogue", "console/#/catalogue"],
  ["webhooks", "console/#/webhooks"],
  ["exports", "console/#/exports"],
  ["settings", "console/#/settings"],
  ["audit", "console/#/audit"],
  ["playground", "console/#/playground"],
]
/** The pages that the README shows. */
const shown = ["overview", "timeouts"]

const data = mkdtempSync(join(tmpdir(), "weir-demo-data-"))
await makeDemoData(data)
const gateway = new StartedGateway({ SVC_MASTER_KEY: "" }, data)
rmSync(data, { recursive: true, force: true })
const browser = await launchChromium()
try {
  const { baseUrl = "", adminKey = "" } = await gateway.ready()
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
