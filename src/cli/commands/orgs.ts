/** `weir orgs | usage`: organisations, their balances and usage. */

import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Command, Flag } from "effect/cli"
import { cachedDims } from "../../money/cached-replies.ts"
import { AdminDirectory } from "../../protocol/api/admin-directory.ts"
import { AdminTenants } from "../../protocol/api/admin-tenants.ts"
import type { OrgList } from "../../protocol/control/admin-directory.ts"
import type { UsageStatement } from "../../protocol/control/statement.ts"
import { givenOf, more, org, page, queryOf, search } from "../lists.ts"
import { describeRecord, table } from "../table.ts"
import { operator, show } from "../target.ts"

const name = Flag.String("name").pipe(Flag.withDescription("e.g. Acme"))
const plan = Flag.String("plan").pipe(Flag.withDescription("A plan of the catalogue"), Flag.optional)
const models = Flag.String("model").pipe(
  Flag.withDescription("A model that it may call; may be given several times"),
  Flag.atMost(1000),
)

const createOrg = Command.make(
  "create",
  {
    name,
    currency: Flag.String("currency").pipe(Flag.withDescription("e.g. USD; it cannot be changed later")),
    id: Flag.String("id").pipe(Flag.withDescription("The organisation's id; generated if absent"), Flag.optional),
    plan,
    models,
    ...operator,
  },
  ({ name, currency, id, plan, models, ...target }) => {
    const payload = { name, currency, models, ...givenOf({ id, plan }) }
    return show(
      target,
      AdminTenants,
      (client, headers) => client.adminTenants.createOrg({ headers, payload }),
      describeRecord,
    )
  },
).pipe(
  Command.withDescription("Create an organisation"),
  Command.withExamples([
    { command: "weir orgs create --id acme --name Acme --currency USD --plan standard --model main" },
  ]),
)

const showOrg = Command.make("show", { org, ...operator }, ({ org, ...target }) =>
  show(
    target,
    AdminTenants,
    (client, headers) => client.adminTenants.readOrg({ headers, params: { id: org } }),
    describeRecord,
  ),
).pipe(Command.withDescription("Print an organisation"))

const updateOrg = Command.make(
  "update",
  { org, name: Flag.optional(name), plan, models, ...operator },
  ({ org, name, plan, models, ...target }) => {
    const payload = { ...givenOf({ name, plan }), ...(models.length > 0 && { models }) }
    return show(
      target,
      AdminTenants,
      (client, headers) => client.adminTenants.updateOrg({ headers, params: { id: org }, payload }),
      describeRecord,
    )
  },
).pipe(
  Command.withDescription("Change an organisation; fields that are not given stay"),
  Command.withExamples([{ command: "weir orgs update acme --plan large" }]),
)

const setStatus = (command: string, status: "active" | "disabled", description: string) =>
  Command.make(command, { org, ...operator }, ({ org, ...target }) =>
    show(
      target,
      AdminTenants,
      (client, headers) => client.adminTenants.updateOrg({ headers, params: { id: org }, payload: { status } }),
      describeRecord,
    ),
  ).pipe(Command.withDescription(description))

const deleteOrg = Command.make("remove", { org, ...operator }, ({ org, ...target }) =>
  show(
    target,
    AdminTenants,
    (client, headers) => client.adminTenants.deleteOrg({ headers, params: { id: org } }),
    () => `${org} is closed; its books stay`,
  ),
).pipe(Command.withDescription("Close an organisation with all that belongs to it, and revoke its keys"))

const lists = { search, ...page, ...operator }

const listOrgs = ({ search, limit, cursor, ...target }: Command.Command.Config.Infer<typeof lists>) =>
  show(
    target,
    AdminDirectory,
    (client, headers) => client.adminDirectory.listOrgs({ headers, query: queryOf(limit, { search, cursor }) }),
    describeOrgs,
  )

const list = Command.make("list", lists, listOrgs).pipe(
  Command.withDescription("List organisations with their balances, by id"),
)

export const orgs = Command.make("orgs", lists, listOrgs).pipe(
  Command.withSubcommands([
    list,
    createOrg,
    showOrg,
    updateOrg,
    setStatus("disable", "disabled", "Refuse all calls of an organisation"),
    setStatus("enable", "active", "Accept calls of an organisation again"),
    deleteOrg,
  ]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)

const describeOrgs = ({ data, nextCursor }: OrgList): string =>
  [
    table(
      ["id", "name", "plan", "available", "held", "allotted", "currency", "apps", "members", "sso", "status"],
      data.map(({ id, name, plan = "", available, held, allotted, currency, apps, members, sso, status }) => [
        id,
        name,
        plan,
        available,
        held,
        allotted,
        currency,
        String(apps),
        String(members),
        sso ? "yes" : "no",
        status,
      ]),
      "No organisations. Create one: weir orgs create --id acme --name Acme --currency USD",
    ),
    ...more(nextCursor),
  ].join("\n")

export const usage = Command.make(
  "usage",
  {
    org,
    ...page,
    ...operator,
  },
  ({ org, limit, cursor, ...target }) =>
    show(
      target,
      AdminDirectory,
      (client, headers) =>
        client.adminDirectory.orgUsage({ headers, params: { org }, query: queryOf(limit, { cursor }) }),
      describeUsage,
    ),
).pipe(Command.provide(NodeHttpClient.layerNodeHttp))

/** The outcome in the reply cache; empty if the cache was off. */
const cacheOf = (dims: Readonly<Record<string, number>>): string =>
  (["hit", "wait", "miss"] as const).find((outcome) => dims[cachedDims[outcome]] !== undefined) ?? ""

const describeUsage = ({ data, nextCursor }: UsageStatement): string =>
  [
    table(
      ["at", "app", "model", "in", "out", "cost", "currency", "stop", "cache", "saved", "request"],
      data.map(({ at, appId, model, inTokens, outTokens, cost, currency, stop, dims, cacheNetSaving, requestId }) => [
        at,
        appId,
        model,
        String(inTokens),
        String(outTokens),
        cost,
        currency,
        stop,
        cacheOf(dims),
        cacheNetSaving,
        requestId,
      ]),
      'No calls yet. Make one with a key: weir chat "Hello, river"',
    ),
    ...more(nextCursor),
  ].join("\n")
