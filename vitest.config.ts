import { cpus } from "node:os"
import { defineConfig } from "vitest/config"

/** Tests that start processes, which bring stores of their own: they say the same on a server's. */
const processes = ["test/http/{start,cli,conformance}.test.ts", "test/package/**", "test/timeouts/**"]
const onServers = process.env["SVC_TEST_DATABASE_URL"] !== undefined

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: onServers ? processes : [],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    // Most of them wait for sockets and databases: two share a core well.
    maxWorkers: Math.max(2, cpus().length),
  },
})
