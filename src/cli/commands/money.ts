/** `weir topup | ledger`: the money of organisations. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Argument, Command, Flag } from "effect/cli"
import { Admin } from "../../protocol/api/admin.ts"
import type { LedgerResponse } from "../../protocol/control/admin.ts"
import { org } from "../lists.ts"
import { table } from "../table.ts"
import { operator, show } from "../target.ts"

export const topup = Command.make(
  "topup",
  {
    org,
    amount: Argument.String("amount").pipe(
      Argument.withDescription("e.g. 100 or 12.50, in the organisation's currency"),
    ),
    id: Flag.String("id").pipe(Flag.withDescription("Your id of the top-up; an id is credited once")),
    ...operator,
  },
  ({ org, amount, id, ...target }) =>
    show(
      target,
      Admin,
      (client, headers) => client.admin.topup({ headers, payload: { id, org, amount } }),
      ({ credited, balance, currency }) =>
        `${credited ? "Credited" : "This id was credited before"}; ${org} has ${balance} ${currency}`,
    ),
).pipe(Command.provide(NodeHttpClient.layerNodeHttp))

export const ledger = Command.make("ledger", { org, ...operator }, ({ org, ...target }) =>
  show(
    target,
    Admin,
    (client, headers) => client.admin.ledger({ headers, params: { org } }),
    (reply) => describeLedger(org, reply),
  ),
).pipe(Command.provide(NodeHttpClient.layerNodeHttp))

const describeLedger = (org: string, { balances, allotments, entries }: LedgerResponse): string =>
  [
    ...balances.map(
      ({ currency, available, held, allotted, spent }) =>
        `${org}: ${available} ${currency} available, ${held} held, ${spent} spent; ${allotted} allotted to nodes`,
    ),
    ...(allotments.length === 0
      ? []
      : [
          table(
            ["node", "allotted", "currency", "since", "lease"],
            allotments.map(({ node, amount, currency, since, isAlive }) => [
              node,
              amount,
              currency,
              since,
              isAlive ? "running" : "run out",
            ]),
            "No node has allotments of it now",
          ),
        ]),
    table(
      ["at", "kind", "account", "amount", "currency", "ref"],
      entries.map(({ at, kind, account, amount, currency, ref }) => [at, kind, account, amount, currency, ref]),
      "No transfers yet. Top it up: weir topup acme 100 --id first",
    ),
  ].join("\n")
