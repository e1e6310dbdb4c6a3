/** `weir tools`: the servers of tools, their tools with prices, tools that have changed, and a call of one. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { AdminToolServers } from "../../protocol/api/admin-tool-servers.ts"
import type { ChangedTool, ToolServerDetail, ToolServerEntry } from "../../protocol/control/tool-servers.ts"
import { definitionChanges, valueText } from "../../tools/definition-changes.ts"
import { priceText } from "../../tools/price-text.ts"
import { givenOf } from "../lists.ts"
import { table } from "../table.ts"
import { operator, show } from "../target.ts"
import { toolAccounts } from "./tool-accounts.ts"
import { tryTool } from "./try-tool.ts"

const server = Argument.String("server").pipe(Argument.withDescription("The server's id"))

const list = Command.make("list", operator, (target) =>
  show(
    target,
    AdminToolServers,
    (client, headers) => client.adminToolServers.listToolServers({ headers }),
    ({ servers }) =>
      table(
        ["server", "kind", "address", "version", "tools", "held back", "problem"],
        servers.map((entry) => [
          entry.id,
          entry.kind,
          entry.address,
          entry.version ?? "",
          `${countOf(entry, "offered")}`,
          `${countOf(entry, "held_back")}`,
          problemText(entry),
        ]),
        "No servers of tools yet. Add them to the catalogue, under toolServers",
      ),
  ),
).pipe(Command.withDescription("List servers of tools. Each is asked now, whether it can be reached"))

const countOf = ({ tools }: ToolServerEntry, state: ToolServerEntry["tools"][number]["state"]): number =>
  tools.filter((tool) => tool.state === state).length

const problemText = ({ problem, missingSecrets, isCut }: Omit<ToolServerEntry, "tools">): string =>
  [
    ...(problem === undefined ? [] : [problem]),
    ...(missingSecrets.length === 0 ? [] : [`without the secret of ${missingSecrets.join(", ")}`]),
    ...(isCut ? ["it has more tools than are read"] : []),
  ].join("; ")

const showOne = Command.make("show", { server, ...operator }, ({ server, ...target }) =>
  show(
    target,
    AdminToolServers,
    (client, headers) => client.adminToolServers.getToolServer({ headers, params: { server } }),
    describeServer,
  ),
).pipe(
  Command.withDescription("Show a server's tools, with their prices; --json prints their definitions"),
  Command.withExamples([{ command: "weir tools show weather" }]),
)

const describeServer = ({ tools, ...entry }: ToolServerDetail): string =>
  [
    ...(problemText(entry) === "" ? [] : [`${entry.id}: ${problemText(entry)}`]),
    table(
      ["tool", "state", "price", "description"],
      tools.map(({ handle, state, price, definition }) => [
        handle,
        state.replace("_", " "),
        priceText(price),
        firstLine(valueText(definition["description"])),
      ]),
      "It has no tools.",
    ),
  ].join("\n")

const firstLine = (text: string): string => {
  const [first = ""] = text.split("\n")
  return first.length > 80 ? `${first.slice(0, 79)}…` : first
}

const changes = Command.make(
  "changes",
  {
    server: Argument.String("server").pipe(
      Argument.withDescription("The server's id; all if absent"),
      Argument.optional,
    ),
    ...operator,
  },
  ({ server, ...target }) =>
    show(
      target,
      AdminToolServers,
      (client, headers) => client.adminToolServers.listChangedTools({ headers, query: givenOf({ server }) }),
      ({ changes }) =>
        changes.length === 0 ? "No tool waits for agreement." : changes.map(describeChange).join("\n\n"),
    ),
).pipe(
  Command.withDescription("Show tools whose definition has changed, and that are held back until you agree"),
  Command.withExamples([{ command: "weir tools changes weather" }]),
)

const describeChange = ({ server, tool, agreed, changed, changedAt }: ChangedTool): string =>
  [
    `${server} ${shown(tool)}, changed ${changedAt}`,
    ...definitionChanges(agreed, changed).flatMap(({ path, agreed, changed }) => [
      `  ${shown(path)}`,
      ...(agreed === undefined ? [] : [`  - ${shown(valueText(agreed))}`]),
      ...(changed === undefined ? [] : [`  + ${shown(valueText(changed))}`]),
    ]),
  ].join("\n")

/** A server's text must not begin a terminal's commands. */
const shown = (text: string): string => text.replace(/\n/g, "\n    ").replace(/(?!\n)\p{C}/gu, "\ufffd")

const agree = Command.make(
  "agree",
  {
    server,
    tools: Argument.String("tool").pipe(
      Argument.withDescription("A tool, by the server's own name; all that wait if absent"),
      Argument.variadic(),
    ),
    ...operator,
  },
  ({ server, tools, ...target }) =>
    show(
      target,
      AdminToolServers,
      (client, headers) =>
        client.adminToolServers.agreeToTools({
          headers,
          params: { server },
          payload: tools.length === 0 ? {} : { tools: tools.map((tool) => ({ tool })) },
        }),
      ({ agreed }) =>
        agreed.length === 0 ? "No tool waits for agreement." : `Offered again: ${agreed.map(shown).join(", ")}`,
    ),
).pipe(
  Command.withDescription("Agree to changed definitions of a server's tools, which are offered again"),
  Command.withExamples([{ command: "weir tools agree weather forecast" }]),
)

const refresh = Command.make("refresh", { server, ...operator }, ({ server, ...target }) =>
  Effect.asVoid(
    show(
      target,
      AdminToolServers,
      (client, headers) => client.adminToolServers.forgetToolList({ headers, params: { server } }),
      () => `The next caller at this node gets fresh lists of ${server}. Other nodes have them within a minute.`,
    ),
  ),
).pipe(
  Command.withDescription("Let a node read a server's lists again"),
  Command.withExamples([{ command: "weir tools refresh weather" }]),
)

export const tools = Command.make("tools").pipe(
  Command.withSubcommands([list, showOne, changes, agree, refresh, tryTool, ...toolAccounts]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
