/** Budgets of an organisation: what its members may see, and what owners and admins set. */
import { Clock, Effect, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CallBudgets } from "../../admission/budgets.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { AccessTokens } from "../../identity/access-tokens.ts"
import { Accounts, membershipsOf } from "../../identity/accounts.ts"
import { KeyAdmin } from "../../identity/key-admin.ts"
import { formatAmount, parseAmount } from "../../money/amount.ts"
import { isAmountOf, type Subjects, tightestLimit } from "../../money/budget.ts"
import { type OrgBudgetChange, OrgBudgets } from "../../money/org-budgets.ts"
import { Api } from "../../protocol/api.ts"
import { BudgetId, BudgetTerms } from "../../protocol/catalogue.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { invalidInput } from "../../protocol/issues.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { type Member, makeForBearer, requireAdmin } from "../bearer.ts"
import { maxBodyBytes, type Request } from "../operator.ts"
import { readJson } from "../request.ts"

export const budgetRoutes = HttpApiBuilder.group(
  Api,
  "budgets",
  Effect.fn(function* (handlers) {
    const { forMember } = yield* makeForBearer
    const catalogue = yield* Catalogue
    const callBudgets = yield* CallBudgets
    const orgBudgets = yield* OrgBudgets
    const isOfOrg = yield* makeIsOfOrg

    const list = Effect.fnUntraced(function* (member: Member) {
      const nowMs = yield* Clock.currentTimeMillis
      const seen =
        member.role === "member"
          ? callBudgets.covering(member.org, subjectsOf(member), nowMs)
          : yield* callBudgets.within(member.org)
      return { budgets: yield* callBudgets.states(member.org.org.id, seen) }
    })

    /** A change that a member may make: of the organisation's own budgets. */
    const changeBy = Effect.fnUntraced(function* (
      member: Member,
      id: string,
    ): Effect.fn.Return<OrgBudgetChange, ServiceError<"forbidden" | "bad_request">> {
      yield* requireAdmin(member)
      if (!isBudgetId(id)) return yield* invalidInput([{ path: "id", message: "an id without colons is required" }])
      if (catalogue.current().budgets.byName.has(id)) {
        return yield* serviceError("forbidden", "This budget is the platform's")
      }
      const orgId = member.org.org.id
      const { person } = member.principal
      return { orgId, id, actor: person === undefined ? { type: "org", id: orgId } : { type: "user", id: person.id } }
    })

    const set = Effect.fnUntraced(function* (request: Request, member: Member, id: string) {
      const change = yield* changeBy(member, id)
      const terms = yield* readJson(BudgetTerms, request, maxBodyBytes)
      const { scope, subject, unit, limit } = terms
      if (!isAmountOf(unit, String(limit))) {
        return yield* invalidInput([{ path: "limit", message: `is no amount of ${unit}` }])
      }
      if (subject !== undefined && !(yield* isOfOrg(change.orgId, scope, subject))) {
        return yield* invalidInput([{ path: "subject", message: `no such ${scope} in the organisation` }])
      }
      const most = tightestLimit(
        catalogue.current().budgets,
        scope === "org" ? { ...terms, subject: change.orgId } : terms,
      )
      if (most !== undefined && (parseAmount(String(limit)) ?? 0n) > most) {
        return yield* invalidInput([{ path: "limit", message: `the platform allows ${formatAmount(most)}` }])
      }
      yield* orgBudgets.set(change, terms)
      return { id, ...terms }
    })

    const remove = Effect.fnUntraced(function* (member: Member, id: string) {
      const isRemoved = yield* orgBudgets.remove(yield* changeBy(member, id))
      if (!isRemoved) return yield* serviceError("not_found", "The budget does not exist")
    })

    return handlers
      .handleRaw("organisationBudgets", ({ request }) => forMember(request, list))
      .handleRaw("setBudget", ({ request, params }) => forMember(request, (member) => set(request, member, params.id)))
      .handleRaw("removeBudget", ({ request, params }) => forMember(request, (member) => remove(member, params.id)))
  }),
)

const isBudgetId = Schema.is(BudgetId)

/** Whose budgets cover a member. */
const subjectsOf = ({ org, teams, principal }: Member): Subjects => ({
  org: [org.org.id],
  team: teams,
  person: principal.person === undefined ? [] : [principal.person.id],
  app: [],
  key: [],
  endUser: [],
})

/** Whether a subject is the organisation's; its end users are not known here. */
const makeIsOfOrg = Effect.gen(function* () {
  const catalogue = yield* Catalogue
  const accounts = yield* Accounts
  const keys = yield* KeyAdmin
  const tokens = yield* AccessTokens

  return (orgId: string, scope: BudgetTerms["scope"], id: string): Effect.Effect<boolean, StoreUnavailable> => {
    const snapshot = catalogue.current()
    const isWithin = (items: ReadonlyArray<{ readonly id: string; readonly org: string }> = []) =>
      Effect.succeed(items.some((item) => item.id === id && item.org === orgId))
    switch (scope) {
      case "org":
        return Effect.succeed(id === orgId)
      case "team":
        return isWithin(snapshot.document.teams)
      case "app":
        return isWithin(snapshot.document.apps)
      case "person":
        return Effect.map(accounts.find(id), (account) =>
          membershipsOf(snapshot, { id, email: account?.email }).some(({ org }) => org.org.id === orgId),
        )
      case "key":
        return Effect.zipWith(
          keys.list(orgId),
          tokens.find(id),
          (ofApps, token) => ofApps.some((key) => key.id === id) || token?.orgId === orgId,
        )
      case "endUser":
        return Effect.succeed(true)
    }
  }
})
