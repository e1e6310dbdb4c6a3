/** `weir budgets`: the budgets that the platform sets for an organisation, and the rest of them. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminDirectory } from "../../protocol/api/admin-directory.ts"
import { BudgetTerms, BudgetUnit, periodText, SubjectScope } from "../../protocol/catalogue/budget.ts"
import type { BudgetAdjustment, Budgets } from "../../protocol/control/budget.ts"
import { org } from "../lists.ts"
import { describeRecord, table } from "../table.ts"
import { ask, decoded, failed, type Operator, operator, print, show } from "../target.ts"

const list = ({ org, ...target }: Operator & { readonly org: string }) =>
  show(
    target,
    AdminDirectory,
    (client, headers) => client.adminDirectory.orgBudgets({ headers, params: { org } }),
    describeBudgets,
  )

const id = Argument.String("id").pipe(Argument.withDescription("The budget's id, without colons"))

const set = Command.make(
  "set",
  {
    org,
    id,
    scope: Flag.String("scope").pipe(
      Flag.withDescription(`The kind of subject: ${SubjectScope.literals.join(", ")}, or a tag such as tag:feature`),
    ),
    subject: Flag.String("subject").pipe(
      Flag.withDescription("The id of the subject; each of the kind has the budget if absent"),
      Flag.optional,
    ),
    unit: Flag.Literals("unit", BudgetUnit.literals).pipe(Flag.withDescription("Money or tokens")),
    period: Flag.String("period").pipe(
      Flag.withDescription("hour, day, week, month, quarter, year, total, or a number of days that roll, such as 30d"),
    ),
    startsOn: Flag.String("starts-on").pipe(
      Flag.withDescription("The weekday of a week, or the day of the month of a month, quarter or year"),
      Flag.optional,
    ),
    from: Flag.String("from").pipe(Flag.withDescription("The instant from which on it holds"), Flag.optional),
    to: Flag.String("to").pipe(Flag.withDescription("The instant at which it ends"), Flag.optional),
    limit: Flag.String("limit").pipe(Flag.withDescription("The amount of a period, such as 12.50")),
    mode: Flag.Literals("mode", ["enforce", "shadow"]).pipe(
      Flag.withDescription("shadow only counts the calls that it would refuse; enforce if absent"),
      Flag.optional,
    ),
    warnAt: Flag.Finite("warn-at").pipe(
      Flag.withDescription("A share of the limit at which the organisation is warned, such as 0.8; may be repeated"),
      Flag.atMost(8),
    ),
    ...operator,
  },
  Effect.fn(function* ({ org, id, scope, subject, unit, period, startsOn, from, to, limit, mode, warnAt, ...target }) {
    const terms = {
      scope,
      unit,
      period: /^\d{1,3}d$/.test(period) ? { days: Number(period.slice(0, -1)) } : period,
      ...(Option.isSome(startsOn) && {
        startsOn: /^\d+$/.test(startsOn.value) ? Number(startsOn.value) : startsOn.value,
      }),
      ...(Option.isSome(from) && { from: from.value }),
      ...(Option.isSome(to) && { to: to.value }),
      limit: unit === "tokens" && /^\d{1,15}$/.test(limit) ? Number(limit) : limit,
      ...(Option.isSome(subject) && { subject: subject.value }),
      ...(Option.isSome(mode) && { mode: mode.value }),
      ...(warnAt.length > 0 && { warnAt }),
    }
    const payload = yield* decoded(BudgetTerms, terms)
    yield* show(
      target,
      AdminDirectory,
      (client, headers) => client.adminDirectory.setOrgBudget({ headers, params: { org, id }, payload }),
      describeRecord,
    )
  }),
).pipe(
  Command.withDescription("Set a budget for an organisation, which cannot change it"),
  Command.withExamples([
    { command: "weir budgets set acme daily --scope key --unit money --period day --limit 5 --warn-at 0.8" },
  ]),
)

const remove = Command.make("remove", { org, id, ...operator }, ({ org, id, ...target }) =>
  Effect.flatMap(
    ask(target, AdminDirectory, (client, headers) =>
      client.adminDirectory.removeOrgBudget({ headers, params: { org, id } }),
    ),
    () => print(target, { id, removed: true }, () => `${id} is removed`),
  ),
).pipe(Command.withDescription("Remove a budget that was set for an organisation"))

const subject = Flag.String("subject").pipe(
  Flag.withDescription("The id of the subject, for a budget that holds for each subject of its scope"),
  Flag.optional,
)

const adjust = (
  { org, id, ...target }: Operator & { readonly org: string; readonly id: string },
  change: Omit<BudgetAdjustment, "subject">,
  subject: Option.Option<string>,
) =>
  show(
    target,
    AdminDirectory,
    (client, headers) =>
      client.adminDirectory.adjustOrgBudget({
        headers,
        params: { org, id },
        payload: { ...change, ...(Option.isSome(subject) && { subject: subject.value }) },
      }),
    describeRecord,
  )

const reset = Command.make("reset", { org, id, subject, ...operator }, ({ subject, ...rest }) =>
  adjust(rest, { reset: true }, subject),
).pipe(
  Command.withDescription(
    "Set the used amount of a budget to zero in its present period; running calls keep their holds",
  ),
  Command.withExamples([{ command: "weir budgets reset acme daily --subject key_ci" }]),
)

const raise = Command.make(
  "raise",
  {
    org,
    id,
    amount: Argument.String("amount").pipe(
      Argument.withDescription("The amount by which the limit is raised in all, in this period; 0 takes it back"),
    ),
    subject,
    ...operator,
  },
  ({ amount, subject, ...rest }) => adjust(rest, { raise: amount }, subject),
).pipe(
  Command.withDescription("Raise the limit of a budget in its present period"),
  Command.withExamples([{ command: "weir budgets raise acme monthly 250" }]),
)

const listed = Command.make("list", { org, ...operator }, list).pipe(
  Command.withDescription("List an organisation's budgets and what is left of them"),
)

export const budgets = Command.make("budgets", { org: Argument.optional(org), ...operator }, ({ org, ...target }) =>
  Option.isSome(org) ? list({ org: org.value, ...target }) : failed("Name the organisation: weir budgets list acme"),
).pipe(Command.withSubcommands([listed, set, reset, raise, remove]), Command.provide(NodeHttpClient.layerNodeHttp))

const describeBudgets = ({ budgets }: Budgets): string =>
  table(
    ["id", "source", "scope", "subject", "unit", "period", "mode", "used", "limit", "left", "resets"],
    budgets.map(({ id, source, scope, subject, unit, period, mode, used, limit, left, resetAt }) => [
      id,
      source,
      scope,
      subject ?? `each ${scope}`,
      unit,
      periodText(period),
      mode,
      String(used),
      String(limit),
      String(left),
      resetAt ?? "never",
    ]),
    "No budgets yet. Set one: weir budgets set acme daily --scope org --unit money --period day --limit 25",
  )
