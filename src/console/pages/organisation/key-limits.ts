/** The limits and budgets of keys, for the tables of keys: budgets that name a key, and those that each key has. */
import { html } from "htm/preact"
import type { BudgetState, Budgets } from "../../../protocol/control/budget.ts"
import { get } from "../../api.ts"
import { useLoad } from "../../load.ts"
import { linkTo } from "../../route.ts"
import type { Key } from "./key-columns.ts"
import { LimitsText } from "./limits-button.ts"
import { UsedBudget } from "./used-budget.ts"

type BudgetsByOrg = ReadonlyMap<string, ReadonlyArray<BudgetState>>

/** Organisations whose budgets one page loads: each is a request. */
const mostOrganisations = 10

/** The column of limits and budgets. @param budgetsOf the route of an organisation's budgets @param orgs the keys' organisations */
export const useKeyLimits = (budgetsOf: (org: string) => string, orgs: ReadonlyArray<string>) => {
  const asked = [...new Set(orgs)].sort().slice(0, mostOrganisations)
  const { data } = useLoad(`budgets of keys ${asked.join(" ")}`, async (signal): Promise<BudgetsByOrg> => {
    const found = await Promise.all(
      asked.map(async (org) => [org, (await get<Budgets>(budgetsOf(org), undefined, signal)).budgets] as const),
    )
    return new Map(found)
  })
  return {
    name: "Limits and budgets",
    show: (key: Key) => {
      const { id, orgId } = key
      const isAsked = orgId === undefined || asked.includes(orgId)
      const budgets = data?.get(orgId ?? asked[0] ?? "") ?? []
      return html`<${LimitsText} limits=${key} />
        ${isAsked ? html`<${BudgetsOfKey} id=${id} budgets=${budgets} />` : html`<a href=${linkTo(["money", orgId])}>budgets</a>`}`
    },
  }
}

const BudgetsOfKey = ({ id, budgets }: { readonly id: string; readonly budgets: ReadonlyArray<BudgetState> }) => {
  const ofKeys = budgets.filter(({ scope }) => scope === "key")
  const own = ofKeys.filter(({ subject }) => subject === id)
  const unused = ofKeys.filter((budget) => budget.subject === undefined && own.every((known) => known.id !== budget.id))
  return [...own, ...unused].map(
    (budget) => html`<div key=${budget.id} title=${budget.id}><${UsedBudget} budget=${budget} currency="" /></div>`,
  )
}
