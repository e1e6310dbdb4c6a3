/** `weir serve`: the gateway, or the supervisor of its workers if several are configured. */
import { Console, Effect, Fiber, Layer } from "effect"
import { Command } from "effect/cli"
import { isDevelopment, lackingOf, WeirConfig } from "../../config.ts"
import { developmentSecrets } from "../../development/secrets.ts"
import { EmbeddedDatabase, embeddedDirectory, startEmbedded } from "../../store/embedded.ts"
import { isWorker } from "../../workers/worker.ts"
import { describeUnknownVariables } from "../explain.ts"
import { optimiseEarly } from "../serve/v8-flags.ts"
import { failed } from "../target.ts"

/** Loaded when needed: the other commands start without the services and the server. */
const loadGateway = Effect.promise(() => import("../serve/gateway.ts"))
const loadSupervisor = Effect.promise(() => import("../../workers/supervisor.ts"))

export const serve = Command.make("serve", {}, () => Effect.andThen(warnOfUnknownVariables, run))

const run = Effect.gen(function* () {
  const config = yield* WeirConfig
  const lacking = lackingOf(config)
  if (lacking.length > 0) return yield* failed(lacking.join("\n"))
  // Workers find secrets that were made once, for all of them.
  if (config.workers > 1 && !isWorker && isDevelopment(config)) yield* developmentSecrets(config.dataDir)
  if (config.workers > 1 && !isWorker) return yield* (yield* loadSupervisor).superviseWorkers(config)
  const database = yield* startDatabaseEarly(config)
  const { layerGateway } = yield* loadGateway
  optimiseEarly()
  return yield* Layer.launch(Layer.provide(layerGateway, database))
}).pipe(Effect.scoped, Effect.provide(WeirConfig.layer))

/** The embedded database starts in its thread while the gateway's modules are loaded: both take as long. */
const startDatabaseEarly = Effect.fnUntraced(function* ({ databaseUrl, dataDir }: WeirConfig["Service"]) {
  if (databaseUrl !== undefined) return Layer.empty
  const started = yield* Effect.forkScoped(startEmbedded(embeddedDirectory(dataDir)), { startImmediately: true })
  return Layer.succeed(EmbeddedDatabase, () => Fiber.join(started))
})

const warnOfUnknownVariables = Effect.flatMap(describeUnknownVariables, (lines) =>
  Effect.forEach(lines, (line) => Console.error(line), { discard: true }),
)
