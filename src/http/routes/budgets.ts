/** Budgets of an organisation, as its members may see them. */
import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Catalogue } from "../../catalogue/catalogue.ts"
import type { CatalogueSnapshot } from "../../catalogue/snapshot.ts"
import { budgetsOf, budgetsWithin, type Subjects } from "../../money/budget.ts"
import { budgetStates } from "../../money/budget-states.ts"
import { Ledger } from "../../money/ledger.ts"
import { Api } from "../../protocol/api.ts"
import { BudgetPeriod } from "../../protocol/catalogue.ts"
import { periodOf } from "../../protocol/utc8.ts"
import { type Member, makeForBearer } from "../bearer.ts"

export const budgetRoutes = HttpApiBuilder.group(
  Api,
  "budgets",
  Effect.fn(function* (handlers) {
    const { forMember } = yield* makeForBearer
    const catalogue = yield* Catalogue
    const ledger = yield* Ledger

    const list = Effect.fnUntraced(function* (member: Member) {
      const orgId = member.org.org.id
      const nowMs = yield* Clock.currentTimeMillis
      const snapshot = catalogue.current()
      const starts = BudgetPeriod.literals.map((period) => periodOf(period, nowMs).start)
      const seen =
        member.role === "member"
          ? budgetsOf(snapshot.budgets, subjectsOf(member), nowMs)
          : budgetsWithin(
              snapshot.budgets,
              subjectsWithin(snapshot, orgId),
              yield* ledger.budgetCounters(orgId, starts),
              nowMs,
            )
      return yield* budgetStates(ledger, orgId, seen)
    })

    return handlers.handleRaw("organisationBudgets", ({ request }) => forMember(request, list))
  }),
)

/** Whose budgets cover a member. */
const subjectsOf = ({ org, teams, principal }: Member): Subjects => ({
  org: [org.org.id],
  team: teams,
  person: principal.person === undefined ? [] : [principal.person.id],
  app: [],
  key: [],
  endUser: [],
})

/** What an organisation has of each scope; people and end users come without the catalogue too. */
const subjectsWithin = ({ document }: CatalogueSnapshot, orgId: string): Subjects => {
  const within = (items: ReadonlyArray<{ readonly id: string; readonly org: string }> = []) =>
    items.filter(({ org }) => org === orgId).map(({ id }) => id)
  const apps = within(document.apps)
  const own = new Set(apps)
  return {
    org: [orgId],
    team: within(document.teams),
    person: within(document.users),
    app: apps,
    key: (document.keys ?? []).filter(({ app }) => own.has(app)).map(({ id }) => id),
    endUser: [],
  }
}
