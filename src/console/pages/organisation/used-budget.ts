/** The used part of a budget. */
import { html } from "htm/preact"
import type { BudgetState } from "../../../protocol/control/budget.ts"
import { count, money } from "../../format.ts"

/** The used part of a budget, as a meter and in words. */
export const UsedBudget = ({ budget, currency }: { readonly budget: BudgetState; readonly currency: string }) => {
  const { subject, used, limit, unit, raised = 0 } = budget
  const period = typeof budget.period === "string" ? budget.period : `${budget.period.days} days`
  const amount = (value: string | number) =>
    typeof value === "number" ? `${count(value)} tokens` : money(value, currency)
  if (subject === undefined) return html`${amount(limit)} a ${period}, nothing used yet`
  const most = Number(limit) + Number(raised)
  const part = most === 0 ? 100 : Math.min(100, (100 * Number(used)) / most)
  return html`<div class="bar" role="meter" aria-valuenow=${Math.round(part)} aria-valuemin="0" aria-valuemax="100" aria-label="Used of the ${unit}"><i style=${{ width: `${part}%` }}></i></div>
    <small>${amount(used)} of ${amount(limit)}${Number(raised) > 0 && html` and ${amount(raised)} more`} per ${period}</small>`
}
