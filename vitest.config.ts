import { cpus } from "node:os"
import { defineConfig } from "vitest/config"
import { testsOfRun } from "./test/support/folders.ts"
import { LongestFirst } from "./test/support/longest-first.ts"
import { recordedFolder } from "./test/support/recorded/recorded-folder.ts"

const onServers = process.env["SVC_TEST_DATABASE_URL"] !== undefined
const onCitus = process.env["CITUS_WORKER_URLS"] !== undefined
const run = onCitus ? "citus" : onServers ? "servers" : "embedded"
const hasRecordings = recordedFolder() !== undefined
if (run === "embedded" && !hasRecordings)
  console.error("Left out: test/corpus, because SVC_TEST_RECORDINGS names no folder with recordings")

export default defineConfig({
  test: {
    include: testsOfRun(run, hasRecordings),
    globalSetup: [
      "test/support/temporary.ts",
      "test/support/template.ts",
      "test/support/server-template.ts",
      "test/support/bundle.ts",
    ],
    // A statement takes several times as long on several servers, which share a machine with the tests.
    testTimeout: onCitus ? 180_000 : 60_000,
    hookTimeout: 120_000,
    // What is waited for may need a thread that starts, as a first count of tokens does; it ends at once when it is there.
    expect: { poll: { timeout: 20_000, interval: 20 } },
    sequence: { sequencer: LongestFirst },
    pool: "forks",
    // Requests leave much that is short-lived: with V8's default space for it, tests spend a tenth of their time collecting it.
    // There are more workers than cores: V8's helper threads would only take turns with them.
    execArgv: ["--min-semi-space-size=16", "--max-semi-space-size=32", "--single-threaded-gc", "--v8-pool-size=1"],
    // Modules are loaded once per worker: a quarter of the time of all tests. Tests may not leave global state behind.
    isolate: false,
    // Most of them wait for sockets and databases, those on servers longer.
    maxWorkers: cpus().length * 2,
  },
})
