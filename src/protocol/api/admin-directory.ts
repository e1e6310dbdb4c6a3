/** Admin routes for organisations, people, keys and licences. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Budget, BudgetTerms } from "../catalogue/budget.ts"
import {
  AdminUser,
  KeyList,
  KeyMint,
  KeyMinted,
  KeyRotated,
  KeyRotation,
  KeyUpdate,
  OrgList,
  UserList,
} from "../control/admin-directory.ts"
import { BudgetAdjustment, BudgetState, Budgets } from "../control/budget.ts"
import { LicenseIssue, LicenseIssued, LicenseList, LicenseReply } from "../control/licence.ts"
import { SearchResults } from "../control/search.ts"
import { Csv, UsageStatement } from "../control/statement.ts"
import { PathId } from "../values/text.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { adminHeaders as headers, pageQuery, parameter, searchQuery } from "./parameters.ts"

const adminErrors = [...everywhere, "admin_key_invalid"] as const
const error = errorsOf([...adminErrors, "not_found"])
const org = { org: PathId }
const licence = { org: PathId, id: PathId }
const ofOrg = { ...pageQuery, org: parameter("Only of this organisation") }
const summary = (text: string) => OpenApi.annotations({ summary: text })

export class AdminDirectory extends HttpApiGroup.make("adminDirectory")
  .add(
    HttpApiEndpoint.get("search", "/v1/admin/search", {
      headers,
      query: { search: parameter("The beginning of an id or a name; of an exchange, the whole id") },
      success: SearchResults,
      error: errorsOf(adminErrors),
    }).annotateMerge(summary("Search organisations, applications, keys and exchanges")),
  )
  .add(
    HttpApiEndpoint.get("orgBudgets", "/v1/admin/orgs/:org/budgets", {
      headers,
      params: org,
      success: Budgets,
      error,
    }).annotateMerge(summary("List an organisation's budgets and what is left of them")),
  )
  .add(
    HttpApiEndpoint.put("setOrgBudget", "/v1/admin/orgs/:org/budgets/:id", {
      headers,
      params: { ...org, id: PathId },
      payload: BudgetTerms,
      success: Budget,
      error: errorsOf([...adminErrors, "not_found", "limit_exceeded"]),
    }).annotateMerge(summary("Set a budget of the platform for an organisation, which cannot change it. Audited.")),
  )
  .add(
    HttpApiEndpoint.post("adjustOrgBudget", "/v1/admin/orgs/:org/budgets/:id/adjust", {
      headers,
      params: { ...org, id: PathId },
      payload: BudgetAdjustment,
      success: BudgetState,
      error,
    }).annotateMerge(summary("Reset or raise a budget of an organisation in its present period. Audited.")),
  )
  .add(
    HttpApiEndpoint.delete("removeOrgBudget", "/v1/admin/orgs/:org/budgets/:id", {
      headers,
      params: { ...org, id: PathId },
      success: HttpApiSchema.NoContent,
      error,
    }).annotateMerge(summary("Remove a budget of the platform for an organisation. Audited.")),
  )
  .add(
    HttpApiEndpoint.get("listOrgs", "/v1/admin/orgs", {
      headers,
      query: { ...pageQuery, ...searchQuery },
      success: OrgList,
      error: errorsOf(adminErrors),
    }).annotateMerge(summary("List organisations with their balances, by id")),
  )
  .add(
    HttpApiEndpoint.get("listUsers", "/v1/admin/users", {
      headers,
      query: { ...ofOrg, search: searchQuery.search },
      success: UserList,
      error: errorsOf(adminErrors),
    }).annotateMerge(summary("List members of organisations and people who have logged in, by address")),
  )
  .add(
    HttpApiEndpoint.post("disableUser", "/v1/admin/users/:id/disable", {
      headers,
      params: { id: PathId },
      success: AdminUser,
      error,
    }).annotateMerge(summary("Disable a person: ends their logins and rejects their tokens. Audited.")),
  )
  .add(
    HttpApiEndpoint.post("enableUser", "/v1/admin/users/:id/enable", {
      headers,
      params: { id: PathId },
      success: AdminUser,
      error,
    }).annotateMerge(summary("Enable a person again. Audited.")),
  )
  .add(
    HttpApiEndpoint.get("listKeys", "/v1/admin/keys", {
      headers,
      query: { ...ofOrg, search: searchQuery.search },
      success: KeyList,
      error: errorsOf(adminErrors),
    }).annotateMerge(summary("List application keys, newest first")),
  )
  .add(
    HttpApiEndpoint.post("mintKey", "/v1/admin/keys", {
      headers,
      payload: KeyMint,
      success: KeyMinted,
      error: errorsOf([...adminErrors, "not_found", "conflict"]),
    }).annotateMerge(summary("Mint a key for an application. The secret is shown once. Audited.")),
  )
  .add(
    HttpApiEndpoint.patch("changeKey", "/v1/admin/keys/:id", {
      headers,
      params: { id: PathId },
      payload: KeyUpdate,
      success: HttpApiSchema.NoContent,
      error: errorsOf([...adminErrors, "not_found", "conflict"]),
    }).annotateMerge(summary("Change a key that no catalogue declares: its name, models, rates and end. Audited.")),
  )
  .add(
    HttpApiEndpoint.post("rotateKey", "/v1/admin/keys/:id/rotate", {
      headers,
      params: { id: PathId },
      payload: KeyRotation,
      success: KeyRotated,
      error: errorsOf([...adminErrors, "not_found", "conflict"]),
    }).annotateMerge(summary("Give a key a new secret; the former one works on for its grace. Audited.")),
  )
  .add(
    HttpApiEndpoint.post("revokeKey", "/v1/admin/keys/:id/revoke", {
      headers,
      params: { id: PathId },
      success: HttpApiSchema.NoContent,
      error,
    }).annotateMerge(summary("Revoke a key for good, including a key of the catalogue. Audited.")),
  )
  .add(
    HttpApiEndpoint.get("listOrgLicences", "/v1/admin/orgs/:org/licences", {
      headers,
      params: org,
      success: LicenseList,
      error,
    }).annotateMerge(summary("List an organisation's licences")),
  )
  .add(
    HttpApiEndpoint.post("issueOrgLicence", "/v1/admin/orgs/:org/licences", {
      headers,
      params: org,
      payload: LicenseIssue,
      success: LicenseIssued,
      error,
    }).annotateMerge(summary("Issue a licence. Its code is returned once. Audited.")),
  )
  .add(
    HttpApiEndpoint.post("suspendOrgLicence", "/v1/admin/orgs/:org/licences/:id/suspend", {
      headers,
      params: licence,
      success: LicenseReply,
      error: errorsOf([...adminErrors, "not_found", "conflict"]),
    }).annotateMerge(summary("Suspend a licence. Audited.")),
  )
  .add(
    HttpApiEndpoint.post("revokeOrgLicence", "/v1/admin/orgs/:org/licences/:id/revoke", {
      headers,
      params: licence,
      success: LicenseReply,
      error: errorsOf([...adminErrors, "not_found", "conflict"]),
    }).annotateMerge(summary("Revoke a licence for good. Audited.")),
  )
  .add(
    HttpApiEndpoint.get("orgUsage", "/v1/admin/orgs/:org/usage", {
      headers,
      params: org,
      query: pageQuery,
      success: UsageStatement,
      error,
    }).annotateMerge(summary("List an organisation's usage records, newest first")),
  )
  .add(
    HttpApiEndpoint.get("orgUsageCsv", "/v1/admin/orgs/:org/usage.csv", {
      headers,
      params: org,
      success: Csv,
      error,
    }).annotateMerge(summary("Get all usage records of an organisation that are kept as CSV, newest first")),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Administration: organisations, people, keys, licences",
      description: "Organisations, people, keys and licences; requires the admin key",
    }),
  ) {}
