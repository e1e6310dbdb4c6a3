/** Admin routes of content policies. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../protocol/api.ts"
import { PolicyTestRequest } from "../../protocol/control/policies.ts"
import { serviceError } from "../../protocol/error.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { knownOrg, makeForOperator, maxBodyBytes } from "../operator.ts"
import { bothOf, makePolicyAnswers } from "../policy-answers.ts"
import { type Request, readJson } from "../request.ts"

export const adminPolicyRoutes = HttpApiBuilder.group(
  Api,
  "adminPolicies",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const tenants = yield* Tenants
    const answers = yield* makePolicyAnswers

    /** The policies in force for a subject; those of the catalogue without one. */
    const inForce = Effect.fnUntraced(function* ({ org, app }: Pick<PolicyTestRequest, "org" | "app">) {
      const entry =
        app !== undefined ? yield* tenants.app(app) : org === undefined ? undefined : yield* knownOrg(tenants, org)
      if (app !== undefined && (entry === undefined || (org !== undefined && entry.org.id !== org))) {
        return yield* serviceError(
          "not_found",
          org === undefined ? "The application does not exist" : "The organisation has no such application",
        )
      }
      if (entry === undefined) return { policies: answers.declared(), orgId: org }
      return { policies: bothOf(entry.policies), orgId: entry.org.id }
    })

    const test = Effect.fn("admin.testPolicies")(function* (request: Request) {
      const asked = yield* readJson(PolicyTestRequest, request, maxBodyBytes)
      return yield* answers.test(asked, yield* inForce(asked))
    })

    return handlers
      .handleRaw("policies", ({ request }) => forOperator(request, answers.list))
      .handleRaw("testPolicies", ({ request }) => forOperator(request, test(request)))
  }),
)
