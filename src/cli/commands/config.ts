/**
 * `weir config`: each variable with its default, the value in force here, the source of that value, and its meaning.
 * Variables that a start would refuse or not know are listed after the table.
 */
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { readVariables, refusedVariables, type Variable } from "../../config.ts"
import { meanings } from "../../variable-meanings.ts"
import { describeRefusedVariable, describeUnknownVariables } from "../explain.ts"
import { table } from "../table.ts"
import { failed, json, print } from "../target.ts"

export const config = Command.make("config", { json }, ({ json }) =>
  Effect.flatMap(readVariables(process.env), (variables) =>
    print({ json }, variables.map(withMeaning), (rows) =>
      table(
        ["variable", "value", "default", "from", "meaning"],
        rows.map(({ name, value, default: fallback, from, meaning }) => [name, value, fallback, from, meaning]),
      ),
    ),
  ).pipe(Effect.andThen(tellProblems)),
)

const tellProblems = Effect.gen(function* () {
  for (const line of yield* describeUnknownVariables) yield* Console.error(line)
  const refused = yield* refusedVariables
  if (refused.length > 0) yield* failed(refused.map(describeRefusedVariable).join("\n"))
})

const withMeaning = ({ name, member, fallback, value, source }: Variable) => ({
  name,
  value: value ?? fallback,
  default: fallback,
  from: source,
  meaning: meanings[member] ?? "",
})
