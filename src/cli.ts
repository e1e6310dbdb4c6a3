#!/usr/bin/env node
/** The command line. `weir --help` lists the commands, `weir --completions bash` (zsh, fish) prints shell completions. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Config, Console, Effect, Exit, Layer, Runtime } from "effect"
import { CliError, Command } from "effect/cli"
import { HttpServerError } from "effect/http"
import { SqlError } from "effect/sql"
import { CatalogueRefused } from "./catalogue/catalogue.ts"
import { describeRefusal } from "./catalogue/watch.ts"
import { audit } from "./cli/audit.ts"
import { chat } from "./cli/chat.ts"
import { conformance } from "./cli/conformance.ts"
import { keys } from "./cli/keys.ts"
import { licence } from "./cli/licences.ts"
import { login, logout, me } from "./cli/login.ts"
import { apply, doctor, ledger, topup } from "./cli/operator.ts"
import { orgs, usage } from "./cli/orgs.ts"
import { Failed } from "./cli/target.ts"
import { timeouts } from "./cli/timeouts.ts"
import { users } from "./cli/users.ts"
import { vendors } from "./cli/vendors.ts"
import { WeirConfig } from "./config.ts"
import { layerGateway } from "./main.ts"
import { layerMigratedDatabase } from "./services.ts"
import { StoreUnavailable } from "./store/unavailable.ts"
import { superviseWorkers, WorkersFailed } from "./workers/supervisor.ts"
import { isWorker } from "./workers/worker.ts"

const serve = Command.make("serve", {}, () =>
  Effect.gen(function* () {
    const config = yield* WeirConfig
    if (config.workers > 1 && !isWorker) return yield* superviseWorkers(config)
    return yield* Layer.launch(layerGateway)
  }).pipe(Effect.provide(WeirConfig.layer)),
).pipe(Command.withDescription("Run the gateway"))

const migrate = Command.make("migrate", {}, () =>
  Effect.scoped(Layer.build(layerMigratedDatabase)).pipe(
    Effect.andThen(Console.log("The database is up to date")),
    Effect.provide(WeirConfig.layer),
  ),
).pipe(Command.withDescription("Apply missing migrations, and stop"))

/** One clear line for what can go wrong at start, and the whole cause for what should not. */
const explain = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (error instanceof Failed || error instanceof WorkersFailed) return error.message
  if (error instanceof CatalogueRefused) return describeRefusal(process.env["SVC_CATALOGUE"] ?? "catalogue", error)
  if (error instanceof StoreUnavailable) return `${error.store} cannot be reached: ${reasonOf(error.cause)}`
  if (SqlError.isSqlError(error)) return `postgres cannot be reached: ${reasonOf(error)}`
  if (error instanceof HttpServerError.ServeError)
    return `Weir cannot listen: ${reasonOf(error.cause)} (SVC_HOST, SVC_PORT)`
  if (error instanceof Config.ConfigError) return `A variable is wrong: ${error.message}`
  return Cause.pretty(cause)
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

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
