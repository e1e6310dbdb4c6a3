/** `weir models`: the models of the catalogue in force, and the vendors that serve them. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Result } from "effect"
import { Command } from "effect/cli"
import { loadCatalogue } from "../../catalogue/load.ts"
import { AdminActivity } from "../../protocol/api/admin-activity.ts"
import { table } from "../table.ts"
import { ask, failed, type Operator, operator, print } from "../target.ts"

/** The catalogue in force, read from its text. */
export const catalogueInForce = Effect.fnUntraced(function* (target: Operator) {
  const { text } = yield* ask(target, AdminActivity, (client, headers) =>
    client.adminActivity.readCatalogue({ headers }),
  )
  if (text === undefined) return yield* failed("The text of the catalogue in force is not stored: apply it again")
  const loaded = loadCatalogue(text)
  return Result.isSuccess(loaded)
    ? loaded.success
    : yield* failed("This version of the command cannot read the catalogue in force: use the gateway's version")
})

const listModels = Effect.fnUntraced(function* (target: Operator) {
  const { document, encoded } = yield* catalogueInForce(target)
  yield* print(target, { models: encoded.models ?? [] }, () =>
    table(
      ["handle", "kind", "context window", "max output", "targets"],
      (document.models ?? []).map(({ handle, kind = "chat", contextWindow = "", maxOutput = "", targets = [] }) => [
        handle,
        kind,
        String(contextWindow),
        String(maxOutput),
        targets.map(({ vendor, model }) => `${vendor}/${model}`).join(" "),
      ]),
      "No models yet. Add one to the catalogue: weir init writes a first one",
    ),
  )
})

const list = Command.make("list", operator, listModels).pipe(
  Command.withDescription("List the models of the catalogue in force"),
)

export const models = Command.make("models", operator, listModels).pipe(
  Command.withSubcommands([list]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
