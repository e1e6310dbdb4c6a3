/** The command line: runs one command, and prints its failure in a line. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect } from "effect"
import { CliError, CliOutput, Command } from "effect/cli"
import { version } from "../protocol/version.ts"
import { commandsOf, withPresentName } from "./commands.ts"
import { describeWrongArguments } from "./wrong-arguments.ts"

/** A failure for machines. It is printed on the standard error, so that the standard output is JSON alone. */
const printJson = (error: object) => Console.error(JSON.stringify({ error }, undefined, 2))

/** Wrong arguments are printed in our own words: after the help, or as JSON if the command prints JSON. */
const presenterOf = (isJson: boolean): CliOutput.Presenter => ({
  present: (event) => {
    if (event._tag !== "InvalidInvocation") return CliOutput.defaultPresenter.present(event)
    const message = describeWrongArguments(event)
    if (isJson) return printJson({ message })
    const help = CliOutput.defaultPresenter.present({ ...event, _tag: "Help", reason: "Requested" })
    return Effect.andThen(help, Console.error(`\n${message}`))
  },
})

/** @param args after the command's own name. Fails with the failure that it has printed */
export const weir = Effect.fnUntraced(
  function* (args: ReadonlyArray<string>) {
    const commands = yield* Effect.promise(() => commandsOf(args))
    const command = Command.make("weir").pipe(
      Command.withDescription("A gateway in front of model and search vendors"),
      Command.withSubcommands(commands),
    )
    return yield* Command.runWith(command, { version })(withPresentName(args))
  },
  Effect.provide(NodeServices.layer),
  (command, args) => Effect.provideService(command, CliOutput.Presenter, presenterOf(isForMachines(args))),
  (command, args) =>
    Effect.tapCause(command, (cause) => {
      if (Cause.hasInterruptsOnly(cause) || CliError.isCliError(Cause.squash(cause))) return Effect.void
      return Effect.flatMap(
        Effect.promise(() => import("./explain.ts")),
        ({ explain, explainJson }) =>
          isForMachines(args) ? printJson(explainJson(cause)) : Console.error(explain(cause)),
      )
    }),
)

/** Whether the output is JSON. */
const isForMachines = (args: ReadonlyArray<string>): boolean => {
  const end = args.indexOf("--")
  return (end < 0 ? args : args.slice(0, end)).includes("--json")
}

/** Whether a command failed because its arguments were wrong. */
export const hasWrongArguments = (cause: Cause.Cause<unknown>): boolean => {
  const error = Cause.squash(cause)
  return CliError.isCliError(error) && error._tag === "ShowHelp" && error.errors.length > 0
}
