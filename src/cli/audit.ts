/** `weir audit`: verifies the audit log. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { ask, Failed, operator, print } from "./target.ts"

const verify = Command.make(
  "verify",
  operator,
  Effect.fn(function* (target) {
    const verdict = yield* ask(target, (client, headers) => client.admin.auditVerify({ headers }))
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
  Command.withDescription("The audit log"),
  Command.withSubcommands([verify]),
  Command.provide(FetchHttpClient.layer),
)
