/** Admin routes of content policies. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { WeirConfig } from "../../config.ts"
import { describeMatch, waitOf } from "../../policies/describe.ts"
import { PolicyEngines } from "../../policies/engines/engines.ts"
import { Marks, markKey } from "../../policies/masks/marks.ts"
import type { ReviewPolicy } from "../../policies/policy.ts"
import { didOf, type TriedPolicy, tryText } from "../../policies/try-text.ts"
import { Api } from "../../protocol/api.ts"
import {
  mostFindings,
  type PolicyList,
  type PolicyTestReply,
  PolicyTestRequest,
} from "../../protocol/control/policies.ts"
import { serviceError } from "../../protocol/error.ts"
import { Directory, type PolicyNames } from "../../tenants/directory.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { knownOrg, makeForOperator, maxBodyBytes } from "../operator.ts"
import { type Request, readJson } from "../request.ts"

export const adminPolicyRoutes = HttpApiBuilder.group(
  Api,
  "adminPolicies",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const catalogue = yield* Catalogue
    const directory = yield* Directory
    const tenants = yield* Tenants
    const engines = yield* PolicyEngines
    const { masterKey } = yield* WeirConfig

    const policies = Effect.map(directory.namesOfPolicies, (names): PolicyList => {
      const snapshot = catalogue.current()
      const declared = snapshot.document.policies ?? []
      return {
        data: declared.flatMap(({ id }) => {
          const policy = snapshot.policy(id)
          return policy === undefined ? [] : [policyRow(policy, names)]
        }),
      }
    })

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
      const snapshot = catalogue.current()
      const all = (snapshot.document.policies ?? []).flatMap(({ id }) => snapshot.policy(id) ?? [])
      if (entry === undefined) return { policies: all, orgId: org }
      const { inbound, outbound } = entry.policies
      return { policies: [...new Set([...inbound, ...outbound])], orgId: entry.org.id }
    })

    const test = Effect.fn("admin.testPolicies")(function* (request: Request) {
      const asked = yield* readJson(PolicyTestRequest, request, maxBodyBytes)
      const { text, policy: only, direction } = asked
      const { policies, orgId } = yield* inForce(asked)
      const named = policies.filter(({ id }) => only === undefined || id === only)
      if (only !== undefined && named.length === 0) {
        return yield* serviceError(
          "not_found",
          catalogue.current().policy(only) === undefined
            ? "The catalogue has no such policy"
            : "The policy is not in force there",
        )
      }
      const meant = named.filter((each) => direction === undefined || [direction, "both"].includes(each.direction))
      const tried = yield* tryText(meant, text, direction, new Marks(markKey(masterKey, orgId ?? ""))).pipe(
        Effect.provideService(PolicyEngines, engines),
      )
      return {
        policies: tried.policies.map(triedRow),
        ...(tried.masked !== undefined && { masked: tried.masked }),
      } satisfies PolicyTestReply
    })

    return handlers
      .handleRaw("policies", ({ request }) => forOperator(request, policies))
      .handleRaw("testPolicies", ({ request }) => forOperator(request, test(request)))
  }),
)

const policyRow = (policy: ReviewPolicy, names: ReadonlyArray<PolicyNames>): PolicyList["data"][number] => {
  const { id, direction, action, reason, parts, isEnforced, isForAll, check, source } = policy
  const waits = waitOf(policy)
  const namedBy = (kind: PolicyNames["kind"]) => {
    const { count = 0, ids = [] } = names.find((each) => each.policy === id && each.kind === kind) ?? {}
    return { count, ids }
  }
  const problem = check.kind === "engine" ? check.problem : undefined
  return {
    id,
    direction,
    match: describeMatch(source.match),
    action,
    reason,
    parts: [...parts],
    streams: isEnforced ? "enforce" : "sample",
    ...(waits !== undefined && { waits }),
    ...(source.price !== undefined && { price: { ...source.price, paidBy: source.paidBy ?? "platform" } }),
    forAll: isForAll,
    namedBy: { orgs: namedBy("org"), apps: namedBy("app"), keys: namedBy("key") },
    ...(problem !== undefined && { problem }),
  }
}

const triedRow = (tried: TriedPolicy): PolicyTestReply["policies"][number] => {
  const { policy, direction, reviewed, count, findings, failure } = tried
  const { id, action, reason, onFailure } = policy
  return {
    id,
    direction,
    action,
    reason,
    did: didOf(tried),
    reviewed,
    count,
    findings: findings.slice(0, mostFindings),
    ...(failure !== undefined && {
      failure: {
        engine: failure.kind,
        reason: failure.reason,
        ...(failure.status !== undefined && { status: failure.status }),
        ...(failure.sentence !== undefined && { problem: failure.sentence }),
        onFailure,
      },
    }),
  }
}
