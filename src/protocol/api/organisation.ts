/** Routes with which owners and admins manage their own organisation. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { KeyList, KeyMinted, KeyRotated, KeyRotation, KeyUpdate, OwnKeyMint } from "../control/admin-directory.ts"
import {
  AppList,
  AppRecord,
  AppUpdate,
  InvitedMember,
  MemberList,
  MemberRecord,
  MemberUpdate,
  OwnAppCreate,
  OwnMemberCreate,
  OwnTeamCreate,
  TeamList,
  TeamRecord,
  TeamUpdate,
} from "../control/tenants.ts"
import { PathId } from "../values/text.ts"
import { bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { bearerHeaders, ifMatch, pageQuery, searchQuery } from "./parameters.ts"

const errors = [...everywhere, ...bearerErrors] as const
const listing = { headers: bearerHeaders, query: { ...pageQuery, ...searchQuery }, error: errorsOf(errors) }
const creating = {
  headers: bearerHeaders,
  error: errorsOf([...errors, "conflict", "plan_members_exceeded", "plan_apps_exceeded"]),
}
const changing = {
  headers: { ...bearerHeaders, ...ifMatch },
  params: { id: PathId },
  error: errorsOf([...errors, "conflict"]),
}
const annotations = (summary: string, description = "Requires owner or admin. Audited.") =>
  OpenApi.annotations({ summary, description })

export class Organisation extends HttpApiGroup.make("organisation")
  .add(
    HttpApiEndpoint.get("ownMembers", "/v1/members", { ...listing, success: MemberList }).annotateMerge(
      annotations("List the organisation's members", "Requires owner or admin."),
    ),
  )
  .add(
    HttpApiEndpoint.post("inviteMember", "/v1/members", {
      ...creating,
      payload: OwnMemberCreate,
      success: InvitedMember,
    }).annotateMerge(
      annotations("Invite a person, by mail", "Requires owner or admin; only owners invite owners. Audited."),
    ),
  )
  .add(
    HttpApiEndpoint.patch("updateOwnMember", "/v1/members/:id", {
      ...changing,
      payload: MemberUpdate,
      success: MemberRecord,
    }).annotateMerge(
      annotations("Change a member's role, or disable a member", "Requires owner or admin; only owners change owners."),
    ),
  )
  .add(
    HttpApiEndpoint.delete("removeMember", "/v1/members/:id", {
      ...changing,
      success: HttpApiSchema.NoContent,
    }).annotateMerge(
      annotations("Remove a member", "Members may remove themselves; the last owner cannot leave. Audited."),
    ),
  )
  .add(
    HttpApiEndpoint.get("ownTeams", "/v1/teams", { ...listing, success: TeamList }).annotateMerge(
      annotations("List the organisation's teams", "Requires owner or admin."),
    ),
  )
  .add(
    HttpApiEndpoint.post("createOwnTeam", "/v1/teams", {
      ...creating,
      payload: OwnTeamCreate,
      success: TeamRecord,
    }).annotateMerge(annotations("Create a team")),
  )
  .add(
    HttpApiEndpoint.patch("updateOwnTeam", "/v1/teams/:id", {
      ...changing,
      payload: TeamUpdate,
      success: TeamRecord,
    }).annotateMerge(annotations("Change a team")),
  )
  .add(
    HttpApiEndpoint.delete("deleteOwnTeam", "/v1/teams/:id", {
      ...changing,
      success: HttpApiSchema.NoContent,
    }).annotateMerge(annotations("Delete a team")),
  )
  .add(
    HttpApiEndpoint.get("ownApps", "/v1/apps", { ...listing, success: AppList }).annotateMerge(
      annotations("List the organisation's applications", "Requires owner or admin."),
    ),
  )
  .add(
    HttpApiEndpoint.post("createOwnApp", "/v1/apps", {
      ...creating,
      payload: OwnAppCreate,
      success: AppRecord,
    }).annotateMerge(annotations("Create an application")),
  )
  .add(
    HttpApiEndpoint.patch("updateOwnApp", "/v1/apps/:id", {
      ...changing,
      payload: AppUpdate,
      success: AppRecord,
    }).annotateMerge(annotations("Change an application")),
  )
  .add(
    HttpApiEndpoint.delete("deleteOwnApp", "/v1/apps/:id", {
      ...changing,
      success: HttpApiSchema.NoContent,
    }).annotateMerge(annotations("Delete an application and revoke its keys")),
  )
  .add(
    HttpApiEndpoint.get("ownKeys", "/v1/keys", {
      headers: bearerHeaders,
      query: { ...pageQuery, search: searchQuery.search },
      success: KeyList,
      error: errorsOf(errors),
    }).annotateMerge(
      annotations("List keys of the organisation's applications, newest first", "Requires owner or admin."),
    ),
  )
  .add(
    HttpApiEndpoint.post("mintOwnKey", "/v1/keys", {
      headers: bearerHeaders,
      payload: OwnKeyMint,
      success: KeyMinted,
      error: errorsOf([...errors, "conflict"]),
    }).annotateMerge(
      annotations("Mint a key for an application", "Requires owner or admin. The secret is shown once. Audited."),
    ),
  )
  .add(
    HttpApiEndpoint.patch("changeOwnKey", "/v1/keys/:id", {
      headers: bearerHeaders,
      params: { id: PathId },
      payload: KeyUpdate,
      success: HttpApiSchema.NoContent,
      error: errorsOf([...errors, "conflict"]),
    }).annotateMerge(annotations("Change a key: its name, models, rates and end", "Requires owner or admin. Audited.")),
  )
  .add(
    HttpApiEndpoint.post("rotateOwnKey", "/v1/keys/:id/rotate", {
      headers: bearerHeaders,
      params: { id: PathId },
      payload: KeyRotation,
      success: KeyRotated,
      error: errorsOf([...errors, "conflict"]),
    }).annotateMerge(
      annotations(
        "Give a key a new secret",
        "Requires owner or admin. The former secret works on for `graceS`; budgets, rates and records stay. Audited.",
      ),
    ),
  )
  .add(
    HttpApiEndpoint.post("revokeOwnKey", "/v1/keys/:id/revoke", {
      headers: bearerHeaders,
      params: { id: PathId },
      success: HttpApiSchema.NoContent,
      error: errorsOf(errors),
    }).annotateMerge(annotations("Revoke a key for good")),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Organisation",
      description: "Members, teams, applications and keys of the caller's organisation",
    }),
  ) {}
