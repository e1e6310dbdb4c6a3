/** Admin routes for organisations, teams, members and applications, one by one and in batches. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  AppCreate,
  AppList,
  AppRecord,
  AppUpdate,
  MemberCreate,
  MemberList,
  MemberRecord,
  MemberUpdate,
  OrgCreate,
  OrgRecord,
  OrgUpdate,
  TeamCreate,
  TeamList,
  TeamRecord,
  TeamUpdate,
  TenantBatch,
  TenantBatchReply,
} from "../control/tenants.ts"
import { PathId } from "../values/text.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { adminHeaders, ifMatch, pageQuery, parameter, searchQuery } from "./parameters.ts"

const errors = [...everywhere, "admin_key_invalid"] as const
const limits = ["plan_members_exceeded", "plan_apps_exceeded"] as const
const creating = { headers: adminHeaders, error: errorsOf([...errors, "not_found", "conflict", ...limits]) }
const one = { headers: adminHeaders, params: { id: PathId }, error: errorsOf([...errors, "not_found"]) }
const changing = {
  ...one,
  headers: { ...adminHeaders, ...ifMatch },
  error: errorsOf([...errors, "not_found", "conflict"]),
}
const listing = {
  headers: adminHeaders,
  query: { ...pageQuery, ...searchQuery, org: parameter("Only of this organisation") },
  error: errorsOf(errors),
}
const summary = (text: string) => OpenApi.annotations({ summary: text })
const onlyByFile = "409 if the catalogue file declares it, or if `If-Match` names an older revision. Audited."

const closing = `Closes it with all that belongs to it and revokes its keys. Its books are kept, and its id cannot be used again. ${onlyByFile}`

export class AdminTenants extends HttpApiGroup.make("adminTenants")
  .add(
    HttpApiEndpoint.post("createOrg", "/v1/admin/orgs", {
      ...creating,
      payload: OrgCreate,
      success: OrgRecord,
    }).annotateMerge(summary("Create an organisation. Audited.")),
  )
  .add(
    HttpApiEndpoint.get("readOrg", "/v1/admin/orgs/:id", { ...one, success: OrgRecord }).annotateMerge(
      summary("Read an organisation"),
    ),
  )
  .add(
    HttpApiEndpoint.patch("updateOrg", "/v1/admin/orgs/:id", {
      ...changing,
      payload: OrgUpdate,
      success: OrgRecord,
    }).annotateMerge(OpenApi.annotations({ summary: "Update an organisation", description: onlyByFile })),
  )
  .add(
    HttpApiEndpoint.delete("deleteOrg", "/v1/admin/orgs/:id", {
      ...changing,
      success: HttpApiSchema.NoContent,
    }).annotateMerge(OpenApi.annotations({ summary: "Delete an organisation", description: closing })),
  )
  .add(
    HttpApiEndpoint.get("listTeams", "/v1/admin/teams", { ...listing, success: TeamList }).annotateMerge(
      summary("List teams, by id"),
    ),
  )
  .add(
    HttpApiEndpoint.post("createTeam", "/v1/admin/teams", {
      ...creating,
      payload: TeamCreate,
      success: TeamRecord,
    }).annotateMerge(summary("Create a team. Audited.")),
  )
  .add(
    HttpApiEndpoint.get("readTeam", "/v1/admin/teams/:id", { ...one, success: TeamRecord }).annotateMerge(
      summary("Read a team"),
    ),
  )
  .add(
    HttpApiEndpoint.patch("updateTeam", "/v1/admin/teams/:id", {
      ...changing,
      payload: TeamUpdate,
      success: TeamRecord,
    }).annotateMerge(OpenApi.annotations({ summary: "Update a team", description: onlyByFile })),
  )
  .add(
    HttpApiEndpoint.delete("deleteTeam", "/v1/admin/teams/:id", {
      ...changing,
      success: HttpApiSchema.NoContent,
    }).annotateMerge(OpenApi.annotations({ summary: "Delete a team", description: onlyByFile })),
  )
  .add(
    HttpApiEndpoint.get("listMembers", "/v1/admin/members", { ...listing, success: MemberList }).annotateMerge(
      summary("List members, by id"),
    ),
  )
  .add(
    HttpApiEndpoint.post("createMember", "/v1/admin/members", {
      ...creating,
      payload: MemberCreate,
      success: MemberRecord,
    }).annotateMerge(summary("Create a member. Audited.")),
  )
  .add(
    HttpApiEndpoint.get("readMember", "/v1/admin/members/:id", { ...one, success: MemberRecord }).annotateMerge(
      summary("Read a member"),
    ),
  )
  .add(
    HttpApiEndpoint.patch("updateMember", "/v1/admin/members/:id", {
      ...changing,
      payload: MemberUpdate,
      success: MemberRecord,
    }).annotateMerge(OpenApi.annotations({ summary: "Update a member", description: onlyByFile })),
  )
  .add(
    HttpApiEndpoint.delete("deleteMember", "/v1/admin/members/:id", {
      ...changing,
      success: HttpApiSchema.NoContent,
    }).annotateMerge(OpenApi.annotations({ summary: "Delete a member", description: onlyByFile })),
  )
  .add(
    HttpApiEndpoint.get("listApps", "/v1/admin/apps", { ...listing, success: AppList }).annotateMerge(
      summary("List applications, by id"),
    ),
  )
  .add(
    HttpApiEndpoint.post("createApp", "/v1/admin/apps", {
      ...creating,
      payload: AppCreate,
      success: AppRecord,
    }).annotateMerge(summary("Create an application. Audited.")),
  )
  .add(
    HttpApiEndpoint.get("readApp", "/v1/admin/apps/:id", { ...one, success: AppRecord }).annotateMerge(
      summary("Read an application"),
    ),
  )
  .add(
    HttpApiEndpoint.patch("updateApp", "/v1/admin/apps/:id", {
      ...changing,
      payload: AppUpdate,
      success: AppRecord,
    }).annotateMerge(OpenApi.annotations({ summary: "Update an application", description: onlyByFile })),
  )
  .add(
    HttpApiEndpoint.delete("deleteApp", "/v1/admin/apps/:id", {
      ...changing,
      success: HttpApiSchema.NoContent,
    }).annotateMerge(OpenApi.annotations({ summary: "Delete an application", description: onlyByFile })),
  )
  .add(
    HttpApiEndpoint.post("tenantBatch", "/v1/admin/tenants:batch", {
      headers: {
        ...adminHeaders,
        "idempotency-key": parameter("The same batch again under the same key changes nothing"),
      },
      payload: TenantBatch,
      success: TenantBatchReply,
      error: errorsOf([...errors, "idempotency_conflict"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Create, update and delete up to 1,000 tenants",
        description: "Each item has its own result, in the order of the batch. Audited.",
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Administration: tenants",
      description: "Organisations, teams, members and applications; requires the admin key",
    }),
  ) {}
