#!/usr/bin/env node
/** The command line. `weir --help` lists the commands, `weir --completions bash` (zsh, fish) prints shell completions. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Console, Effect, Exit, Layer, Runtime } from "effect"
import { CliError, Command } from "effect/cli"
import { audit } from "./cli/audit.ts"
import { chat } from "./cli/chat.ts"
import { conformance } from "./cli/conformance.ts"
import { doctor } from "./cli/doctor.ts"
import { describeUnheard, explain } from "./cli/explain.ts"
import { keys } from "./cli/keys.ts"
import { licence } from "./cli/licences.ts"
import { login, logout, me } from "./cli/login.ts"
import { apply, ledger, topup } from "./cli/operator.ts"
import { orgs, usage } from "./cli/orgs.ts"
import { timeouts } from "./cli/timeouts.ts"
import { users } from "./cli/users.ts"
import { vendors } from "./cli/vendors.ts"
import { WeirConfig } from "./config.ts"
import { layerGateway } from "./main.ts"
import { layerMigratedDatabase } from "./services.ts"
import { superviseWorkers } from "./workers/supervisor.ts"
import { isWorker } from "./workers/worker.ts"

const serve = Command.make("serve", {}, () =>
  Effect.gen(function* () {
    const config = yield* WeirConfig
    if (config.workers > 1 && !isWorker) return yield* superviseWorkers(config)
    return yield* Layer.launch(layerGateway)
  }).pipe(Effect.provide(WeirConfig.layer), (started) => Effect.andThen(warnOfNames, started)),
).pipe(Command.withDescription("Run the gateway"))

const warnOfNames = Effect.flatMap(describeUnheard, (lines) =>
  Effect.forEach(lines, (line) => Console.error(line), { discard: true }),
)

const migrate = Command.make("migrate", {}, () =>
  Effect.scoped(Layer.build(layerMigratedDatabase)).pipe(
    Effect.andThen(Console.log("The database is up to date")),
    Effect.provide(
      Layer.effect(
        WeirConfig,
        Effect.map(WeirConfig, (config) => ({ ...config, migrates: true })),
      ),
    ),
    Effect.provide(WeirConfig.layer),
  ),
).pipe(Command.withDescription("Apply missing migrations, and stop"))

Command.make("weir").pipe(
  Command.withDescription("A gateway in front of model and search vendors"),
  Command.withSubcommands([
    serve,
    migrate,
    apply,
    orgs,
    users,
    keys,
    licence,
    topup,
    ledger,
    usage,
    vendors,
    audit,
    doctor,
    timeouts,
    chat,
    conformance,
    login,
    me,
    logout,
  ]),
  Command.run({ version: "0.1.0" }),
  Effect.provide(NodeServices.layer),
  Effect.tapCause((cause) => {
    if (Cause.hasInterruptsOnly(cause) || CliError.isCliError(Cause.squash(cause))) return Effect.void
    return Console.error(explain(cause))
  }),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    // A gateway that was told to stop, and has settled everything, has done what it should.
    teardown: (exit, onExit) =>
      Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit),
  }),
)
