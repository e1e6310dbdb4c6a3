/** Routes of licences. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { LicenseActivate, LicenseIssue, LicenseIssued, LicenseList, LicenseReply } from "../control/licence.ts"
import { PathId } from "../values/text.ts"
import { bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { bearerHeaders } from "./parameters.ts"

const errors = [...everywhere, ...bearerErrors] as const
const params = { id: PathId }

export class LicenceRoutes extends HttpApiGroup.make("licences")
  .add(
    HttpApiEndpoint.post("issueLicence", "/v1/org-licenses", {
      headers: bearerHeaders,
      payload: LicenseIssue,
      success: LicenseIssued,
      error: errorsOf(errors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Issue a licence for an application. Its code is returned once.",
        description: "Requires owner or admin.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("listLicences", "/v1/org-licenses", {
      headers: bearerHeaders,
      success: LicenseList,
      error: errorsOf(errors),
    }).annotateMerge(
      OpenApi.annotations({ summary: "List the organisation's licences, newest first. Requires owner or admin." }),
    ),
  )
  .add(
    HttpApiEndpoint.post("activateLicence", "/v1/org-licenses/activate", {
      headers: bearerHeaders,
      payload: LicenseActivate,
      success: LicenseReply,
      error: errorsOf([...errors, "validation_failed"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Activate a licence with its code",
        description: "For logged-in members. Check, redemption, binding and audit are one transaction.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("revokeLicence", "/v1/org-licenses/:id/revoke", {
      headers: bearerHeaders,
      params,
      success: LicenseReply,
      error: errorsOf([...errors, "conflict"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Revoke a licence for good. Requires owner or admin." })),
  )
  .add(
    HttpApiEndpoint.post("suspendLicence", "/v1/org-licenses/:id/suspend", {
      headers: bearerHeaders,
      params,
      success: LicenseReply,
      error: errorsOf([...errors, "conflict"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Suspend an active licence. Requires owner or admin." })),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Licences", description: "Licences of applications that require one" }),
  ) {}
