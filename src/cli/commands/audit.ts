/** `weir audit`: verifies the audit log. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { Admin } from "../../protocol/api/admin.ts"
import { ask, Failed, type Operator, operator, print } from "../target.ts"

/** @param cursor the end of the part before */
const verifyFrom = (target: Operator, cursor: string | undefined) =>
  ask(target, Admin, (client, headers) =>
    client.admin.auditVerify({ headers, query: cursor === undefined ? {} : { cursor } }),
  )

const verify = Command.make(
  "verify",
  operator,
  Effect.fn(function* (target) {
    let verdict = yield* verifyFrom(target, undefined)
    while (verdict.nextCursor !== null) {
      yield* Console.error(`${verdict.entries} of ${verdict.of} entries verified so far`)
      verdict = yield* verifyFrom(target, verdict.nextCursor)
    }
    if (verdict.broken !== undefined) {
      const { broken, entries } = verdict
      const failure = `Entry ${broken} is missing or was changed; the ${entries} before it are valid`
      return yield* Effect.fail(new Failed(failure))
    }
    yield* print(
      target,
      verdict,
      ({ entries, head }) => `${entries} entries are valid; the newest one's hash is ${head}`,
    )
  }),
).pipe(Command.withDescription("Verify the audit log; fails at the first entry that is missing or was changed"))

export const audit = Command.make("audit").pipe(
  Command.withSubcommands([verify]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
