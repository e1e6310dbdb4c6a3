/** A program with a process of a tool server that does not end by itself: it prints the process's id, and waits to be killed. */
import { Effect } from "effect"
import { makeProcesses } from "../../../src/tool-servers/processes/processes.ts"

const [program = "", ...args] = process.argv.slice(2)
const server = { id: "fixture", program, arguments: args }

await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const processes = yield* makeProcesses({ servers: [server], maxMessageBytes: 1024, limits: { killMs: 1000 } })
      yield* processes.ready("fixture")
      process.stdout.write(`${processes.stateOf("fixture")?.pids[0]}\n`)
      yield* Effect.never
    }),
  ),
)
