/** `weir users`: people, and their membership of organisations. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Argument, Command, Flag } from "effect/cli"
import { AdminDirectory } from "../../protocol/api/admin-directory.ts"
import { AdminTenants } from "../../protocol/api/admin-tenants.ts"
import type { AdminUser } from "../../protocol/control/admin-directory.ts"
import { more, ofOrg, page, queryOf, search } from "../lists.ts"
import { describeRecord, table } from "../table.ts"
import { operator, show } from "../target.ts"

const id = Argument.String("id").pipe(Argument.withDescription("The person's id"))

const listUsers = Command.make(
  "list",
  { org: ofOrg, search, ...page, ...operator },
  ({ org, search, limit, cursor, ...target }) =>
    show(
      target,
      AdminDirectory,
      (client, headers) => client.adminDirectory.listUsers({ headers, query: queryOf(limit, { org, search, cursor }) }),
      ({ data, nextCursor }) => [describeUsers(data), ...more(nextCursor)].join("\n"),
    ),
).pipe(Command.withDescription("List members of organisations and people who have logged in, by address"))

const disableUser = Command.make("disable", { id, ...operator }, ({ id, ...target }) =>
  show(
    target,
    AdminDirectory,
    (client, headers) => client.adminDirectory.disableUser({ headers, params: { id } }),
    (user) => describeUsers([user]),
  ),
).pipe(Command.withDescription("Disable a person: ends their logins and rejects their tokens"))

const enableUser = Command.make("enable", { id, ...operator }, ({ id, ...target }) =>
  show(
    target,
    AdminDirectory,
    (client, headers) => client.adminDirectory.enableUser({ headers, params: { id } }),
    (user) => describeUsers([user]),
  ),
).pipe(Command.withDescription("Enable a person again"))

const role = Flag.Literals("role", ["owner", "admin", "member"]).pipe(Flag.withDefault("member"))
const memberId = Argument.String("id").pipe(Argument.withDescription("The member's id"))

const addMember = Command.make(
  "create",
  {
    email: Argument.String("email").pipe(Argument.withDescription("The person's address")),
    org: Flag.String("org").pipe(Flag.withDescription("The organisation's id")),
    role,
    ...operator,
  },
  ({ email, org, role, ...target }) =>
    show(
      target,
      AdminTenants,
      (client, headers) => client.adminTenants.createMember({ headers, payload: { email, org, role } }),
      describeRecord,
    ),
).pipe(
  Command.withDescription("Make a person a member of an organisation"),
  Command.withExamples([{ command: "weir users create owner@acme.example --org acme --role owner" }]),
)

const setRole = Command.make("update", { id: memberId, role, ...operator }, ({ id, role, ...target }) =>
  show(
    target,
    AdminTenants,
    (client, headers) => client.adminTenants.updateMember({ headers, params: { id }, payload: { role } }),
    describeRecord,
  ),
).pipe(
  Command.withDescription("Change a member's role"),
  Command.withExamples([{ command: "weir users update usr_1 --role admin" }]),
)

const removeMember = Command.make("remove", { id: memberId, ...operator }, ({ id, ...target }) =>
  show(
    target,
    AdminTenants,
    (client, headers) => client.adminTenants.deleteMember({ headers, params: { id } }),
    () => `${id} is no member any more`,
  ),
).pipe(Command.withDescription("Remove a member from an organisation"))

const describeUsers = (users: ReadonlyArray<AdminUser>): string =>
  table(
    ["id", "email", "status", "member of"],
    users.map(({ id, email, status, memberships }) => [
      id,
      email,
      status,
      memberships.map(({ org, role, invited }) => `${org} (${role}${invited === true ? ", invited" : ""})`).join(", "),
    ]),
    "No people. Add one: weir users create ada@acme.example --org acme --role owner",
  )

export const users = Command.make("users").pipe(
  Command.withSubcommands([listUsers, addMember, setRole, removeMember, disableUser, enableUser]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
