/** Routes of directory tokens: an organisation's own, and those for operators. The SCIM routes describe themselves. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ScimState, ScimToken } from "../control/scim.ts"
import { PathId } from "../values/text.ts"
import { bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { adminHeaders, bearerHeaders } from "./parameters.ts"

const ofMember = { headers: bearerHeaders, error: errorsOf([...everywhere, ...bearerErrors]) }
const ofOperator = {
  headers: adminHeaders,
  params: { org: PathId },
  error: errorsOf([...everywhere, "admin_key_invalid", "not_found"]),
}
const annotations = (summary: string, description: string) => OpenApi.annotations({ summary, description })
const once = "The token is returned once, and replaces the former one. Audited."
const own = "Requires owner or admin. The token of an admin cannot make, change or remove owners."

export class ScimRoutes extends HttpApiGroup.make("scim")
  .add(
    HttpApiEndpoint.get("ownScim", "/v1/scim", { ...ofMember, success: ScimState }).annotateMerge(
      annotations("Show whether a directory may call the SCIM routes", "Requires owner or admin."),
    ),
  )
  .add(
    HttpApiEndpoint.post("enableOwnScim", "/v1/scim", { ...ofMember, success: ScimToken }).annotateMerge(
      annotations("Create the token of the organisation's directory", `${own} ${once}`),
    ),
  )
  .add(
    HttpApiEndpoint.delete("disableOwnScim", "/v1/scim", {
      ...ofMember,
      success: HttpApiSchema.NoContent,
    }).annotateMerge(annotations("End the token of the organisation's directory", "Requires owner or admin. Audited.")),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Directory",
      description: "The token with which an organisation's directory provisions people, by SCIM 2.0 at `/scim/v2`",
    }),
  ) {}

export class AdminScim extends HttpApiGroup.make("adminScim")
  .add(
    HttpApiEndpoint.get("orgScim", "/v1/admin/orgs/:org/scim", { ...ofOperator, success: ScimState }).annotateMerge(
      OpenApi.annotations({ summary: "Show whether an organisation's directory may call the SCIM routes" }),
    ),
  )
  .add(
    HttpApiEndpoint.post("enableOrgScim", "/v1/admin/orgs/:org/scim", {
      ...ofOperator,
      success: ScimToken,
    }).annotateMerge(annotations("Create the token of an organisation's directory", once)),
  )
  .add(
    HttpApiEndpoint.delete("disableOrgScim", "/v1/admin/orgs/:org/scim", {
      ...ofOperator,
      success: HttpApiSchema.NoContent,
    }).annotateMerge(annotations("End the token of an organisation's directory", "Audited.")),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Directories", description: "Tokens of organisations' directories, for operators" }),
  ) {}
