/**
 * Permissions: every control route with every kind of caller, and the status that it gives. The matrix is printed. The
 * roles are owner, admin and member.
 */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { useGateway } from "../support/gateway.ts"

const tag = randomUUID().slice(0, 8)
const ids = newTestIds()
const other = newTestIds()
const email = (name: string) => `${name}.${tag}@example.com`
const gateway = useGateway({
  ids,
  config: { authPerMinute: 1_000_000 },
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      [
        "users:",
        ...["owner", "admin", "member"].map(
          (role) => `  - { id: ${role}_${tag}, email: ${email(role)}, org: ${ids.org}, role: ${role} }`,
        ),
        `  - { id: foreign_${tag}, email: ${email("foreign")}, org: ${other.org}, role: owner }`,
        `teams: [{ id: core_${tag}, org: ${ids.org}, members: [member_${tag}] }]`,
      ].join("\n"),
    ).replace("apps:\n", `  - { id: ${other.org}, name: Other, plan: team, currency: USD, models: [main] }\napps:\n`),
})

/** In the order of the matrix's columns. */
const principals = [
  "nobody",
  "key",
  "foreign",
  "member",
  "admin",
  "owner",
  "pat",
  "runtime",
  "org",
  "operator",
] as const
type Principal = (typeof principals)[number]
const headers: Partial<Record<Principal, Record<string, string | undefined>>> = {}

beforeAll(async () => {
  const anonymous = { "x-svc-key-id": undefined, "x-svc-key": undefined, "x-svc-org": ids.org }
  const bearer = (token: string) => ({ ...anonymous, authorization: `Bearer ${token}` })
  headers.nobody = anonymous
  headers.key = { "x-svc-org": ids.org }
  headers.operator = { ...anonymous, "x-svc-admin-key": gateway().adminKey }
  let ownerId = ""
  for (const role of ["foreign", "member", "admin", "owner"] as const) {
    const { accessToken, account } = await gateway().logIn(email(role))
    headers[role] = bearer(accessToken)
    ownerId = account.id
  }
  const issue = async (scopes: ReadonlyArray<"control" | "runtime">, userId?: string) =>
    bearer(
      (await Effect.runPromise(gateway().accessTokens.issue({ kind: "pat", orgId: ids.org, scopes, userId }))).secret,
    )
  headers.pat = await issue(["control"], ownerId)
  headers.runtime = await issue(["runtime"], ownerId)
  headers.org = await issue(["control"])
})

type Row = readonly [method: string, path: string, body: unknown, statuses: string]

const app = `/v1/apps/${ids.app}/config`
const ownBudget = { scope: "org", unit: "money", period: "month", limit: "1000000" }
const site = `site.${tag}`
/**
 * A status for each principal, in their order. With a body that is wrong on purpose, 400 and 404 mean that
 * authorisation passed.
 */
