/** `weir apps | teams`: applications and teams of organisations. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminTenants } from "../../protocol/api/admin-tenants.ts"
import { givenOf, more, ofOrg, page, queryOf, search } from "../lists.ts"
import { describeRecord, table } from "../table.ts"
import { operator, show } from "../target.ts"

const ownOrg = Flag.String("org").pipe(Flag.withDescription("The organisation's id"))
const newId = Flag.String("id").pipe(Flag.withDescription("Generated if absent"), Flag.optional)
const appId = Argument.String("id").pipe(Argument.withDescription("The application's id"))
const teamId = Argument.String("id").pipe(Argument.withDescription("The team's id"))
const name = Flag.String("name").pipe(Flag.withDescription("A name for people"), Flag.optional)
const lists = { org: ofOrg, search, ...page, ...operator }

const createApp = Command.make(
  "create",
  {
    org: ownOrg,
    id: newId,
    name,
    rpm: Flag.Int("rpm").pipe(Flag.withDescription("Requests that it may make a minute"), Flag.optional),
    requireSignature: Flag.Boolean("require-signature").pipe(
      Flag.withDescription("Refuse requests without a signature"),
      Flag.withDefault(false),
    ),
    ...operator,
  },
  ({ org, id, name, rpm, requireSignature, ...target }) => {
    const payload = {
      org,
      ...givenOf({ id, name }),
      ...(Option.isSome(rpm) && { quota: { rpm: rpm.value } }),
      ...(requireSignature && { requireSignature }),
    }
    return show(
      target,
      AdminTenants,
      (client, headers) => client.adminTenants.createApp({ headers, payload }),
      describeRecord,
    )
  },
).pipe(
  Command.withDescription("Create an application"),
  Command.withExamples([{ command: "weir apps create --org acme --id acme_app --name Website --rpm 600" }]),
)

const setStatus = (command: string, status: "active" | "disabled", description: string) =>
  Command.make(command, { id: appId, ...operator }, ({ id, ...target }) =>
    show(
      target,
      AdminTenants,
      (client, headers) => client.adminTenants.updateApp({ headers, params: { id }, payload: { status } }),
      describeRecord,
    ),
  ).pipe(Command.withDescription(description))

const deleteApp = Command.make("remove", { id: appId, ...operator }, ({ id, ...target }) =>
  show(
    target,
    AdminTenants,
    (client, headers) => client.adminTenants.deleteApp({ headers, params: { id } }),
    () => `${id} is closed, and its keys are revoked`,
  ),
).pipe(Command.withDescription("Close an application and revoke its keys"))

const listApps = ({ org, search, limit, cursor, ...target }: Command.Command.Config.Infer<typeof lists>) =>
  show(
    target,
    AdminTenants,
    (client, headers) => client.adminTenants.listApps({ headers, query: queryOf(limit, { org, search, cursor }) }),
    ({ data, nextCursor }) =>
      [
        table(
          ["id", "name", "org", "status", "signed", "requests a minute"],
          data.map(({ id, name = "", org, status, requireSignature, quota }) => [
            id,
            name,
            org,
            status,
            requireSignature === true ? "yes" : "no",
            String(quota?.rpm ?? ""),
          ]),
          "No applications. Create one: weir apps create --org acme --name Website",
        ),
        ...more(nextCursor),
      ].join("\n"),
  )

const listAppsCommand = Command.make("list", lists, listApps).pipe(Command.withDescription("List applications"))

export const apps = Command.make("apps", lists, listApps).pipe(
  Command.withSubcommands([
    listAppsCommand,
    createApp,
    setStatus("disable", "disabled", "Refuse all calls of an application"),
    setStatus("enable", "active", "Accept calls of an application again"),
    deleteApp,
  ]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)

const members = Flag.String("member").pipe(
  Flag.withDescription("A member's id; may be given several times"),
  Flag.atMost(1000),
)

const createTeam = Command.make(
  "create",
  { org: ownOrg, id: newId, name, members, ...operator },
  ({ org, id, name, members, ...target }) => {
    const payload = { org, members, ...givenOf({ id, name }) }
    return show(
      target,
      AdminTenants,
      (client, headers) => client.adminTenants.createTeam({ headers, payload }),
      describeRecord,
    )
  },
).pipe(
  Command.withDescription("Create a team"),
  Command.withExamples([{ command: "weir teams create --org acme --member usr_1" }]),
)

const updateTeam = Command.make("update", { id: teamId, members, ...operator }, ({ id, members, ...target }) =>
  show(
    target,
    AdminTenants,
    (client, headers) => client.adminTenants.updateTeam({ headers, params: { id }, payload: { members } }),
    describeRecord,
  ),
).pipe(Command.withDescription("Replace a team's members"))

const deleteTeam = Command.make("remove", { id: teamId, ...operator }, ({ id, ...target }) =>
  show(
    target,
    AdminTenants,
    (client, headers) => client.adminTenants.deleteTeam({ headers, params: { id } }),
    () => `${id} is closed`,
  ),
).pipe(Command.withDescription("Delete a team"))

const listTeams = ({ org, search, limit, cursor, ...target }: Command.Command.Config.Infer<typeof lists>) =>
  show(
    target,
    AdminTenants,
    (client, headers) => client.adminTenants.listTeams({ headers, query: queryOf(limit, { org, search, cursor }) }),
    ({ data, nextCursor }) =>
      [
        table(
          ["id", "name", "org", "status", "members"],
          data.map(({ id, name = "", org, status, members }) => [id, name, org, status, members.join(", ")]),
          "No teams. Create one: weir teams create --org acme --name Research",
        ),
        ...more(nextCursor),
      ].join("\n"),
  )

const listTeamsCommand = Command.make("list", lists, listTeams).pipe(Command.withDescription("List teams"))

export const teams = Command.make("teams", lists, listTeams).pipe(
  Command.withSubcommands([listTeamsCommand, createTeam, updateTeam, deleteTeam]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
