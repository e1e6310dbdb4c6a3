/** Admin routes for organisations, people, keys and licences. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AdminUser, KeyList, KeyMint, KeyMinted, OrgList, UserList } from "../admin-directory.ts"
import { LicenseIssue, LicenseIssued, LicenseList, LicenseReply } from "../licence.ts"
import { UsageStatement } from "../statement.ts"
import { PathId } from "../text.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { header, adminHeaders as headers } from "./headers.ts"

const adminErrors = [...everywhere, "admin_key_invalid"] as const
const error = errorsOf([...adminErrors, "not_found"])
const org = { org: PathId }
const licence = { org: PathId, id: PathId }
const ofOrg = { org: header("Of this organisation alone") }
const summary = (text: string) => OpenApi.annotations({ summary: text })

export class AdminDirectory extends HttpApiGroup.make("adminDirectory")
  .add(
    HttpApiEndpoint.get("listOrgs", "/v1/admin/orgs", {
      headers,
      success: OrgList,
      error: errorsOf(adminErrors),
    }).annotateMerge(summary("All organisations, with what they have")),
  )
  .add(
    HttpApiEndpoint.get("listUsers", "/v1/admin/users", {
      headers,
      query: ofOrg,
      success: UserList,
      error: errorsOf(adminErrors),
    }).annotateMerge(summary("Everybody whom the catalogue names, and who has logged in")),
  )
  .add(
    HttpApiEndpoint.post("disableUser", "/v1/admin/users/:id/disable", {
      headers,
      params: { id: PathId },
      success: AdminUser,
      error,
    }).annotateMerge(summary("Shut a person out: logins end, tokens stop working; audited")),
  )
  .add(
    HttpApiEndpoint.post("enableUser", "/v1/admin/users/:id/enable", {
      headers,
      params: { id: PathId },
      success: AdminUser,
      error,
    }).annotateMerge(summary("Let a person in again; audited")),
  )
  .add(
    HttpApiEndpoint.get("listKeys", "/v1/admin/keys", {
      headers,
      query: ofOrg,
      success: KeyList,
      error: errorsOf(adminErrors),
    }).annotateMerge(summary("All application keys, newest first")),
  )
  .add(
    HttpApiEndpoint.post("mintKey", "/v1/admin/keys", {
      headers,
      payload: KeyMint,
      success: KeyMinted,
      error: errorsOf([...adminErrors, "not_found", "conflict"]),
    }).annotateMerge(summary("Make a key for an application; its secret is told once; audited")),
  )
  .add(
    HttpApiEndpoint.post("revokeKey", "/v1/admin/keys/:id/revoke", {
      headers,
      params: { id: PathId },
      success: HttpApiSchema.NoContent,
      error,
    }).annotateMerge(summary("End a key for good, a catalogue's too; audited")),
  )
  .add(
    HttpApiEndpoint.get("listOrgLicences", "/v1/admin/orgs/:org/licences", {
      headers,
      params: org,
      success: LicenseList,
      error,
    }).annotateMerge(summary("An organisation's licences")),
  )
  .add(
    HttpApiEndpoint.post("issueOrgLicence", "/v1/admin/orgs/:org/licences", {
      headers,
      params: org,
      payload: LicenseIssue,
      success: LicenseIssued,
      error,
    }).annotateMerge(summary("Issue a licence; its code is told once; audited")),
  )
  .add(
    HttpApiEndpoint.post("suspendOrgLicence", "/v1/admin/orgs/:org/licences/:id/suspend", {
      headers,
      params: licence,
      success: LicenseReply,
      error: errorsOf([...adminErrors, "not_found", "conflict"]),
    }).annotateMerge(summary("Hold a licence up; audited")),
  )
  .add(
    HttpApiEndpoint.post("revokeOrgLicence", "/v1/admin/orgs/:org/licences/:id/revoke", {
      headers,
      params: licence,
      success: LicenseReply,
      error: errorsOf([...adminErrors, "not_found", "conflict"]),
    }).annotateMerge(summary("End a licence for good; audited")),
  )
  .add(
    HttpApiEndpoint.get("orgUsage", "/v1/admin/orgs/:org/usage", {
      headers,
      params: org,
      query: { limit: header("1 to 200, 50 when absent"), cursor: header("The `nextCursor` of the page before") },
      success: UsageStatement,
      error,
    }).annotateMerge(summary("An organisation's billed calls, newest first")),
  )
  .annotateMerge(OpenApi.annotations({ title: "Administration: organisations, people, keys, licences" })) {}
