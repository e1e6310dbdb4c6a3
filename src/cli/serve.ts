/** `weir serve`: the gateway, or the supervisor of its workers if several are configured. */
import { Console, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { WeirConfig } from "../config.ts"
import { isWorker } from "../workers/worker.ts"
import { describeUnknownVariables } from "./explain.ts"

/** Loaded when needed: the other commands start without the services and the server. */
const loadGateway = Effect.promise(() => import("./gateway.ts"))
const loadSupervisor = Effect.promise(() => import("../workers/supervisor.ts"))

export const serve = Command.make("serve", {}, () => Effect.andThen(warnOfUnknownVariables, run))

const run = Effect.gen(function* () {
  const config = yield* WeirConfig
  if (config.workers > 1 && !isWorker) return yield* (yield* loadSupervisor).superviseWorkers(config)
  return yield* Layer.launch((yield* loadGateway).layerGateway)
}).pipe(Effect.provide(WeirConfig.layer))

const warnOfUnknownVariables = Effect.flatMap(describeUnknownVariables, (lines) =>
  Effect.forEach(lines, (line) => Console.error(line), { discard: true }),
)
