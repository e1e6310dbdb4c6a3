/** `weir scim`: the token with which an organisation's directory provisions people. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Command } from "effect/cli"
import { AdminScim } from "../../protocol/api/scim.ts"
import { org } from "../lists.ts"
import { operator, show } from "../target.ts"

const enable = Command.make("enable", { org, ...operator }, ({ org, ...target }) =>
  show(
    target,
    AdminScim,
    (client, headers) => client.adminScim.enableOrgScim({ headers, params: { org } }),
    ({ url, token }) => `The directory's address: ${url}\nThe token is shown once: ${token}`,
  ),
).pipe(Command.withDescription("Create the token of an organisation's directory. It replaces the former one"))

const disable = Command.make("disable", { org, ...operator }, ({ org, ...target }) =>
  show(
    target,
    AdminScim,
    (client, headers) => client.adminScim.disableOrgScim({ headers, params: { org } }),
    () => `The token of ${org}'s directory has ended`,
  ),
).pipe(Command.withDescription("End the token of an organisation's directory; people and teams stay"))

const state = Command.make("show", { org, ...operator }, ({ org, ...target }) =>
  show(
    target,
    AdminScim,
    (client, headers) => client.adminScim.orgScim({ headers, params: { org } }),
    ({ enabled, madeAt = "", lastUsedAt = "never" }) =>
      enabled ? `Enabled since ${madeAt}; last request: ${lastUsedAt}` : "Not enabled",
  ),
).pipe(Command.withDescription("Print whether a directory may provision people, and its last request"))

export const scim = Command.make("scim").pipe(
  Command.withSubcommands([enable, disable, state]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
