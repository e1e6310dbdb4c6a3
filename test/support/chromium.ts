/** The Chromium of this machine; CHROMIUM is its path if it is elsewhere. */
import { type Browser, chromium } from "playwright-core"

export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: ["--no-sandbox"] })
