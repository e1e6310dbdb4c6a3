/**
 * The command line. `weir --help` lists the commands; `weir --completions bash` (zsh, fish) prints shell completions.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Exit, Runtime } from "effect"
import { CliError, Command } from "effect/cli"
import { version } from "../protocol/version.ts"
import { commandsOf } from "./commands.ts"

// Older versions of Node call SQLite experimental, of which Weir uses a lock: that helps nobody who starts a gateway.
process.removeAllListeners("warning").on("warning", ({ name, message }) => {
  if (name !== "ExperimentalWarning") console.error(`${name}: ${message}`)
})

const commands = await commandsOf(process.argv.slice(2))

Command.make("weir").pipe(
  Command.withDescription("A gateway in front of model and search vendors"),
  Command.withSubcommands(commands),
  Command.run({ version }),
  Effect.provide(NodeServices.layer),
  Effect.tapCause((cause) => {
    if (Cause.hasInterruptsOnly(cause) || CliError.isCliError(Cause.squash(cause))) return Effect.void
    return Effect.flatMap(
      Effect.promise(() => import("./explain.ts")),
      ({ explain }) => Console.error(explain(cause)),
    )
  }),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    // An interrupted gateway has drained and settled: that is a success.
    teardown: (exit, onExit) =>
      Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit),
  }),
)
