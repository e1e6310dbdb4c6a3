/**
 * A real Chromium, without script unless a test asks for it; screenshots are written to a folder outside of the
 * repository.
 */
import { existsSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, expect } from "vitest"

const places = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
const executablePath = places.find((place) => place !== undefined && existsSync(place))

/** One that hears a tone, without asking. */
const microphone = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]

/** Starts the browser before the tests of a file. */
export const useChromium = () => {
  let browser: Browser | undefined
  const complaints: Array<string> = []
  const shots = mkdtempSync(join(process.env["SCREENSHOTS"] ?? tmpdir(), "weir-screens-"))
  beforeAll(async () => {
    if (executablePath === undefined) throw new Error("No Chromium: install it, or say where it is with CHROMIUM")
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox", ...microphone] })
  })
  afterAll(() => browser?.close())
  // The browser reports what a policy blocks.
  afterEach(() => {
    expect(complaints.splice(0)).toEqual([])
  })

  return {
    newPage: async (options: BrowserContextOptions = {}): Promise<Page> => {
      if (browser === undefined) throw new Error("the browser has not started")
      const context = await browser.newContext({ javaScriptEnabled: false, ignoreHTTPSErrors: true, ...options })
      const page = await context.newPage()
      page.on("console", (message) => {
        if (message.type() === "error" && message.text().includes("Content Security Policy"))
          complaints.push(message.text())
      })
      return page
    },
    /** Takes a screenshot. */
    look: (page: Page, name: string) => page.screenshot({ path: join(shots, `${name}.png`), fullPage: true }),
    complaints,
    shots,
  }
}
