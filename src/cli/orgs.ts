/** `weir orgs | usage`: balances and usage of organisations. */
import { Option } from "effect"
import { Command, Flag } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import type { OrgList } from "../protocol/admin-directory.ts"
import type { UsageStatement } from "../protocol/statement.ts"
import { org } from "./operator.ts"
import { table } from "./table.ts"
import { operator, show } from "./target.ts"

export const orgs = Command.make("orgs", operator, (target) =>
  show(target, (client, headers) => client.adminDirectory.listOrgs({ headers }), describeOrgs),
).pipe(Command.withDescription("List organisations with their balances"), Command.provide(FetchHttpClient.layer))

const describeOrgs = ({ data }: OrgList): string =>
  table(
    ["id", "name", "plan", "available", "held", "allotted", "currency", "apps", "members", "sso"],
    data.map(({ id, name, plan = "", available, held, allotted, currency, apps, members, sso }) => [
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
    ]),
  )

export const usage = Command.make(
  "usage",
  {
    org,
    limit: Flag.Int("limit").pipe(Flag.withDescription("Rows per page, 1 to 200"), Flag.withDefault(50)),
    cursor: Flag.String("cursor").pipe(
      Flag.withDescription("The cursor that the previous page printed"),
      Flag.optional,
    ),
    ...operator,
  },
  ({ org, limit, cursor, ...target }) => {
    const query = { limit: String(limit), ...(Option.isSome(cursor) && { cursor: cursor.value }) }
    return show(
      target,
      (client, headers) => client.adminDirectory.orgUsage({ headers, params: { org }, query }),
      describeUsage,
    )
  },
).pipe(
  Command.withDescription("List an organisation's usage records, newest first"),
  Command.provide(FetchHttpClient.layer),
)

const describeUsage = ({ data, nextCursor }: UsageStatement): string =>
  [
    table(
      ["at", "app", "model", "in", "out", "cost", "currency", "stop", "request"],
      data.map(({ at, appId, model, inTokens, outTokens, cost, currency, stop, requestId }) => [
        at,
        appId,
        model,
        String(inTokens),
        String(outTokens),
        cost,
        currency,
        stop,
        requestId,
      ]),
    ),
    ...(nextCursor === null ? [] : [`More with --cursor ${nextCursor}`]),
  ].join("\n")
