/** `weir responses`: lists the responses and conversations that an organisation keeps, without content, and erases them. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Argument, Command } from "effect/cli"
import { AdminResponses } from "../../protocol/api/admin-responses.ts"
import { givenOf, more, org, page, queryOf } from "../lists.ts"
import { all, ownerFilters, ownerText, toErase } from "../owned.ts"
import { table } from "../table.ts"
import { failed, operator, show } from "../target.ts"

const list = Command.make(
  "list",
  { org, ...ownerFilters, ...page, ...operator },
  ({ org, app, endUser, before, limit, cursor, ...target }) =>
    show(
      target,
      AdminResponses,
      (client, headers) =>
        client.adminResponses.listResponses({
          headers,
          params: { org },
          query: queryOf(limit, { app, endUser, before, cursor }),
        }),
      ({ data, nextCursor }) =>
        [
          table(
            ["created", "id", "model", "state", "owner", "bytes", "erased at"],
            data.map(({ createdAt, id, model, state, app, person, endUser, bytes, eraseAt }) => [
              createdAt,
              id,
              model ?? "-",
              state ?? "conversation",
              ownerText({ app, person, endUser }),
              `${bytes}`,
              eraseAt,
            ]),
            Object.keys(givenOf({ app, endUser, before, cursor })).length > 0
              ? "Nothing that is kept fits these filters"
              : "Nothing is kept. An organisation keeps responses if its keeps.responses says for how long, e.g. 30d",
          ),
          ...more(nextCursor),
        ].join("\n"),
    ),
).pipe(
  Command.withDescription(
    "List the responses and conversations that an organisation keeps, newest first. Their content is not shown",
  ),
  Command.withExamples([{ command: "weir responses list acme --app acme_app" }]),
)

const erase = Command.make(
  "erase",
  {
    org,
    id: Argument.String("id").pipe(
      Argument.withDescription("The id of a response or a conversation; those of the filters if absent"),
      Argument.optional,
    ),
    ...ownerFilters,
    all,
    ...operator,
  },
  ({ org, id, app, endUser, before, all, ...target }) => {
    const meant = toErase({ id, app, endUser, before, all })
    if (meant === undefined) return failed("Name one response or conversation, or filters, or --all")
    const { id: one, query } = meant
    return show(
      target,
      AdminResponses,
      (client, headers) =>
        one === undefined
          ? client.adminResponses.eraseResponses({ headers, params: { org }, query })
          : client.adminResponses.eraseResponse({ headers, params: { org, id: one } }),
      ({ erased, conversations }) =>
        erased + conversations === 0
          ? "Erased nothing: nothing of this is kept"
          : `Erased ${counted(erased, "response")} and ${counted(conversations, "conversation")}`,
    )
  },
).pipe(
  Command.withDescription(
    "Erase responses of an organisation, with their items, events and replays, and its conversations. This cannot be undone",
  ),
  Command.withExamples([
    { command: "weir responses erase acme --app acme_app --end-user ada" },
    { command: "weir responses erase acme --before 2026-11-01" },
  ]),
)

const counted = (count: number, name: string): string => `${count} ${name}${count === 1 ? "" : "s"}`

export const responses = Command.make("responses").pipe(
  Command.withSubcommands([list, erase]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
