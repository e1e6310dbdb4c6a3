import { cpus } from "node:os"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { recordedFolder } from "./test/corpus/recorded-folder.ts"

/** Tests that start processes, which bring stores of their own: they say the same on a server's. */
const processes = [
  "test/http/{reply-cache-kill,webhooks-kill,start,start-failures,catalogue-file,cli,conformance,secret-files}.test.ts",
  "test/package/**",
  "test/telemetry/timeouts.test.ts",
  "test/cli/**",
]
/** Tests that use no store. */
const storeless = [
  "test/{background,coming-and-going}.test.ts",
  "test/{architecture,corpus,dialects,identity,protocol,setup,simulation,twins}/**",
  "test/{admission/request-id,client/errors,faults/shortage,jobs/jobs,review/policy,telemetry/logs}.test.ts",
  "test/catalogue/{load,yaml}.test.ts",
  "test/http/{connection-limit,openapi,tls}.test.ts",
  "test/money/{allotments,bill,journal-sync,ledger-rules,pricing,scarce}.test.ts",
  "test/property/{catalogue-patch,client-apis,dialects}.test.ts",
  "test/settings/{bundle,merge}.test.ts",
  "test/store/{embedded,file-lock,group-commit,seal}.test.ts",
  "test/upstream/{egress,pool,proxy}.test.ts",
]
/** What the books are asked for, of the tests that run on Citus; those that move shards start a cluster of their own. */
const ofBooks = [
  "test/money/**/*.test.ts",
  "test/{jobs/job-store,property/ledger,store/functions}.test.ts",
  "test/{calls,telemetry,tenants}/**/*.test.ts",
  "test/exports/{exports,bucket-exports,late-records,closed-months}.test.ts",
  "test/conformance/{activity,admin,budgets,exchange,idempotency,kinds,own-budgets,pages,statements,usage,videos,webhooks}.test.ts",
]
/**
 * What takes longest is begun first: begun last, a run would wait for it alone. Files that mostly wait alternate with those
 * that compute: together, they would leave the cores idle.
 */
const longest = [
  "http/webhooks-kill",
  "simulation/ledger",
  "store/citus",
  "exports/bucket-exports",
  "package/package",
  "conformance/sessions",
  "http/start",
  "money/leases",
  "exports/late-records",
  "http/hostile-input",
  "http/cli",
  "exports/exports",
  "faults/shortage",
  "http/start-failures",
  "faults/citus",
  "sockets/realtime",
  "faults/backpressure",
  "sockets/exchange-socket",
  "http/secret-files",
  "admission/overload",
].map((name) => `/test/${name}.test.ts`)

/** Of the others, Vitest begins with those that failed or took long the last time, or are large. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const place = longest.findIndex((name) => moduleId.endsWith(name))
      return place === -1 ? longest.length : place
    }
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b))
  }
}

const onServers = process.env["SVC_TEST_DATABASE_URL"] !== undefined
const onCitus = process.env["CITUS_WORKER_URLS"] !== undefined
/** Tests of recorded vendor traffic, which a clone does not have. */
const recorded = recordedFolder() === undefined ? ["test/corpus/**"] : []
if (recorded.length > 0)
  console.error(`Left out: ${recorded}, because SVC_TEST_RECORDINGS names no folder with recordings`)

export default defineConfig({
  test: {
    include: onCitus ? ofBooks : ["test/**/*.test.ts"],
    globalSetup: ["test/temporary.ts", "test/template.ts", "test/bundle.ts"],
    exclude: onServers ? [...processes, ...storeless] : recorded,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // What is waited for may need a thread that starts, as a first count of tokens does; it ends at once when it is there.
    expect: { poll: { timeout: 20_000, interval: 20 } },
    sequence: { sequencer: LongestFirst },
    pool: "forks",
    // Modules are loaded once per worker: a quarter of the time of all tests. Tests may not leave global state behind.
    isolate: false,
    // Most of them wait for sockets and databases, those on servers longer.
    maxWorkers: cpus().length * (onServers ? 3 : 2),
  },
})
