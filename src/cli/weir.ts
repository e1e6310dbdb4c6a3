/** The command line: runs one command, and prints its failure in a line. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect } from "effect"
import { CliError, Command } from "effect/cli"
import { version } from "../protocol/version.ts"
import { commandsOf } from "./commands.ts"

/** @param args after the command's own name. Fails with the failure that it has printed */
export const weir = Effect.fnUntraced(
  function* (args: ReadonlyArray<string>) {
    const commands = yield* Effect.promise(() => commandsOf(args))
    const command = Command.make("weir").pipe(
      Command.withDescription("A gateway in front of model and search vendors"),
      Command.withSubcommands(commands),
    )
    return yield* Command.runWith(command, { version })(args)
  },
  Effect.provide(NodeServices.layer),
  Effect.tapCause((cause) => {
    if (Cause.hasInterruptsOnly(cause) || CliError.isCliError(Cause.squash(cause))) return Effect.void
    return Effect.flatMap(
      Effect.promise(() => import("./explain.ts")),
      ({ explain }) => Console.error(explain(cause)),
    )
  }),
)