const matrix: ReadonlyArray<Row> = [
  ["GET", "/v1/me", undefined, "401 401 200 200 200 200 200 403 200 401"],
  ["POST", "/v1/invitations/unheard/accept", undefined, "401 401 404 404 404 404 403 403 403 401"],
  ["POST", "/v1/invitations/unheard/decline", undefined, "401 401 404 404 404 404 403 403 403 401"],
  ["GET", "/v1/search-providers", undefined, "401 401 404 200 200 200 200 403 200 401"],
  ["GET", "/v1/plan/usage", undefined, "401 401 404 200 200 200 200 403 200 401"],
  ["GET", app, undefined, "401 401 404 200 200 200 200 403 200 401"],
  ["PUT", app, {}, "401 401 404 403 200 200 200 403 200 401"],
  ["GET", "/v1/tokens", undefined, "401 401 404 200 200 200 200 403 200 401"],
  ["POST", "/v1/tokens", { name: "t", scopes: ["runtime"] }, "401 401 404 200 200 200 403 403 403 401"],
  ["POST", "/v1/tokens", { name: "t", scopes: ["runtime"], owner: "org" }, "401 401 404 403 200 200 403 403 403 401"],
  ["DELETE", "/v1/tokens/tok_unheard", undefined, "401 401 404 404 404 404 404 403 404 401"],
  ["GET", "/v1/config/effective", undefined, "401 401 404 200 200 200 200 403 200 401"],
  ["GET", "/v1/config/effective?as=org", undefined, "401 401 404 403 200 200 200 403 200 401"],
  ["GET", "/v1/config/shadow-report", undefined, "401 401 404 403 200 200 200 403 200 401"],
  ["GET", `/v1/config-revisions?scope=org&keyPath=${site}`, undefined, "401 401 404 403 200 200 200 403 200 401"],
  ["GET", `/v1/config-revisions?scope=user&keyPath=${site}`, undefined, "401 401 404 200 200 200 200 403 403 401"],
  ["GET", `/v1/admin/config-revisions?keyPath=${site}`, undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", "/v1/config/platform", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["PUT", `/v1/config/platform/${site}`, { value: 1 }, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", "/v1/config/org", undefined, "401 401 404 403 200 200 200 403 200 401"],
  ["PUT", `/v1/config/org/${site}`, { value: 1 }, "401 401 404 403 200 200 200 403 200 401"],
  ["PUT", `/v1/config/team/${site}?team=core_${tag}`, { value: 1 }, "401 401 404 403 200 200 200 403 200 401"],
  ["PUT", `/v1/config/user/${site}`, { value: 1 }, "401 401 404 200 200 200 200 403 403 401"],
  ["DELETE", "/v1/config/org/site.unheard", undefined, "401 401 404 403 404 404 404 403 404 401"],
  ["GET", "/v1/org-licenses", undefined, "401 401 404 403 200 200 200 403 200 401"],
  ["POST", "/v1/org-licenses", { appId: ids.app }, "401 401 404 403 200 200 200 403 200 401"],
  ["POST", "/v1/org-licenses/activate", { code: "no" }, "401 401 400 400 400 400 403 403 403 401"],
  ["POST", "/v1/org-licenses/lc_unheard/revoke", undefined, "401 401 404 403 404 404 404 403 404 401"],
  ["POST", "/v1/org-licenses/lc_unheard/suspend", undefined, "401 401 404 403 404 404 404 403 404 401"],
  ["GET", "/v1/usage", undefined, "401 401 404 403 200 200 200 403 200 401"],
  ["GET", "/v1/budgets", undefined, "401 401 404 200 200 200 200 403 200 401"],
  ["GET", "/v1/policies", undefined, "401 401 404 403 200 200 200 403 200 401"],
  ["POST", "/v1/policies/test", { text: "Hi" }, "401 401 404 403 200 200 200 403 200 401"],
  ["PUT", "/v1/budgets/own", ownBudget, "401 401 404 403 200 200 200 403 200 401"],
  ["DELETE", "/v1/budgets/unheard", undefined, "401 401 404 403 404 404 404 403 404 401"],
  ["GET", "/v1/ledger", undefined, "401 401 404 403 200 200 200 403 200 401"],
  ["POST", "/v1/auth/device/approve", { userCode: "x", approve: true }, "401 401 404 404 404 404 403 403 403 401"],
  ["POST", "/v1/app-tokens", { endUserId: "ada" }, "401 200 401 401 401 401 401 401 401 401"],
  ["GET", "/v1/usage.csv", undefined, "401 401 404 403 200 200 200 403 200 401"],
  ["GET", `/v1/admin/orgs/${ids.org}/usage.csv`, undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", "/v1/usage-summary", undefined, "401 401 404 200 200 200 200 403 200 401"],
  ["GET", "/v1/exchanges", undefined, "401 401 404 200 200 200 200 403 200 401"],
  ["GET", "/v1/open-exchanges", undefined, "401 401 404 200 200 200 200 403 200 401"],
  ["GET", "/v1/exchanges/req_unheard?at=2026-01-01", undefined, "401 401 404 404 404 404 404 403 404 401"],
  ["GET", "/v1/plan", undefined, "401 401 404 200 200 200 200 403 200 401"],
  ["GET", `/v1/admin/orgs/${ids.org}/plan`, undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", "/v1/audit", undefined, "401 401 404 403 200 200 200 403 200 401"],
  ["GET", "/v1/admin/usage-summary?by=org", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", "/v1/admin/exchanges", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", "/v1/admin/open-exchanges", undefined, "401 401 401 401 401 401 401 401 401 200"],
  [
    "GET",
    `/v1/admin/orgs/${ids.org}/exchanges/req_unheard?at=2026-01-01`,
    undefined,
    "401 401 401 401 401 401 401 401 401 404",
  ],
  ["GET", `/v1/admin/orgs/${ids.org}/plan-usage`, undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", "/v1/admin/targets", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", "/v1/admin/prices", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", "/v1/admin/catalogue", undefined, "401 401 401 401 401 401 401 401 401 200"],
  [
    "POST",
    "/v1/admin/catalogue/events",
    { text: "version: 1", dryRun: true },
    "401 401 401 401 401 401 401 401 401 200",
  ],
  ["GET", "/v1/admin/catalogue/revisions", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", "/v1/admin/catalogue/revisions/999999", undefined, "401 401 401 401 401 401 401 401 401 404"],
  ["GET", "/v1/admin/audit", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", "/v1/admin/doctor", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", "/v1/admin/tier-times?from=2026-01-01", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", "/v1/admin/search?search=x", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", "/v1/admin/audit/verify", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", `/v1/admin/ledger/${ids.org}`, undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", `/v1/admin/orgs/${ids.org}/upstream-keys`, undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", `/v1/admin/orgs/${ids.org}/responses`, undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["DELETE", `/v1/admin/orgs/${ids.org}/responses`, undefined, "401 401 401 401 401 401 401 401 401 400"],
  ["DELETE", `/v1/admin/orgs/${ids.org}/responses/unheard`, undefined, "401 401 401 401 401 401 401 401 401 404"],
  ["GET", "/v1/admin/orgs", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", "/v1/admin/users", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["POST", "/v1/admin/users/usr_unheard/disable", undefined, "401 401 401 401 401 401 401 401 401 404"],
  ["POST", "/v1/admin/users/usr_unheard/enable", undefined, "401 401 401 401 401 401 401 401 401 404"],
  ["GET", "/v1/admin/keys", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["POST", "/v1/admin/keys", {}, "401 401 401 401 401 401 401 401 401 400"],
  ["POST", "/v1/admin/keys/key_unheard/revoke", undefined, "401 401 401 401 401 401 401 401 401 404"],
  ["GET", `/v1/admin/orgs/${ids.org}/licences`, undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["POST", `/v1/admin/orgs/${ids.org}/licences`, {}, "401 401 401 401 401 401 401 401 401 400"],
  [
    "POST",
    `/v1/admin/orgs/${ids.org}/licences/lc_unheard/suspend`,
    undefined,
    "401 401 401 401 401 401 401 401 401 404",
  ],
  [
    "POST",
    `/v1/admin/orgs/${ids.org}/licences/lc_unheard/revoke`,
    undefined,
    "401 401 401 401 401 401 401 401 401 404",
  ],
  ["GET", `/v1/admin/orgs/${ids.org}/usage`, undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["GET", `/v1/admin/orgs/${ids.org}/budgets`, undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["POST", "/v1/admin/orgs", {}, "401 401 401 401 401 401 401 401 401 400"],
  ["GET", "/v1/admin/orgs/unheard", undefined, "401 401 401 401 401 401 401 401 401 404"],
  ["PATCH", "/v1/admin/orgs/unheard", {}, "401 401 401 401 401 401 401 401 401 404"],
  ["DELETE", "/v1/admin/orgs/unheard", undefined, "401 401 401 401 401 401 401 401 401 404"],
  ["PUT", `/v1/admin/orgs/${ids.org}/budgets/b`, {}, "401 401 401 401 401 401 401 401 401 400"],
  ["DELETE", `/v1/admin/orgs/${ids.org}/budgets/b`, undefined, "401 401 401 401 401 401 401 401 401 404"],
  ["GET", "/v1/admin/teams", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["POST", "/v1/admin/teams", {}, "401 401 401 401 401 401 401 401 401 400"],
  ["GET", "/v1/admin/teams/unheard", undefined, "401 401 401 401 401 401 401 401 401 404"],
  ["PATCH", "/v1/admin/teams/unheard", {}, "401 401 401 401 401 401 401 401 401 404"],
  ["DELETE", "/v1/admin/teams/unheard", undefined, "401 401 401 401 401 401 401 401 401 404"],
  ["GET", "/v1/admin/members", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["POST", "/v1/admin/members", {}, "401 401 401 401 401 401 401 401 401 400"],
  ["GET", "/v1/admin/members/unheard", undefined, "401 401 401 401 401 401 401 401 401 404"],
  ["PATCH", "/v1/admin/members/unheard", {}, "401 401 401 401 401 401 401 401 401 404"],
  ["DELETE", "/v1/admin/members/unheard", undefined, "401 401 401 401 401 401 401 401 401 404"],
  ["GET", "/v1/admin/apps", undefined, "401 401 401 401 401 401 401 401 401 200"],
  ["POST", "/v1/admin/apps", {}, "401 401 401 401 401 401 401 401 401 400"],
  ["GET", "/v1/admin/apps/unheard", undefined, "401 401 401 401 401 401 401 401 401 404"],
  ["PATCH", "/v1/admin/apps/unheard", {}, "401 401 401 401 401 401 401 401 401 404"],
  ["DELETE", "/v1/admin/apps/unheard", undefined, "401 401 401 401 401 401 401 401 401 404"],
  ["POST", "/v1/admin/tenants:batch", {}, "401 401 401 401 401 401 401 401 401 400"],
  ["GET", "/v1/members", undefined, "401 401 404 403 200 200 200 403 200 401"],
  ["POST", "/v1/members", { org: "x" }, "401 401 404 403 400 400 400 403 400 401"],
  ["PATCH", "/v1/members/unheard", {}, "401 401 404 403 404 404 404 403 404 401"],
  ["DELETE", "/v1/members/unheard", undefined, "401 401 404 403 404 404 404 403 404 401"],
  ["GET", "/v1/teams", undefined, "401 401 404 403 200 200 200 403 200 401"],
  ["POST", "/v1/teams", { org: "x" }, "401 401 404 403 400 400 400 403 400 401"],
  ["PATCH", "/v1/teams/unheard", {}, "401 401 404 403 404 404 404 403 404 401"],
  ["DELETE", "/v1/teams/unheard", undefined, "401 401 404 403 404 404 404 403 404 401"],
  ["GET", "/v1/apps", undefined, "401 401 404 403 200 200 200 403 200 401"],
  ["POST", "/v1/apps", { org: "x" }, "401 401 404 403 400 400 400 403 400 401"],
  ["PATCH", "/v1/apps/unheard", {}, "401 401 404 403 404 404 404 403 404 401"],
  ["DELETE", "/v1/apps/unheard", undefined, "401 401 404 403 404 404 404 403 404 401"],
  ["GET", "/v1/keys", undefined, "401 401 404 403 200 200 200 403 200 401"],
  ["POST", "/v1/keys", { app: "unheard" }, "401 401 404 403 404 404 404 403 404 401"],
  ["POST", "/v1/keys/key_unheard/revoke", undefined, "401 401 404 403 404 404 404 403 404 401"],
]

const told: Array<string> = []

describe("the role matrix", () => {
  it.each(matrix)("%s %s %j", async (method, path, body, statuses) => {
    const given: Array<number> = []
    for (const principal of principals) {
      given.push((await gateway().call(method, path, body, headers[principal])).status)
    }
    const shown = path.replaceAll(ids.app, "ID").replaceAll(ids.org, "ID").replaceAll(tag, "x")
    told.push(`${`${method} ${shown}`.padEnd(56)} ${given.map((status) => String(status).padStart(8)).join(" ")}`)
    expect(given.join(" ")).toBe(statuses)
  })

  afterAll(() => {
    const heads = principals.map((principal) => principal.padStart(8)).join(" ")
    process.stdout.write(`\n${"route".padEnd(56)} ${heads}\n${told.join("\n")}\n`)
  })
})
