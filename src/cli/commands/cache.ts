/** `weir cache`: the results of the reply cache, and emptying it. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Command, Flag } from "effect/cli"
import { AdminReplyCache } from "../../protocol/api/admin-reply-cache.ts"
import { ReportedBy } from "../../protocol/control/reply-cache.ts"
import { givenOf, ofOrg, org } from "../lists.ts"
import { table } from "../table.ts"
import { operator, show } from "../target.ts"

const by = Flag.Literals("by", ReportedBy.literals).pipe(
  Flag.withDescription("The grouping of the rows"),
  Flag.withDefault("model"),
)
const from = Flag.String("from").pipe(Flag.withDescription("A date or an instant; a day ago if absent"), Flag.optional)
const to = Flag.String("to").pipe(Flag.withDescription("A date or an instant; now if absent"), Flag.optional)
const model = Flag.String("model").pipe(Flag.withDescription("Only of this model"), Flag.optional)

const report = Command.make(
  "show",
  { by, org: ofOrg, model, from, to, ...operator },
  ({ by, org, model, from, to, ...target }) =>
    show(
      target,
      AdminReplyCache,
      (client, headers) =>
        client.adminReplyCache.replyCacheReport({ headers, query: { by, ...givenOf({ org, model, from, to }) } }),
      ({ data }) =>
        table(
          [by === "org" ? "organisation" : "model", "hits", "waits", "misses", "tokens not made again", "saved"],
          data.map(({ group, hits, waits, misses, tokens, saved }) => [
            group,
            `${hits}`,
            `${waits}`,
            `${misses}`,
            `${tokens}`,
            Object.entries(saved)
              .map(([currency, amount]) => `${amount} ${currency}`)
              .join(", "),
          ]),
          "No cache lookups yet. Calls use the cache if their model has replyCache in the catalogue",
        ),
    ),
).pipe(Command.withDescription("Show hits, waits for equal calls, misses, and the savings"))

const clear = Command.make("clear", { org, model, ...operator }, ({ org, model, ...target }) =>
  show(
    target,
    AdminReplyCache,
    (client, headers) =>
      client.adminReplyCache.clearReplyCache({ headers, params: { org }, query: givenOf({ model }) }),
    ({ removed }) => `Removed ${removed} ${removed === 1 ? "reply" : "replies"}`,
  ),
).pipe(Command.withDescription("Clear the reply cache of an organisation"))

export const cache = Command.make("cache").pipe(
  Command.withSubcommands([report, clear]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
