/** `weir tools accounts`, `connect` and `disconnect`: the platform's accounts at servers of tools. */
import { Argument, Command } from "effect/cli"
import { AdminToolAccounts } from "../../protocol/api/tool-accounts.ts"
import { operator, show } from "../target.ts"

const server = Argument.String("server").pipe(Argument.withDescription("The id of the server"))

const connect = Command.make("connect", { server, ...operator }, ({ server, ...target }) =>
  show(
    target,
    AdminToolAccounts,
    (client, headers) => client.adminToolAccounts.connectPlatformToolServer({ headers, params: { id: server } }),
    ({ url }) => `Open this address within ten minutes, and give consent:\n${url}`,
  ),
).pipe(Command.withDescription("Begin to connect the platform's account at a server of tools"))

const disconnect = Command.make("disconnect", { server, ...operator }, ({ server, ...target }) =>
  show(
    target,
    AdminToolAccounts,
    (client, headers) => client.adminToolAccounts.disconnectPlatformToolServer({ headers, params: { id: server } }),
    () => `The platform's account at ${server} is removed`,
  ),
).pipe(Command.withDescription("Remove the platform's account at a server of tools, and end its tokens"))

const accounts = Command.make("accounts", operator, (target) =>
  show(
    target,
    AdminToolAccounts,
    (client, headers) => client.adminToolAccounts.platformToolServers({ headers }),
    ({ data }) =>
      data.length === 0
        ? "No server of tools wants an account of the platform"
        : data.map(({ id, state, connectedAt = "" }) => `${id}  ${state}  ${connectedAt}`.trimEnd()).join("\n"),
  ),
).pipe(Command.withDescription("List the servers of tools that want an account of the platform"))

export const toolAccounts = [accounts, connect, disconnect] as const
