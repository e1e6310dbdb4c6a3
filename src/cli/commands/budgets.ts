/** `weir budgets`: the rest of an organisation's budgets. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Command } from "effect/cli"
import { AdminDirectory } from "../../protocol/api/admin-directory.ts"
import type { Budgets } from "../../protocol/control/budget.ts"
import { org } from "../lists.ts"
import { table } from "../table.ts"
import { operator, show } from "../target.ts"

export const budgets = Command.make("budgets", { org, ...operator }, ({ org, ...target }) =>
  show(
    target,
    AdminDirectory,
    (client, headers) => client.adminDirectory.orgBudgets({ headers, params: { org } }),
    describeBudgets,
  ),
).pipe(Command.provide(NodeHttpClient.layerNodeHttp))

const describeBudgets = ({ budgets }: Budgets): string =>
  table(
    ["id", "source", "scope", "subject", "unit", "period", "mode", "used", "limit", "left", "resets"],
    budgets.map(({ id, source, scope, subject, unit, period, mode, used, limit, left, resetAt }) => [
      id,
      source,
      scope,
      subject ?? `each ${scope}`,
      unit,
      period,
      mode,
      String(used),
      String(limit),
      String(left),
      resetAt,
    ]),
  )
