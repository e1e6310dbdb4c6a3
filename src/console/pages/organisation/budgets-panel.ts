/** Budgets that cover an organisation: their use; set and remove. */
import { html } from "htm/preact"
import type { BudgetState, Budgets } from "../../../protocol/control/budget.ts"
import { call, get } from "../../api.ts"
import { count, instant, money } from "../../format.ts"
import { useLoad } from "../../load.ts"
import { ActionButton, type Values } from "../../ui/form.ts"
import { Card, Empty, ErrorBox, Tag } from "../../ui/parts.ts"
import { Table } from "../../ui/table.ts"
import { mayManage, useViewer } from "../../viewer.ts"
import { oneOf, type TenantPlace } from "./tenant-urls.ts"

const periods: Readonly<Record<BudgetState["period"], string>> = { day: "day", week: "week", month: "month" }

const scopes: Readonly<Record<BudgetState["scope"], string>> = {
  org: "organisation",
  team: "team",
  person: "person",
  app: "application",
  key: "key",
  endUser: "end user",
}

const choices = (values: ReadonlyArray<string>) => values.map((value) => [value, value] as const)

export const BudgetsPanel = ({ place }: { readonly place: TenantPlace }) => {
  const viewer = useViewer()
  const { data, error, reload } = useLoad(
    `budgets ${place.org}`,
    (signal) => get<Budgets>(place.budgets, undefined, signal),
    10_000,
  )
  const set = async ({ id = "", limit = "", unit = "", ...terms }: Values) => {
    const amount = unit === "tokens" ? Number(limit) : limit
    await call("PUT", oneOf(place.budgets, id), { body: { ...terms, unit, limit: amount } })
    reload()
  }
  const remove = (id: string) => async () => {
    await call("DELETE", oneOf(place.budgets, id))
    reload()
  }
  /** Operators remove the platform's budgets, people their organisation's own. */
  const own = viewer.kind === "operator" ? "platform" : "organisation"
  const button =
    mayManage(viewer) &&
    html`<${ActionButton} name="Set a budget" confirm="Set" act=${set} fields=${[
      { name: "id", label: "Id", hint: "An id that exists is changed." },
      { name: "scope", label: "Applies to", options: choices(["org", "team", "person", "app", "key", "endUser"]) },
      { name: "unit", label: "Of", options: choices(["money", "tokens"]) },
      { name: "period", label: "Per", options: Object.entries(periods) },
      { name: "limit", label: "Limit", hint: "In the organisation's currency, or tokens." },
    ]} />`
  return html`<${Card} title="Budgets" actions=${button}>
    <${ErrorBox} error=${error} retry=${reload} />
    ${
      data !== undefined &&
      html`<${Table} caption="Budgets" rows=${data.budgets} empty=${html`<${Empty} title="No budget covers this">Set one: calls beyond it are refused before a vendor is called.<//>`} columns=${[
        { name: "Budget", show: ({ id, source }: BudgetState) => html`${id} <small class="soft">${source}</small>` },
        {
          name: "Applies to",
          show: ({ scope, subject }: BudgetState) =>
            html`<span class="wrap">${subject === undefined ? `each ${scopes[scope]}` : `${scopes[scope]} ${subject}`}</span>`,
        },
        { name: "Used", show: (budget: BudgetState) => html`<${Used} budget=${budget} />` },
        {
          name: "Mode",
          show: ({ mode }: BudgetState) => html`<${Tag} tone=${mode === "enforce" ? "good" : "warn"}>${mode}<//>`,
        },
        { name: "Starts again", align: "nowrap", show: ({ resetAt }: BudgetState) => instant(resetAt) },
        {
          name: "Actions",
          show: ({ id, source }: BudgetState) =>
            source === own &&
            mayManage(viewer) &&
            html`<${ActionButton} name="Remove" title="Remove ${id}?" tone="danger" act=${remove(id)} />`,
        },
      ]} />`
    }
  <//>`
}

const Used = ({ budget: { subject, used, limit, unit, period } }: { readonly budget: BudgetState }) => {
  const amount = (value: string | number) => (typeof value === "number" ? `${count(value)} tokens` : money(value))
  if (subject === undefined) return html`${amount(limit)} a ${period}, nothing used yet`
  const part = Number(limit) === 0 ? 100 : Math.min(100, (100 * Number(used)) / Number(limit))
  return html`<div class="bar" role="meter" aria-valuenow=${Math.round(part)} aria-valuemin="0" aria-valuemax="100" aria-label="Used of the ${unit}"><i style=${{ width: `${part}%` }}></i></div>
    <small>${amount(used)} of ${amount(limit)} per ${period}</small>`
}
