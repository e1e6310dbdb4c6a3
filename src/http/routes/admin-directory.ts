/** Admin routes for organisations, people, keys and licences. Source: decisions "Control routes" (admin). */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CallBudgets } from "../../admission/budgets.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { type Account, Accounts, membershipsOf, normalEmail } from "../../identity/accounts.ts"
import { KeyAdmin } from "../../identity/key-admin.ts"
import { type Actor, Licences } from "../../identity/licences.ts"
import { Books } from "../../money/books.ts"
import { Statements } from "../../money/statements.ts"
import { type AdminUser, KeyMint, type OrgList } from "../../protocol/admin-directory.ts"
import { Api } from "../../protocol/api.ts"
import { serviceError } from "../../protocol/error.ts"
import { knownOrg, makeForOperator, maxBodyBytes, type Request } from "../operator.ts"
import { pageOf } from "../page-query.ts"
import { readJson } from "../request.ts"
import { makeIssueLicence } from "./licences.ts"

export const adminDirectoryRoutes = HttpApiBuilder.group(
  Api,
  "adminDirectory",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const catalogue = yield* Catalogue
    const accounts = yield* Accounts
    const books = yield* Books
    const callBudgets = yield* CallBudgets
    const keys = yield* KeyAdmin
    const licences = yield* Licences
    const statements = yield* Statements
    const issueLicence = yield* makeIssueLicence

    const listOrgs = Effect.gen(function* () {
      const { document } = catalogue.current()
      const balances = yield* books.balances
      const data = (document.orgs ?? []).map(({ id, name, plan, currency, sso }) => {
        const has = balances.find((balance) => balance.orgId === id && balance.currency === currency)
        return {
          id,
          name,
          ...(plan !== undefined && { plan }),
          currency,
          available: has?.available ?? "0",
          held: has?.held ?? "0",
          allotted: has?.allotted ?? "0",
          apps: (document.apps ?? []).filter(({ org }) => org === id).length,
          members: (document.users ?? []).filter(({ org }) => org === id).length,
          sso: sso !== undefined,
        }
      })
      return { data } satisfies OrgList
    })

    const userOf = ({ id, email, status }: Account): AdminUser => ({
      id,
      email,
      status,
      memberships: membershipsOf(catalogue.current(), { id, email }).map(({ org, role }) => ({
        org: org.org.id,
        role,
      })),
    })

    const listUsers = Effect.fnUntraced(function* (orgId: string | undefined) {
      const active = yield* accounts.list
      const known = new Set(active.map(({ email }) => email))
      const declared = new Map(
        (catalogue.current().document.users ?? []).map((user) => [normalEmail(user.email), user]),
      )
      const invited = [...declared]
        .filter(([email]) => !known.has(email))
        .map(([email, { id }]): AdminUser => ({ ...userOf({ id, email, status: "active" }), status: "invited" }))
      const all = [...active.map(userOf), ...invited]
      return {
        data: all.filter(({ memberships }) => orgId === undefined || memberships.some(({ org }) => org === orgId)),
      }
    })

    const setStatus = Effect.fnUntraced(function* (id: string, status: Account["status"]) {
      const account = yield* accounts.setStatus(id, status)
      return account === undefined ? yield* serviceError("not_found", "The account does not exist") : userOf(account)
    })

    const mint = Effect.fnUntraced(function* (request: Request) {
      const { app, id, scopes = ["runtime"], expiresAt } = yield* readJson(KeyMint, request, maxBodyBytes)
      return yield* keys.mint({ app, id, scopes, expiresAt })
    })

    const orgBudgets = Effect.fnUntraced(function* (orgId: string) {
      const org = yield* knownOrg(catalogue, orgId)
      return { budgets: yield* callBudgets.states(orgId, yield* callBudgets.within(org)) }
    })

    const end = ({ org, id }: { readonly org: string; readonly id: string }, status: "suspended" | "revoked") =>
      Effect.map(licences.end(org, id, status, operator), (license) => ({ license }))

    return handlers
      .handleRaw("listOrgs", ({ request }) => forOperator(request, listOrgs))
      .handleRaw("listUsers", ({ request, query }) => forOperator(request, listUsers(query.org)))
      .handleRaw("disableUser", ({ request, params }) => forOperator(request, setStatus(params.id, "disabled")))
      .handleRaw("enableUser", ({ request, params }) => forOperator(request, setStatus(params.id, "active")))
      .handleRaw("listKeys", ({ request, query }) =>
        forOperator(
          request,
          Effect.map(keys.list(query.org), (data) => ({ data })),
        ),
      )
      .handleRaw("mintKey", ({ request }) => forOperator(request, mint(request)))
      .handleRaw("revokeKey", ({ request, params }) => forOperator(request, keys.revoke(params.id)))
      .handleRaw("listOrgLicences", ({ request, params: { org } }) =>
        forOperator(
          request,
          Effect.andThen(
            knownOrg(catalogue, org),
            Effect.map(licences.list(org), (data) => ({ data })),
          ),
        ),
      )
      .handleRaw("issueOrgLicence", ({ request, params }) =>
        forOperator(request, issueLicence(request, params.org, operator)),
      )
      .handleRaw("suspendOrgLicence", ({ request, params }) => forOperator(request, end(params, "suspended")))
      .handleRaw("revokeOrgLicence", ({ request, params }) => forOperator(request, end(params, "revoked")))
      .handleRaw("orgBudgets", ({ request, params: { org } }) => forOperator(request, orgBudgets(org)))
      .handleRaw("orgUsage", ({ request, params: { org }, query }) =>
        forOperator(
          request,
          Effect.andThen(
            knownOrg(catalogue, org),
            Effect.flatMap(pageOf(query), (page) => statements.usage(org, page)),
          ),
        ),
      )
  }),
)

/** The actor in audit records of requests with the admin key. */
const operator: Actor = { type: "service", id: "admin" }
