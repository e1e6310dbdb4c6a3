/** `weir batches`: lists the batches of an organisation's clients, without requests and answers, and cancels them. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Argument, Command, Flag } from "effect/cli"
import { AdminBatches } from "../../protocol/api/admin-batches.ts"
import type { ClientBatchEntry } from "../../protocol/control/client-batch.ts"
import { more, org, page, queryOf } from "../lists.ts"
import { ownerFilters, ownerText } from "../owned.ts"
import { table } from "../table.ts"
import { operator, show } from "../target.ts"

const open = Flag.Boolean("open").pipe(Flag.withDescription("Only those that have not ended"), Flag.withDefault(false))

const list = Command.make(
  "list",
  { org, ...ownerFilters, open, ...page, ...operator },
  ({ org, app, endUser, before, open, limit, cursor, ...target }) =>
    show(
      target,
      AdminBatches,
      (client, headers) =>
        client.adminBatches.listBatches({
          headers,
          params: { org },
          query: { ...queryOf(limit, { app, endUser, before, cursor }), ...(open && { open: "true" as const }) },
        }),
      ({ data, nextCursor }) =>
        [
          table(
            ["created", "batch", "owner", "state", "requests", "succeeded", "failed", "held at first", "cost"],
            data.map((batch) => [
              batch.createdAt,
              batch.id,
              ownerText(batch),
              batch.state,
              `${batch.requests}`,
              `${batch.succeeded}`,
              `${batch.errored + batch.cancelled + batch.expired}`,
              money(batch.held, batch),
              money(batch.cost, batch),
            ]),
            "There are no such batches.",
          ),
          ...more(nextCursor),
        ].join("\n"),
    ),
).pipe(
  Command.withDescription(
    "List the batches of an organisation's clients, newest first. Their requests and answers are not shown",
  ),
  Command.withExamples([{ command: "weir batches list acme --open" }]),
)

const cancel = Command.make(
  "cancel",
  { org, id: Argument.String("batch").pipe(Argument.withDescription("The batch's id")), ...operator },
  ({ org, id, ...target }) =>
    show(
      target,
      AdminBatches,
      (client, headers) => client.adminBatches.cancelBatch({ headers, params: { org, id } }),
      (batch) => `${batch.id} is ${batch.state}: ${batch.succeeded} of ${batch.requests} requests have succeeded`,
    ),
).pipe(
  Command.withDescription("Cancel a batch: nothing more of it is begun, and what is left of its money goes back"),
  Command.withExamples([{ command: "weir batches cancel acme batch_3oco3axqzcz72i6mfp65hdrwcg" }]),
)

const money = (amount: string, { currency }: Pick<ClientBatchEntry, "currency">): string => `${amount} ${currency}`

export const batches = Command.make("batches").pipe(
  Command.withSubcommands([list, cancel]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
