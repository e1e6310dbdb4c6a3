/** Budgets of an organisation: those that its members may see, and those that owners and admins set. */
import { Clock, Effect, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { AccessTokens } from "../../identity/access-tokens.ts"
import { Accounts } from "../../identity/accounts.ts"
import { formatAmount, parseAmount } from "../../money/amount.ts"
import { isAmountOf, type Subjects, tightestLimit } from "../../money/budgets/budget.ts"
import { BudgetAdjustments } from "../../money/budgets/budget-adjustments.ts"
import { CallBudgets } from "../../money/budgets/call-budgets.ts"
import { type OrgBudgetChange, OrgBudgets } from "../../money/budgets/org-budgets.ts"
import { Api } from "../../protocol/api.ts"
import { BudgetId, BudgetTerms } from "../../protocol/catalogue/budget.ts"
import { BudgetAdjustment } from "../../protocol/control/budget.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { People } from "../../tenants/people.ts"
import { actorOf, type Member, makeForBearer, requireAdmin } from "../bearer.ts"
import { maxBodyBytes } from "../operator.ts"
import { type Request, readJson } from "../request.ts"

export const budgetRoutes = HttpApiBuilder.group(
  Api,
  "budgets",
  Effect.fn(function* (handlers) {
    const { forMember } = yield* makeForBearer
    const catalogue = yield* Catalogue
    const callBudgets = yield* CallBudgets
    const orgBudgets = yield* OrgBudgets
    const readTerms = yield* makeReadTerms
    const adjustments = yield* BudgetAdjustments

    const list = Effect.fnUntraced(function* (member: Member) {
      const nowMs = yield* Clock.currentTimeMillis
      if (member.role !== "member") return { budgets: yield* callBudgets.all(member.org) }
      const seen = callBudgets.covering(member.org, subjectsOf(member), nowMs)
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
      return { orgId: member.org.org.id, id, actor: actorOf(member) }
    })

    const set = Effect.fnUntraced(function* (request: Request, member: Member, id: string) {
      const change = yield* changeBy(member, id)
      const terms = yield* readTerms(request, change.orgId)
      const asked = terms.scope === "org" ? { ...terms, subject: change.orgId } : terms
      for (const index of [catalogue.current().budgets, member.org.budgets]) {
        const most = index && tightestLimit(index, asked)
        if (most !== undefined && (parseAmount(String(terms.limit)) ?? 0n) > most) {
          return yield* invalidInput([{ path: "limit", message: `the platform allows ${formatAmount(most)}` }])
        }
      }
      yield* orgBudgets.set(change, terms)
      return { id, ...terms }
    })

    const remove = Effect.fnUntraced(function* (member: Member, id: string) {
      const isRemoved = yield* orgBudgets.remove(yield* changeBy(member, id))
      if (!isRemoved) return yield* serviceError("not_found", "The budget does not exist")
    })

    const adjust = Effect.fnUntraced(function* (request: Request, member: Member, id: string) {
      yield* requireAdmin(member)
      const change = yield* readJson(BudgetAdjustment, request, maxBodyBytes)
      const { org, budgets } = member.org
      return yield* adjustments.adjust({ org, budgets, id, change, actor: actorOf(member) })
    })

    return handlers
      .handleRaw("adjustBudget", ({ request, params }) =>
        forMember(request, (member) => adjust(request, member, params.id)),
      )
      .handleRaw("organisationBudgets", ({ request }) => forMember(request, list))
      .handleRaw("setBudget", ({ request, params }) => forMember(request, (member) => set(request, member, params.id)))
      .handleRaw("removeBudget", ({ request, params }) => forMember(request, (member) => remove(member, params.id)))
  }),
)

/** The check whether a subject is the organisation's; its end users are not known here. */
const makeIsOfOrg = Effect.gen(function* () {
  const people = yield* People
  const accounts = yield* Accounts
  const tokens = yield* AccessTokens

  return (orgId: string, scope: BudgetTerms["scope"], id: string): Effect.Effect<boolean, StoreUnavailable> => {
    switch (scope) {
      case "org":
        return Effect.succeed(id === orgId)
      case "team":
      case "app":
        return people.has(orgId, scope, id)
      case "person":
        return Effect.flatMap(accounts.find(id), (account) => people.isMember({ id, email: account?.email }, orgId))
      case "key":
        return Effect.zipWith(
          people.has(orgId, "key", id),
          tokens.find(id),
          (isOfApps, token) => isOfApps || token?.orgId === orgId,
        )
      default:
        // End users and values of tags need not be declared.
        return Effect.succeed(true)
    }
  }
})

export const isBudgetId = Schema.is(BudgetId)

/** The terms in a request's body: an amount of its unit, for a subject of the organisation. */
export const makeReadTerms = Effect.gen(function* () {
  const isOfOrg = yield* makeIsOfOrg
  return Effect.fnUntraced(function* (request: Request, orgId: string) {
    const terms = yield* readJson(BudgetTerms, request, maxBodyBytes)
    const { scope, subject, unit, limit } = terms
    if (!isAmountOf(unit, String(limit))) {
      return yield* invalidInput([{ path: "limit", message: `is no amount of ${unit}` }])
    }
    if (subject !== undefined && !(yield* isOfOrg(orgId, scope, subject))) {
      return yield* invalidInput([{ path: "subject", message: `no such ${scope} in the organisation` }])
    }
    return terms
  })
})

/** The subjects whose budgets cover a member. */
const subjectsOf = ({ org, teams, principal }: Member): Subjects => ({
  org: [org.org.id],
  team: teams,
  person: principal.person === undefined ? [] : [principal.person.id],
  app: [],
  key: [],
  endUser: [],
})
