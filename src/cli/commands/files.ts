/** `weir files`: lists the files that clients of an organisation keep, without names and content, and erases them. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Argument, Command } from "effect/cli"
import { AdminFiles } from "../../protocol/api/admin-files.ts"
import { more, org, page, queryOf } from "../lists.ts"
import { all, ownerFilters, ownerText, toErase } from "../owned.ts"
import { table } from "../table.ts"
import { failed, operator, show } from "../target.ts"

const list = Command.make(
  "list",
  { org, ...ownerFilters, ...page, ...operator },
  ({ org, app, endUser, before, limit, cursor, ...target }) =>
    show(
      target,
      AdminFiles,
      (client, headers) =>
        client.adminFiles.listFiles({
          headers,
          params: { org },
          query: queryOf(limit, { app, endUser, before, cursor }),
        }),
      ({ data, nextCursor }) =>
        [
          table(
            ["created", "file", "purpose", "owner", "bytes", "erased at"],
            data.map(({ createdAt, id, purpose, app, person, endUser, bytes, eraseAt = "" }) => [
              createdAt,
              id,
              purpose,
              ownerText({ app, person, endUser }),
              `${bytes}`,
              eraseAt,
            ]),
            "There are no such files.",
          ),
          ...more(nextCursor),
        ].join("\n"),
    ),
).pipe(
  Command.withDescription(
    "List the files of an organisation's clients, newest first. Their names and content are not shown",
  ),
  Command.withExamples([{ command: "weir files list acme --app acme_app" }]),
)

const erase = Command.make(
  "erase",
  {
    org,
    id: Argument.String("file").pipe(
      Argument.withDescription("The file's id; those of the filters if absent"),
      Argument.optional,
    ),
    ...ownerFilters,
    all,
    ...operator,
  },
  ({ org, id, app, endUser, before, all, ...target }) => {
    const meant = toErase({ id, app, endUser, before, all })
    if (meant === undefined) return failed("Name one file, or filters, or --all")
    const { id: one, query } = meant
    return show(
      target,
      AdminFiles,
      (client, headers) =>
        one === undefined
          ? client.adminFiles.eraseFiles({ headers, params: { org }, query })
          : client.adminFiles.eraseFile({ headers, params: { org, id: one } }),
      ({ erased }) => `Erased ${erased} ${erased === 1 ? "file" : "files"}`,
    )
  },
).pipe(
  Command.withDescription("Erase files of an organisation's clients. This cannot be undone"),
  Command.withExamples([
    { command: "weir files erase acme --app acme_app --end-user ada" },
    { command: "weir files erase acme --before 2026-11-01" },
  ]),
)

export const files = Command.make("files").pipe(
  Command.withSubcommands([list, erase]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
