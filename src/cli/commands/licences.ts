/** `weir licence`: licences of applications. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Argument, Command, Flag } from "effect/cli"
import { AdminDirectory } from "../../protocol/api/admin-directory.ts"
import type { License, LicenseIssued } from "../../protocol/control/licence.ts"
import { org } from "../lists.ts"
import { table } from "../table.ts"
import { operator, show } from "../target.ts"

const id = Argument.String("id").pipe(Argument.withDescription("The licence's id"))

const listLicences = Command.make("list", { org, ...operator }, ({ org, ...target }) =>
  show(
    target,
    AdminDirectory,
    (client, headers) => client.adminDirectory.listOrgLicences({ headers, params: { org } }),
    ({ data }) => describeLicences(data),
  ),
).pipe(Command.withDescription("List an organisation's licences"))

const issueLicence = Command.make(
  "create",
  {
    org,
    app: Argument.String("app").pipe(Argument.withDescription("The application's id")),
    days: Flag.Int("days").pipe(
      Flag.withDescription("The validity of the activation code, in days"),
      Flag.withDefault(30),
    ),
    ...operator,
  },
  ({ org, app, days, ...target }) => {
    const payload = { appId: app, codeExpiresInDays: days }
    const issue = { params: { org }, payload }
    return show(
      target,
      AdminDirectory,
      (client, headers) => client.adminDirectory.issueOrgLicence({ headers, ...issue }),
      describeIssued,
    )
  },
).pipe(
  Command.withDescription("Issue a licence. Its activation code is shown once; a member redeems it"),
  Command.withExamples([{ command: "weir licence create acme acme_app" }]),
)

const suspendLicence = Command.make("suspend", { org, id, ...operator }, (given) =>
  show(
    given,
    AdminDirectory,
    (client, headers) => client.adminDirectory.suspendOrgLicence({ headers, params: { org: given.org, id: given.id } }),
    ({ license }) => describeLicences([license]),
  ),
).pipe(Command.withDescription("Suspend a licence"))

const revokeLicence = Command.make("revoke", { org, id, ...operator }, (given) =>
  show(
    given,
    AdminDirectory,
    (client, headers) => client.adminDirectory.revokeOrgLicence({ headers, params: { org: given.org, id: given.id } }),
    ({ license }) => describeLicences([license]),
  ),
).pipe(Command.withDescription("Revoke a licence for good"))

const describeIssued = ({ license, code }: LicenseIssued): string =>
  `${license.id} for ${license.appId}: ${code} (printed once)`

const describeLicences = (licences: ReadonlyArray<License>): string =>
  table(
    ["id", "app", "status", "epoch", "created"],
    licences.map(({ id, appId, status, epoch, createdAt }) => [id, appId, status, String(epoch), createdAt]),
    "No licences yet. Create one: weir licence create acme acme_app",
  )

export const licence = Command.make("licence").pipe(
  Command.withSubcommands([listLicences, issueLicence, suspendLicence, revokeLicence]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
