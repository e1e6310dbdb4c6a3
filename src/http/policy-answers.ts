/** Lists of content policies, and trials of texts against them, for operators and for owners and admins. */
import { Effect } from "effect"
import { Catalogue } from "../catalogue/catalogue.ts"
import { WeirConfig } from "../config.ts"
import { describeMatch, waitOf } from "../policies/describe.ts"
import { PolicyEngines } from "../policies/engines/engines.ts"
import { Marks, markKey } from "../policies/masks/marks.ts"
import type { ReviewPolicy } from "../policies/policy.ts"
import { didOf, type TriedPolicy, tryText } from "../policies/try-text.ts"
import {
  mostFindings,
  type OwnPolicyTestRequest,
  type PolicyList,
  type PolicyTestReply,
} from "../protocol/control/policies.ts"
import { serviceError } from "../protocol/error.ts"
import { Directory, type PolicyNames } from "../tenants/directory.ts"
import type { OrgEntry } from "../tenants/tenants.ts"

/** The policies that a text is tried against. */
export interface TriedAgainst {
  readonly policies: ReadonlyArray<ReviewPolicy>
  /** The organisation whose marks it gets; undefined if there is none. */
  readonly orgId: string | undefined
}

export const makePolicyAnswers = Effect.gen(function* () {
  const catalogue = yield* Catalogue
  const directory = yield* Directory
  const engines = yield* PolicyEngines
  const { masterKey } = yield* WeirConfig

  const declared = () => {
    const snapshot = catalogue.current()
    return (snapshot.document.policies ?? []).flatMap(({ id }) => snapshot.policy(id) ?? [])
  }

  const list = Effect.map(directory.namesOfPolicies(undefined), (names): PolicyList => {
    return { data: declared().map((policy) => policyRow(policy, names)) }
  })

  /** The policies that hold for an organisation, or for an application or a key of it. Engines' problems are the operator's. */
  const listOf = (orgId: string): Effect.Effect<PolicyList, Effect.Error<typeof list>> =>
    Effect.map(directory.namesOfPolicies(orgId), (names) => {
      const named = new Set(names.map(({ policy }) => policy))
      const data = declared().flatMap((policy) => {
        if (!policy.isForAll && !named.has(policy.id)) return []
        const { problem: _, ...row } = policyRow(policy, names)
        return [row]
      })
      return { data }
    })

  const test = Effect.fnUntraced(function* (
    { text, policy: only, direction }: OwnPolicyTestRequest,
    { policies, orgId }: TriedAgainst,
  ) {
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

  return { declared, list, listOf, test }
})

/** The policies of both directions, each once. */
export const bothOf = ({ inbound, outbound }: OrgEntry["policies"]): ReadonlyArray<ReviewPolicy> => [
  ...new Set([...inbound, ...outbound]),
]

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
