/** Admin routes for organisations, people, keys and licences. */
import { Effect, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { type Account, Accounts } from "../../identity/accounts.ts"
import { KeyAdmin } from "../../identity/key-admin.ts"
import { Licences } from "../../identity/licences.ts"
import { Books } from "../../money/books.ts"
import { BudgetAdjustments } from "../../money/budgets/budget-adjustments.ts"
import { CallBudgets } from "../../money/budgets/call-budgets.ts"
import { OrgBudgets } from "../../money/budgets/org-budgets.ts"
import { Statements } from "../../money/statements.ts"
import { Api } from "../../protocol/api.ts"
import { Org } from "../../protocol/catalogue/tenant.ts"
import { KeyMint, KeyRotation, KeyUpdate, type OrgList } from "../../protocol/control/admin-directory.ts"
import { BudgetAdjustment } from "../../protocol/control/budget.ts"
import { serviceError } from "../../protocol/error.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { Directory } from "../../tenants/directory.ts"
import { TenantChanges } from "../../tenants/tenant-changes.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { knownOrg, makeForOperator, makeReplyToOperator, maxBodyBytes, operator } from "../operator.ts"
import { type ListQuery, pageOf, searchOf } from "../page-query.ts"
import { type Request, readJson } from "../request.ts"
import { invalidName, isSettableName } from "../tenant-request.ts"
import { usageCsv } from "../usage-csv.ts"
import { isBudgetId, makeReadTerms } from "./budgets.ts"
import { makeIssueLicence } from "./licences.ts"
import { makeSearch } from "./search.ts"

const byOperator = { actor: operator } as const

export const adminDirectoryRoutes = HttpApiBuilder.group(
  Api,
  "adminDirectory",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const replyToOperator = yield* makeReplyToOperator
    const tenants = yield* Tenants
    const directory = yield* Directory
    const changes = yield* TenantChanges
    const accounts = yield* Accounts
    const books = yield* Books
    const callBudgets = yield* CallBudgets
    const keys = yield* KeyAdmin
    const licences = yield* Licences
    const statements = yield* Statements
    const issueLicence = yield* makeIssueLicence
    const ownBudgets = yield* OrgBudgets
    const readTerms = yield* makeReadTerms
    const adjustments = yield* BudgetAdjustments
    const search = yield* makeSearch

    const listOrgs = Effect.fnUntraced(function* (query: ListQuery) {
      const { data, nextCursor } = yield* directory.list("org", yield* searchOf(query))
      const ids = data.map(({ id }) => id)
      const balances = Map.groupBy(yield* books.balances(ids), ({ orgId }) => orgId)
      const sizes = new Map((yield* directory.sizes(ids)).map(({ id, ...counts }) => [id, counts]))
      return {
        data: data.map(({ id, document, status, declared }) => {
          const { name, plan, currency, sso } = decodeOrg(document)
          const has = balances.get(id)?.find((balance) => balance.currency === currency)
          return {
            id,
            name,
            ...(plan !== undefined && { plan }),
            currency,
            available: has?.available ?? "0",
            held: has?.held ?? "0",
            allotted: has?.allotted ?? "0",
            apps: sizes.get(id)?.apps ?? 0,
            members: sizes.get(id)?.members ?? 0,
            sso: sso !== undefined,
            status,
            declared,
          }
        }),
        nextCursor,
      } satisfies OrgList
    })

    /** An organisation that exists or is closed, because the books of closed ones are kept. */
    const everKnown = (org: string) =>
      Effect.flatMap(changes.find("org", org), (found) =>
        found === undefined ? Effect.fail(serviceError("not_found", "The organisation does not exist")) : Effect.void,
      )

    const setStatus = Effect.fnUntraced(function* (id: string, status: Account["status"]) {
      const account = yield* accounts.setStatus(id, status)
      const user = account && (yield* directory.user(account.email))
      return user ?? (yield* serviceError("not_found", "The account does not exist"))
    })

    const mint = Effect.fnUntraced(function* (request: Request) {
      const { app, id, name, scopes = ["runtime"], ...rest } = yield* readJson(KeyMint, request, maxBodyBytes)
      const { expiresAt, requestId, ...limits } = rest
      if (name !== undefined && !isSettableName(name)) return yield* invalidName
      return yield* keys.mint({ app, id, name, scopes, expiresAt, requestId, limits, by: byOperator })
    })

    const changeKey = Effect.fnUntraced(function* (request: Request, id: string) {
      const change = yield* readJson(KeyUpdate, request, maxBodyBytes)
      if (typeof change.name === "string" && !isSettableName(change.name)) return yield* invalidName
      yield* keys.change(id, change, byOperator)
    })

    const rotateKey = (request: Request, id: string) =>
      Effect.flatMap(readJson(KeyRotation, request, maxBodyBytes), (asked) => keys.rotate(id, asked, byOperator))

    const orgBudgets = Effect.fnUntraced(function* (orgId: string) {
      const org = yield* knownOrg(tenants, orgId)
      return { budgets: yield* callBudgets.all(org) }
    })

    const budgetOf = Effect.fnUntraced(function* (org: string, id: string) {
      yield* knownOrg(tenants, org)
      if (!isBudgetId(id)) return yield* invalidInput([{ path: "id", message: "an id without colons is required" }])
      return { orgId: org, id, actor: operator } as const
    })

    const setBudget = Effect.fnUntraced(function* (request: Request, org: string, id: string) {
      const change = yield* budgetOf(org, id)
      const terms = yield* readTerms(request, org)
      yield* ownBudgets.set(change, terms)
      return { id, ...terms }
    })

    const removeBudget = Effect.fnUntraced(function* (org: string, id: string) {
      const isRemoved = yield* ownBudgets.remove(yield* budgetOf(org, id))
      if (!isRemoved) return yield* serviceError("not_found", "The budget does not exist")
    })

    const adjustBudget = Effect.fnUntraced(function* (request: Request, orgId: string, id: string) {
      const { org, budgets } = yield* knownOrg(tenants, orgId)
      const change = yield* readJson(BudgetAdjustment, request, maxBodyBytes)
      return yield* adjustments.adjust({ org, budgets, id, change, actor: operator })
    })

    const end = ({ org, id }: { readonly org: string; readonly id: string }, status: "suspended" | "revoked") =>
      Effect.map(licences.end(org, id, status, operator), (license) => ({ license }))

    return handlers
      .handleRaw("search", ({ request, query }) => forOperator(request, search(query)))
      .handleRaw("listOrgs", ({ request, query }) => forOperator(request, listOrgs(query)))
      .handleRaw("listUsers", ({ request, query }) =>
        forOperator(request, Effect.flatMap(searchOf(query), directory.users)),
      )
      .handleRaw("disableUser", ({ request, params }) => forOperator(request, setStatus(params.id, "disabled")))
      .handleRaw("enableUser", ({ request, params }) => forOperator(request, setStatus(params.id, "active")))
      .handleRaw("listKeys", ({ request, query }) =>
        forOperator(request, Effect.flatMap(searchOf(query), directory.keys)),
      )
      .handleRaw("mintKey", ({ request }) => forOperator(request, mint(request)))
      .handleRaw("revokeKey", ({ request, params }) => forOperator(request, keys.revoke(params.id, byOperator)))
      .handleRaw("changeKey", ({ request, params }) => forOperator(request, changeKey(request, params.id)))
      .handleRaw("rotateKey", ({ request, params }) => forOperator(request, rotateKey(request, params.id)))
      .handleRaw("listOrgLicences", ({ request, params: { org } }) =>
        forOperator(
          request,
          Effect.andThen(
            everKnown(org),
            Effect.map(licences.list(org), (data) => ({ data })),
          ),
        ),
      )
      .handleRaw("issueOrgLicence", ({ request, params }) =>
        forOperator(request, issueLicence(request, params.org, operator)),
      )
      .handleRaw("adjustOrgBudget", ({ request, params }) =>
        forOperator(request, adjustBudget(request, params.org, params.id)),
      )
      .handleRaw("suspendOrgLicence", ({ request, params }) => forOperator(request, end(params, "suspended")))
      .handleRaw("revokeOrgLicence", ({ request, params }) => forOperator(request, end(params, "revoked")))
      .handleRaw("orgBudgets", ({ request, params: { org } }) => forOperator(request, orgBudgets(org)))
      .handleRaw("setOrgBudget", ({ request, params: { org, id } }) =>
        forOperator(request, setBudget(request, org, id)),
      )
      .handleRaw("removeOrgBudget", ({ request, params: { org, id } }) => forOperator(request, removeBudget(org, id)))
      .handleRaw("orgUsageCsv", ({ request, params: { org } }) =>
        replyToOperator(request, Effect.andThen(everKnown(org), usageCsv(statements, org))),
      )
      .handleRaw("orgUsage", ({ request, params: { org }, query }) =>
        forOperator(
          request,
          Effect.andThen(
            everKnown(org),
            Effect.flatMap(pageOf(query), (page) => statements.usage(org, page)),
          ),
        ),
      )
  }),
)

const decodeOrg = Schema.decodeUnknownSync(Org)
