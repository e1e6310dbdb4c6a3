/** Routes of an organisation's content policies. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { OwnPolicyTestRequest, PolicyList, PolicyTestReply } from "../control/policies.ts"
import { bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { bearerHeaders } from "./parameters.ts"

export class PolicyRoutes extends HttpApiGroup.make("policies")
  .add(
    HttpApiEndpoint.get("organisationPolicies", "/v1/policies", {
      headers: bearerHeaders,
      success: PolicyList,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the policies in force in the organisation",
        description:
          "Requires owner or admin. The list has the policies for every organisation, and all that the organisation, its applications or its keys name.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("testOrganisationPolicies", "/v1/policies/test", {
      headers: bearerHeaders,
      payload: OwnPolicyTestRequest,
      success: PolicyTestReply,
      error: errorsOf([...everywhere, ...bearerErrors, "rate_limited"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Try a text against the organisation's policies",
        description:
          "Requires owner or admin. The text is not logged and not stored. Engines of the policies are asked, with the text as masks leave it. `parts` of the policies do not count.",
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Policies",
      description: "Content policies of an organisation, for owners and admins",
    }),
  ) {}
