/**
 * The command line as a process. `weir --help` lists the commands; `weir --completions bash` (zsh, fish) prints shell
 * completions.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Exit, Runtime } from "effect"
import { hasWrongArguments, weir } from "./weir.ts"

// Older versions of Node print a warning that SQLite is experimental. Weir uses only a lock of it, so the warning is hidden.
process.removeAllListeners("warning").on("warning", ({ name, message }) => {
  if (name !== "ExperimentalWarning") console.error(`${name}: ${message}`)
})

// `console` hides that nothing could be written. A reader that has enough is no failure; a full disk is one.
let unwritten: Error | undefined
process.stdout.on("error", (error) => {
  unwritten ??= error
})

NodeRuntime.runMain(weir(process.argv.slice(2)), {
  disableErrorReporting: true,
  // An interrupted gateway has drained and settled: that is a success.
  teardown: (exit, onExit) => {
    if (Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)) return onExit(0)
    if (Exit.isFailure(exit) && hasWrongArguments(exit.cause)) return onExit(2)
    const error = unwritten ?? process.stdout.errored
    if (Exit.isSuccess(exit) && error && !/EPIPE/.test(error.message)) {
      console.error(`The output could not be written: ${error.message}`)
      return onExit(1)
    }
    return Runtime.defaultTeardown(exit, onExit)
  },
})
