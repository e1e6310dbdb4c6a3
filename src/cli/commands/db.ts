/** `weir db`: the location of the books, and their distribution over the servers of a distributed PostgreSQL. */
import { Console, Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import { WeirConfig } from "../../config.ts"
import { layerDatabase } from "../../store/database.ts"
import { distribute, planDistribution } from "../../store/shards/distribute.ts"
import { Shards } from "../../store/shards/shards.ts"
import { type ShardStatus, statusOf } from "../../store/shards/status.ts"
import { table } from "../table.ts"
import { Failed, json, print } from "../target.ts"

/** The database of `SVC_DATABASE_URL`, which must have all migrations. */
const withDatabase = layerDatabase.pipe(
  Layer.provide(
    Layer.effect(
      WeirConfig,
      Effect.gen(function* () {
        const config = yield* WeirConfig
        if (config.databaseUrl === undefined) {
          return yield* Effect.fail(new Failed("SVC_DATABASE_URL is not set: the embedded database is in one place"))
        }
        return { ...config, migrates: false }
      }),
    ).pipe(Layer.provide(WeirConfig.layer)),
  ),
)

const status = Command.make("status", { json }, ({ json }) =>
  Effect.gen(function* () {
    const shards = yield* statusOf(yield* Shards)
    yield* print({ json }, shards, describe)
    const silent = shards.filter(({ answers }) => !answers).length
    if (silent > 0) return yield* Effect.fail(new Failed(`${silent} of ${shards.length} shards do not answer`))
  }).pipe(Effect.provide(withDatabase)),
).pipe(Command.withDescription("Show the servers of the books"))

const describe = (shards: ReadonlyArray<ShardStatus>): string =>
  table(
    ["shard", "server", "state", "organisations", "mib"],
    shards.map(({ shard, server, answers, organisations, bytes }) => [
      shard,
      server || "the database",
      answers ? "answers" : "does not answer",
      answers ? String(organisations) : "",
      answers ? mebibytes(bytes) : "",
    ]),
  )

const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)

const spread = Command.make(
  "distribute",
  {
    shards: Flag.Int("shards").pipe(
      Flag.withDescription("The number of shards; each is on one server at a time. Default: two for each server"),
      Flag.withDefault(0),
    ),
    apply: Flag.Boolean("apply").pipe(
      Flag.withDescription("Apply the change; without it, the command only prints it"),
      Flag.withDefault(false),
    ),
  },
  ({ shards, apply }) =>
    Effect.gen(function* () {
      const { servers, bytes } = yield* planDistribution
      const count = shards === 0 ? 2 * servers : shards
      if (count < 1 || count > maxShards) return yield* Effect.fail(new Failed(`--shards is 1 to ${maxShards}`))
      const what = `${mebibytes(bytes)} MiB of books in ${count} shards on ${servers} ${servers === 1 ? "server" : "servers"}`
      if (!apply) {
        const seconds = Math.ceil(2 + bytes / bytesASecond)
        yield* Console.log(
          `Would spread ${what}. No gateway may run during that time, which is about ${seconds} s. With --apply, it is done.`,
        )
        return
      }
      const beganMs = Date.now()
      yield* distribute(count)
      yield* Console.log(`Spread ${what} in ${((Date.now() - beganMs) / 1000).toFixed(1)} s. Gateways can be started.`)
    }).pipe(
      Effect.provide(withDatabase),
      Effect.catchTag("NotDistributed", ({ message }) => Effect.fail(new Failed(message))),
    ),
).pipe(Command.withDescription("Distribute the books over the servers of Citus; this cannot be undone"))

const maxShards = 1024
/** The measured speed, approximately; see src/docs/how-to/deploy.md. */
const bytesASecond = 20 * 2 ** 20

export const db = Command.make("db").pipe(Command.withSubcommands([status, spread]))
