/** `weir files`: lists the files that clients of an organisation keep, without names and content, and erases them. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminFiles } from "../../protocol/api/admin-files.ts"
import { givenOf, more, org, page, queryOf } from "../lists.ts"
import { table } from "../table.ts"
import { failed, operator, show } from "../target.ts"

const filters = {
  app: Flag.String("app").pipe(Flag.withDescription("Only of this application"), Flag.optional),
  endUser: Flag.String("end-user").pipe(Flag.withDescription("Only of this end user"), Flag.optional),
  before: Flag.String("before").pipe(
    Flag.withDescription("Only those that were made before a date or an instant"),
    Flag.optional,
  ),
}

const list = Command.make(
  "list",
  { org, ...filters, ...page, ...operator },
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
              [app ?? person, endUser].filter((part) => part !== undefined).join(" / "),
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
    ...filters,
    all: Flag.Boolean("all").pipe(Flag.withDescription("All of the organisation"), Flag.withDefault(false)),
    ...operator,
  },
  ({ org, id, app, endUser, before, all, ...target }) => {
    const filter = givenOf({ app, endUser, before })
    const isFiltered = Object.keys(filter).length > 0
    const meant = [Option.isSome(id), isFiltered, all].filter((is) => is).length
    if (meant !== 1) return failed("Name one file, or filters, or --all")
    return show(
      target,
      AdminFiles,
      (client, headers) =>
        Option.isSome(id)
          ? client.adminFiles.eraseFile({ headers, params: { org, id: id.value } })
          : client.adminFiles.eraseFiles({
              headers,
              params: { org },
              query: { ...filter, ...(all && { all: "true" as const }) },
            }),
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
