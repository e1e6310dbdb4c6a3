/** `weir users`: lists people, disables and enables them. */
import { Argument, Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import type { AdminUser } from "../protocol/admin-directory.ts"
import { ofOrg, queryOf } from "./operator.ts"
import { table } from "./table.ts"
import { operator, show } from "./target.ts"

const id = Argument.String("id").pipe(Argument.withDescription("The person's id"))

const listUsers = Command.make("list", { org: ofOrg, ...operator }, ({ org, ...target }) =>
  show(
    target,
    (client, headers) => client.adminDirectory.listUsers({ headers, query: queryOf(org) }),
    ({ data }) => describeUsers(data),
  ),
).pipe(Command.withDescription("List people whom the catalogue declares or who have logged in"))

const disableUser = Command.make("disable", { id, ...operator }, ({ id, ...target }) =>
  show(
    target,
    (client, headers) => client.adminDirectory.disableUser({ headers, params: { id } }),
    (user) => describeUsers([user]),
  ),
).pipe(Command.withDescription("Disable a person: ends their logins and rejects their tokens"))

const enableUser = Command.make("enable", { id, ...operator }, ({ id, ...target }) =>
  show(
    target,
    (client, headers) => client.adminDirectory.enableUser({ headers, params: { id } }),
    (user) => describeUsers([user]),
  ),
).pipe(Command.withDescription("Enable a person again"))

const describeUsers = (users: ReadonlyArray<AdminUser>): string =>
  table(
    ["id", "email", "status", "member of"],
    users.map(({ id, email, status, memberships }) => [
      id,
      email,
      status,
      memberships.map(({ org, role }) => `${org} (${role})`).join(", "),
    ]),
  )

export const users = Command.make("users").pipe(
  Command.withDescription("People"),
  Command.withSubcommands([listUsers, disableUser, enableUser]),
  Command.provide(FetchHttpClient.layer),
)
