/** Admin routes of content policies. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { PolicyList, PolicyTestReply, PolicyTestRequest } from "../control/policies.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { adminHeaders } from "./parameters.ts"

const errors = [...everywhere, "admin_key_invalid"] as const

export class AdminPolicies extends HttpApiGroup.make("adminPolicies")
  .add(
    HttpApiEndpoint.get("policies", "/v1/admin/policies", {
      headers: adminHeaders,
      success: PolicyList,
      error: errorsOf(errors),
    }).annotateMerge(
      OpenApi.annotations({ summary: "List the policies of the catalogue, with the subjects that name each" }),
    ),
  )
  .add(
    HttpApiEndpoint.post("testPolicies", "/v1/admin/policies/test", {
      headers: adminHeaders,
      payload: PolicyTestRequest,
      success: PolicyTestReply,
      error: errorsOf([...errors, "not_found"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Try a text against the policies in force",
        description:
          "The text is not logged and not stored. Engines of the policies are asked, with the text as masks leave it. `parts` of the policies do not count.",
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Content policies", description: "Content policies; requires the admin key" }),
  ) {}
