/** The time that the console takes to open with an empty cache, on computers that are slower than this one. */
import type { Page } from "playwright-core"
import { launchChromium } from "../test/support/chromium.ts"
import { median } from "./bench/load.ts"

export interface ConsoleLoad {
  /** Milliseconds until its pages can be chosen, and until figures are shown; medians. */
  readonly navigable: number
  readonly figures: number
}

const runs = 5
/**
 * The factors of slowness. In Lighthouse's benchmark index, a machine of 1,500 to 2,000 that is slowed twice is a slow
 * laptop; slowed four times, a phone.
 */
export const slowdowns = [2, 4] as const

/** For each of {@link slowdowns}. */
export const measureConsole = async (baseUrl: string, adminKey: string): Promise<ReadonlyArray<ConsoleLoad>> => {
  const browser = await launchChromium()
  try {
    const signedIn = await browser.newContext()
    const page = await signedIn.newPage()
    await page.goto(`${baseUrl}/console/`)
    await page.getByLabel("Admin key").fill(adminKey)
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.locator(".figures").waitFor()
    const storageState = await signedIn.storageState()
    const medians: Array<ConsoleLoad> = []
    for (const slowdown of slowdowns) {
      const loads: Array<ConsoleLoad> = []
      for (let run = 0; run < runs; run++) {
        const context = await browser.newContext({ storageState })
        loads.push(await loadOnce(await context.newPage(), `${baseUrl}/console/`, slowdown))
        await context.close()
      }
      medians.push({
        navigable: median(loads.map(({ navigable }) => navigable)),
        figures: median(loads.map(({ figures }) => figures)),
      })
    }
    return medians
  } finally {
    await browser.close()
  }
}

const loadOnce = async (page: Page, url: string, slowdown: number): Promise<ConsoleLoad> => {
  const session = await page.context().newCDPSession(page)
  await session.send("Emulation.setCPUThrottlingRate", { rate: slowdown })
  await page.addInitScript({ content: observer })
  await page.goto(url, { waitUntil: "commit" })
  await page.locator("main .figures").waitFor()
  const at = (mark: string) =>
    page.evaluate((name) => Math.round(performance.getEntriesByName(name)[0]?.startTime ?? Number.NaN), mark)
  return { navigable: await at("navigable"), figures: await at("figures") }
}

/** Runs in the page. */
const observer = `
  const places = { navigable: "nav a", figures: "main .figures" }
  new MutationObserver(() => {
    for (const [mark, selector] of Object.entries(places)) {
      if (document.querySelector(selector) && performance.getEntriesByName(mark).length === 0) performance.mark(mark)
    }
  }).observe(document, { childList: true, subtree: true })`
