/** Content policies of an organisation, for its owners and admins. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../protocol/api.ts"
import { OwnPolicyTestRequest, type PolicyTestReply } from "../../protocol/control/policies.ts"
import { serviceError } from "../../protocol/error.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { type Member, makeForBearer, requireAdmin } from "../bearer.ts"
import { maxBodyBytes } from "../operator.ts"
import { bothOf, makePolicyAnswers } from "../policy-answers.ts"
import { type Request, readJson } from "../request.ts"

export const policyRoutes = HttpApiBuilder.group(
  Api,
  "policies",
  Effect.fn(function* (handlers) {
    const { forMember } = yield* makeForBearer
    const tenants = yield* Tenants
    const answers = yield* makePolicyAnswers

    /** The policies in force for the organisation, or for an application of it. */
    const inForce = Effect.fnUntraced(function* ({ org }: Member, app: string | undefined) {
      const orgId = org.org.id
      if (app === undefined) return { policies: bothOf(org.policies), orgId }
      const entry = yield* tenants.app(app)
      if (entry === undefined || entry.org.id !== orgId) {
        return yield* serviceError("not_found", "The organisation has no such application")
      }
      return { policies: bothOf(entry.policies), orgId }
    })

    const test = Effect.fn("organisation.testPolicies")(function* (request: Request, member: Member) {
      yield* requireAdmin(member)
      const asked = yield* readJson(OwnPolicyTestRequest, request, maxBodyBytes)
      return withoutProblems(yield* answers.test(asked, yield* inForce(member, asked.app)))
    })

    return handlers
      .handleRaw("organisationPolicies", ({ request }) =>
        forMember(request, (member) => Effect.andThen(requireAdmin(member), answers.listOf(member.org.org.id))),
      )
      .handleRaw("testOrganisationPolicies", ({ request }) => forMember(request, (member) => test(request, member)))
  }),
)

/** Problems of engines name the operator's settings. */
const withoutProblems = ({ policies, ...rest }: PolicyTestReply): PolicyTestReply => ({
  ...rest,
  policies: policies.map(({ failure, ...policy }) => {
    if (failure === undefined) return policy
    const { problem: _, ...known } = failure
    return { ...policy, failure: known }
  }),
})
