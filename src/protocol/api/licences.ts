/** Routes of licences. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { LicenseActivate, LicenseIssue, LicenseIssued, LicenseList, LicenseReply } from "../licence.ts"
import { PathId } from "../text.ts"
import { bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { bearerHeaders } from "./headers.ts"

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
        summary: "Issue a licence for an application; its code is told once",
        description: "Owners and admins.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("listLicences", "/v1/org-licenses", {
      headers: bearerHeaders,
      success: LicenseList,
      error: errorsOf(errors),
    }).annotateMerge(OpenApi.annotations({ summary: "The organisation's licences, newest first; owners and admins" })),
  )
  .add(
    HttpApiEndpoint.post("activateLicence", "/v1/org-licenses/activate", {
      headers: bearerHeaders,
      payload: LicenseActivate,
      success: LicenseReply,
      error: errorsOf([...errors, "validation_failed"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Redeem a code, once",
        description: "For members who have logged in. Check, redemption, binding and audit are one transaction.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("revokeLicence", "/v1/org-licenses/:id/revoke", {
      headers: bearerHeaders,
      params,
      success: LicenseReply,
      error: errorsOf([...errors, "conflict"]),
    }).annotateMerge(OpenApi.annotations({ summary: "End a licence for good; owners and admins" })),
  )
  .add(
    HttpApiEndpoint.post("suspendLicence", "/v1/org-licenses/:id/suspend", {
      headers: bearerHeaders,
      params,
      success: LicenseReply,
      error: errorsOf([...errors, "conflict"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Suspend an active licence; owners and admins" })),
  )
  .annotateMerge(OpenApi.annotations({ title: "Licences" })) {}
