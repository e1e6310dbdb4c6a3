/** Stores for tests: embedded and in memory, or the servers that the environment names. */
import { Effect, Layer, Redacted, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import { WeirConfig } from "../config.ts"
import { EmbeddedDatabase, startEmbedded } from "../store/embedded.ts"
import { reusedDatabase } from "./reused-database.ts"
import { ownDatabase } from "./server-databases.ts"

/** Values that replace those of the configuration; of the emergency timeouts, the named ones. */
export type TestConfig = Omit<Partial<WeirConfig["Service"]>, "upstreamTimeouts"> & {
  readonly upstreamTimeouts?: Partial<WeirConfig["Service"]["upstreamTimeouts"]>
}

const noTimeouts = { connect: undefined, ttfb: undefined, idle: undefined, total: undefined }

/** The values as the configuration has them. */
export const configValues = ({ upstreamTimeouts, ...values }: TestConfig = {}): Partial<WeirConfig["Service"]> =>
  upstreamTimeouts === undefined ? values : { ...values, upstreamTimeouts: { ...noTimeouts, ...upstreamTimeouts } }

type Stores = Pick<WeirConfig["Service"], "databaseUrl" | "redisUrl" | "dataDir">

const fromEnvironment = (name: string): string | undefined => process.env[name] || undefined

export const testRedisUrl = (): Redacted.Redacted | undefined => {
  const url = fromEnvironment("SVC_TEST_REDIS_URL")
  return url === undefined ? undefined : Redacted.make(url)
}

/**
 * `SVC_TEST_DATABASE_URL` and `SVC_TEST_REDIS_URL`, each replaced by the embedded store if it is not set. On a server,
 * every scope has its own database.
 */
export const testStores: Effect.Effect<Stores, SqlError.SqlError, Scope.Scope> = Effect.gen(function* () {
  const server = fromEnvironment("SVC_TEST_DATABASE_URL")
  const databaseUrl = server === undefined ? undefined : yield* ownDatabase(server)
  return { databaseUrl, redisUrl: testRedisUrl(), dataDir: ":memory:" }
})

/** The configuration of a test: defaults, no logs, the embedded stores, and the values that replace them. */
export const layerTestConfig = (values: TestConfig = {}): Layer.Layer<WeirConfig> =>
  Layer.orDie(
    WeirConfig.layerWith({
      env: "test",
      logLevel: "None",
      dataDir: ":memory:",
      httpsProxy: undefined,
      lameDuckMs: 0,
      ...configValues(values),
    }),
  )

/** Databases in memory are copies of the dump that `SVC_TEST_EMBEDDED_TEMPLATE` names, and are reused. */
export const layerTestDatabases: Layer.Layer<never> = Layer.unwrap(
  Effect.sync(() => {
    const template = fromEnvironment("SVC_TEST_EMBEDDED_TEMPLATE")
    return template === undefined
      ? Layer.empty
      : Layer.succeed(EmbeddedDatabase, (dataDir) =>
          dataDir === undefined ? reusedDatabase(template) : startEmbedded(dataDir),
        )
  }),
)
