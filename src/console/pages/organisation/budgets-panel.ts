/** Budgets that cover an organisation: their use; set, change and remove. */
import { html } from "htm/preact"
import type { BudgetState, Budgets } from "../../../protocol/control/budget.ts"
import { call, get } from "../../api.ts"
import type { Choices } from "../../choices.ts"
import { useLoad } from "../../load.ts"
import { ActionButton, type Field, type Values } from "../../ui/form.ts"
import { Card, Empty, ErrorBox, Tag } from "../../ui/parts.ts"
import { Table } from "../../ui/table.ts"
import { Time } from "../../ui/time.ts"
import { mayManage, useViewer } from "../../viewer.ts"
import { oneOf, type TenantPlace } from "./tenant-urls.ts"
import { UsedBudget } from "./used-budget.ts"

const periods: Choices = [
  ["hour", "hour"],
  ["day", "day"],
  ["week", "week"],
  ["month", "month"],
  ["quarter", "quarter"],
  ["year", "year"],
  ["total", "once, without an end"],
  ["7d", "7 days that roll"],
  ["30d", "30 days that roll"],
  ["90d", "90 days that roll"],
]

/** The name of the tag that a budget applies to; empty if it applies to a subject. */
const tagOf = (budget: BudgetState | undefined): string =>
  budget?.scope.startsWith("tag:") === true ? budget.scope.slice("tag:".length) : ""

/** A period as a value of the form. */
const periodValue = (period: BudgetState["period"]): string => (typeof period === "string" ? period : `${period.days}d`)

const scopes: Readonly<Record<string, string>> = {
  org: "organisation",
  team: "team",
  person: "person",
  app: "application",
  key: "key",
  endUser: "end user",
  tag: "value of a tag",
}

const scopeName = (scope: string): string => scopes[scope] ?? `value of ${scope}`

const units: Choices = [
  ["money", "money"],
  ["tokens", "tokens"],
]

const modes: Choices = [
  ["enforce", "refuse calls beyond it"],
  ["shadow", "only count them (shadow)"],
]

export const BudgetsPanel = ({
  place,
  currency = "",
  subjects = [],
}: {
  readonly place: TenantPlace
  /** The currency in which the organisation pays, if the page knows it. */
  readonly currency?: string | undefined
  /** Known teams, applications and people. */
  readonly subjects?: Choices
}) => {
  const viewer = useViewer()
  const { data, error, reload } = useLoad(
    `budgets ${place.org}`,
    (signal) => get<Budgets>(place.budgets, undefined, signal),
    10_000,
  )
  const set = async (values: Values) => {
    await call("PUT", oneOf(place.budgets, values["id"] ?? ""), { body: termsOf(values) })
    reload()
  }
  const adjust = (id: string) => async (values: Values) => {
    const { raise = "", reset = "", subject = "" } = values
    await call("POST", `${oneOf(place.budgets, id)}/adjust`, {
      body: {
        ...(reset === "yes" && { reset: true }),
        ...(raise !== "" && { raise }),
        ...(subject !== "" && { subject }),
      },
    })
    reload()
  }
  const remove = (id: string) => async () => {
    await call("DELETE", oneOf(place.budgets, id))
    reload()
  }
  /** Operators remove the platform's budgets, people their organisation's own. */
  const own = viewer.kind === "operator" ? "platform" : "organisation"
  const declared = new Set(data?.budgets.filter(({ source }) => source !== own).map(({ id }) => id))
  const names = new Map(subjects)
  const button =
    mayManage(viewer) &&
    html`<${ActionButton} name="Set a budget" confirm="Set" act=${set} fields=${fieldsOf(currency, subjects)} />`
  return html`<${Card} title="Budgets" actions=${button}>
    <${ErrorBox} error=${error} retry=${reload} />
    ${
      data !== undefined &&
      html`<${Table} caption="Budgets" rows=${data.budgets} empty=${html`<${Empty} title="No budgets yet">Set one: calls beyond it are refused before a vendor is called.<//>`} columns=${[
        { name: "Budget", show: ({ id, source }: BudgetState) => html`${id} <small class="soft">${source}</small>` },
        {
          name: "Applies to",
          show: ({ scope, subject }: BudgetState) =>
            html`<span class="wrap">${subject === undefined ? `each ${scopeName(scope)}` : (names.get(subject) ?? `${scopeName(scope)} ${subject}`)}</span>`,
        },
        { name: "Used", show: (budget: BudgetState) => html`<${UsedBudget} budget=${budget} currency=${currency} />` },
        {
          name: "Mode",
          show: ({ mode }: BudgetState) => html`<${Tag} tone=${mode === "enforce" ? "good" : "warn"}>${mode}<//>`,
        },
        {
          name: "Warns at",
          show: ({ warnAt = [] }: BudgetState) => warnAt.map((share) => `${Math.round(share * 100)} %`).join(", "),
        },
        {
          name: "Resets",
          align: "nowrap",
          show: ({ resetAt }: BudgetState) => (resetAt === undefined ? "never" : html`<${Time} at=${resetAt} />`),
        },
        {
          name: "Actions",
          show: (budget: BudgetState) =>
            budget.source === own &&
            !declared.has(budget.id) &&
            mayManage(viewer) &&
            html`<span class="row">
              <${ActionButton} name="Change" title="Change ${budget.id}" tone="quiet" confirm="Save" act=${set} fields=${fieldsOf(currency, subjects, budget)} />
              <${ActionButton} name="Adjust" title="Adjust ${budget.id} in this period" tone="quiet" confirm="Adjust" act=${adjust(budget.id)} fields=${adjustFields(budget)} />
              <${ActionButton} name="Remove" title="Remove ${budget.id}?" tone="danger" act=${remove(budget.id)} />
            </span>`,
        },
      ]} />`
    }
  <//>`
}

