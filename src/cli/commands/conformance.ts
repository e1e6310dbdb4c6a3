/** `weir conformance`: the contract's black-box checks against any deployment. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type Outcome, runChecks } from "../../conformance/checks.ts"
import { caller, credentialsOf } from "../caller.ts"
import { table } from "../table.ts"
import { Failed, json } from "../target.ts"

export const conformance = Command.make(
  "conformance",
  {
    baseUrl: Argument.String("url").pipe(Argument.withDescription("Base URL of the deployment")),
    model: Flag.String("model").pipe(Flag.withDescription("The handle of a cheap model"), Flag.withDefault("main")),
    keyId: caller.keyId,
    key: caller.key,
    token: caller.token,
    json,
  },
  Effect.fn(function* ({ baseUrl, model, json, ...flags }) {
    const credentials = yield* credentialsOf(flags)
    if (!("keyId" in credentials)) return yield* Effect.fail(new Failed("A key pair is required: --key-id and --key"))
    const { keyId, key } = credentials
    const showProgress = !json && process.stderr.isTTY === true
    const outcomes = yield* Effect.promise(() =>
      runChecks({ baseUrl, keyId, key, model }, ({ check }) => {
        if (showProgress) process.stderr.write(`\r\u001B[K${check}`)
      }),
    )
    if (showProgress) process.stderr.write("\r\u001B[K")
    yield* Console.log(json ? JSON.stringify(outcomes, undefined, 2) : describe(outcomes))
    const failed = outcomes.filter(({ result }) => result === "failed").length
    if (failed > 0) return yield* Effect.fail(new Failed(`${failed} of ${outcomes.length} checks failed`))
  }),
)

const describe = (outcomes: ReadonlyArray<Outcome>): string => {
  const count = (result: Outcome["result"]) => outcomes.filter((outcome) => outcome.result === result).length
  return [
    table(
      ["result", "section", "check", "ms", "note"],
      outcomes.map(({ result, section, check, millis, note }) => [result, section, check, String(millis), note]),
    ),
    `${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`,
  ].join("\n")
}
