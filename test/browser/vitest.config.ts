import { defineConfig } from "vitest/config"

/** The tests that need a Chromium; the others run anywhere. */
export default defineConfig({
  test: { include: ["test/browser/**/*.browser.ts"], testTimeout: 60_000, hookTimeout: 60_000, pool: "forks" },
})
