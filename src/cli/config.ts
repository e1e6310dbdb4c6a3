/** `weir config`: each variable with its default, the value in force here, where that comes from, and what it means. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { readVariables, type Variable } from "../config.ts"
import { meanings } from "../variable-meanings.ts"
import { table } from "./table.ts"
import { json, print } from "./target.ts"

export const config = Command.make("config", { json }, ({ json }) =>
  Effect.flatMap(readVariables(process.env), (variables) =>
    print({ json }, variables.map(withMeaning), (rows) =>
      table(
        ["variable", "value", "default", "from", "meaning"],
        rows.map(({ name, value, default: fallback, from, meaning }) => [name, value, fallback, from, meaning]),
      ),
    ),
  ),
)

const withMeaning = ({ name, member, fallback, value, source }: Variable) => ({
  name,
  value: value ?? fallback,
  default: fallback,
  from: source,
  meaning: meanings[member] ?? "",
})
