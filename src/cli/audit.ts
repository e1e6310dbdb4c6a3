/** `weir audit`: whether the audit log is what was written. */
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { adminKey, connect, describeError, Failed, url } from "./operator.ts"

const verify = Command.make(
  "verify",
  { url, adminKey },
  Effect.fn(function* (target) {
    const { client, headers } = yield* connect(target)
    const { entries, head, broken } = yield* client.admin
      .auditVerify({ headers })
      .pipe(Effect.mapError((error) => new Failed(describeError(error, target.url))))
    if (broken !== undefined) {
      return yield* Effect.fail(
        new Failed(`Entry ${broken} is missing or not what was written; ${entries} before it are sound`),
      )
    }
    yield* Console.log(`${entries} entries are sound; the newest one's hash is ${head}`)
  }),
).pipe(Command.withDescription("Check the chain; fails with the first entry that is not what was written"))

export const audit = Command.make("audit").pipe(
  Command.withDescription("The audit log"),
  Command.withSubcommands([verify]),
  Command.provide(FetchHttpClient.layer),
)
