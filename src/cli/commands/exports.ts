/** `weir exports`: the progress of exports, and writing files again. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Argument, Command, Flag } from "effect/cli"
import { AdminExports } from "../../protocol/api/admin-exports.ts"
import { table } from "../table.ts"
import { operator, show } from "../target.ts"

const list = Command.make("list", operator, (target) =>
  show(
    target,
    AdminExports,
    (client, headers) => client.adminExports.adminExports({ headers }),
    ({ exports }) =>
      table(
        ["export", "to", "format", "records", "shard", "exported until", "behind", "failures", "problem"],
        exports.flatMap(({ id, to, format, progress }) =>
          progress.map(({ records, shard, exportedUntil, lagSeconds, failures, problem = "" }) => [
            id,
            to,
            format,
            records,
            shard,
            exportedUntil,
            `${Math.round(lagSeconds)} s`,
            `${failures}`,
            problem,
          ]),
        ),
        "No exports yet. Add one to the catalogue, under exports",
      ),
  ),
).pipe(Command.withDescription("List exports and their progress"))

const id = Argument.String("export").pipe(Argument.withDescription("The export's id"))
const from = Flag.String("from").pipe(Flag.withDescription("A date or an instant; not before records are kept"))
const to = Flag.String("to").pipe(Flag.withDescription("A date or an instant, not in the future"))

const run = Command.make("run", { id, from, to, ...operator }, ({ id, from, to, ...target }) =>
  show(
    target,
    AdminExports,
    (client, headers) => client.adminExports.adminRunExport({ headers, params: { id }, query: { from, to } }),
    ({ again, hours }) =>
      `Windows that are written again: ${again}. Hours before the export was started that are written: ${hours}.`,
  ),
).pipe(Command.withDescription("Write the files of a period again, and those of hours before the export was started"))

export const exports = Command.make("exports").pipe(
  Command.withSubcommands([list, run]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