const fieldsOf = (currency: string, subjects: Choices, budget?: BudgetState): ReadonlyArray<Field> => [
  {
    name: "id",
    label: "Id",
    value: budget?.id ?? "",
    isFixed: budget !== undefined,
    hint: "An id that exists is changed.",
  },
  {
    name: "scope",
    label: "Applies to",
    value: tagOf(budget) === "" ? (budget?.scope ?? "org") : "tag",
    options: Object.entries(scopes),
  },
  {
    name: "tag",
    label: "Tag",
    value: tagOf(budget),
    isOptional: true,
    hint: "The name of the tag, if it applies to one.",
  },
  {
    name: "subject",
    label: "Only this one",
    value: budget === undefined || budget.isGeneral === true || budget.scope === "org" ? "" : (budget.subject ?? ""),
    isOptional: true,
    suggestions: subjects,
    hint: "The id of a team, application, key, person or end user. If empty, each of them has the budget.",
  },
  { name: "unit", label: "Unit", value: budget?.unit ?? "money", options: units },
  {
    name: "period",
    label: "Period",
    value: budget === undefined ? "day" : periodValue(budget.period),
    options: periodOptions(budget),
    hint: "Periods begin at midnight in the organisation's zone; UTC+8 if it has none.",
  },
  {
    name: "startsOn",
    label: "Starts on",
    value: budget?.startsOn === undefined ? "" : String(budget.startsOn),
    isOptional: true,
    hint: "The weekday of a week (sunday), or the day of a month, quarter or year (15).",
  },
  {
    name: "from",
    label: "From",
    value: budget?.from ?? "",
    isOptional: true,
    hint: "An instant such as 2026-12-01T00:00:00Z.",
  },
  { name: "to", label: "To", value: budget?.to ?? "", isOptional: true, hint: "The instant at which it ends." },
  {
    name: "limit",
    label: "Limit",
    value: budget === undefined ? "" : String(budget.limit),
    hint: `In ${currency || "the organisation's currency"}, for example 12.50; or tokens.`,
  },
  {
    name: "warnAt",
    label: "Warn at",
    value: budget?.warnAt?.map((share) => String(Math.round(share * 100))).join(", ") ?? "",
    isOptional: true,
    hint: "Percentages of the limit, for example 80, 100.",
  },
  { name: "mode", label: "Mode", value: budget?.mode ?? "enforce", options: modes },
]

/** The periods, with the budget's own if it is another number of days. */
const periodOptions = (budget: BudgetState | undefined): Choices => {
  const own = budget === undefined ? undefined : periodValue(budget.period)
  const isListed = own === undefined || periods.some(([value]) => value === own)
  return isListed ? periods : [...periods, [own, `${own.slice(0, -1)} days that roll`]]
}

const adjustFields = (budget: BudgetState): ReadonlyArray<Field> => [
  ...(budget.isGeneral === true && budget.scope !== "org"
    ? [{ name: "subject", label: scopeName(budget.scope), value: budget.subject ?? "" }]
    : []),
  {
    name: "reset",
    label: "Reset",
    value: "no",
    options: [
      ["no", "no"],
      ["yes", "yes: nothing is used any more"],
    ],
  },
  {
    name: "raise",
    label: "Raise the limit by",
    value: budget.raised === undefined ? "" : String(budget.raised),
    isOptional: true,
    hint: "In all, for this period only; 0 takes it back.",
  },
]

const termsOf = (values: Values) => {
  const { scope: kind, tag = "", subject = "", unit, period = "day", startsOn = "", from = "", to = "" } = values
  const { limit = "", warnAt = "", mode } = values
  const scope = kind === "tag" ? `tag:${tag}` : kind
  const shares = warnAt.split(/[\s,%]+/).filter((share) => share !== "")
  return {
    scope,
    unit,
    period: /^\d+d$/.test(period) ? { days: Number(period.slice(0, -1)) } : period,
    ...(startsOn !== "" && { startsOn: /^\d+$/.test(startsOn) ? Number(startsOn) : startsOn.toLowerCase() }),
    ...(from !== "" && { from }),
    ...(to !== "" && { to }),
    mode,
    limit: unit === "tokens" ? Number(limit) : limit,
    ...(subject !== "" && { subject }),
    ...(shares.length > 0 && { warnAt: shares.map((share) => Number(share) / 100) }),
  }
}
