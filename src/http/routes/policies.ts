/** Content policies of an organisation, for its owners and admins. */
import { Effect, Semaphore } from "effect"
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
    const trials = yield* Semaphore.make(trialsAtOnce)

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
      const against = yield* inForce(member, asked.app)
      // Nobody learns here which policies other organisations have.
      if (asked.policy !== undefined && !against.policies.some(({ id }) => id === asked.policy)) {
        return yield* serviceError("not_found", "No such policy is in force there")
      }
      const tried = yield* trials.withPermitsIfAvailable(1)(answers.test(asked, against))
      return withoutProblems(yield* Effect.fromOption(tried).pipe(Effect.mapError(() => busy)))
    })

    return handlers
      .handleRaw("organisationPolicies", ({ request }) =>
        forMember(request, (member) => Effect.andThen(requireAdmin(member), answers.listOf(member.org.org.id))),
      )
      .handleRaw("testOrganisationPolicies", ({ request }) => forMember(request, (member) => test(request, member)))
  }),
)

/** Trials of all organisations together: they ask the engines that calls ask too. */
const trialsAtOnce = 2

const busy = serviceError("rate_limited", "Other texts are being tried; try again in a moment", { retryAfterMs: 1000 })

/** Problems of engines name the operator's settings. */
const withoutProblems = ({ policies, ...rest }: PolicyTestReply): PolicyTestReply => ({
  ...rest,
  policies: policies.map(({ failure, ...policy }) => {
    if (failure === undefined) return policy
    const { problem: _, ...known } = failure
    return { ...policy, failure: known }
  }),
})
