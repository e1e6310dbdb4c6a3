/** The rules for a reply: those of the policies that are enforced, and the marks that are put back. Pure. */
import type { ReviewedPart } from "../../protocol/catalogue/policy.ts"
import { markRule } from "../masks/marks.ts"
import type { ReviewPolicy } from "../policy.ts"
import { type Rule, type RuleSet, ruleSet } from "../text/rules.ts"

/** The rules for one part of a reply. */
export interface PartRules {
  readonly set: RuleSet
  /** The policy of each rule; undefined for marks that are put back. */
  readonly policies: ReadonlyArray<ReviewPolicy | undefined>
}

/** @param restores whether marks are put back */
export const replyRules = (policies: ReadonlyArray<ReviewPolicy>, part: ReviewedPart, restores: boolean): PartRules => {
  const known = made.get(policies) ?? new Map<string, PartRules>()
  made.set(policies, known)
  const name = `${part} ${restores}`
  const ready = known.get(name) ?? makeRules(policies, part, restores)
  known.set(name, ready)
  return ready
}

/** Rules of some policies of a reply. */
export const rulesWithout = ({ set, policies }: PartRules, without: ReadonlySet<ReviewPolicy>): PartRules => {
  const kept = set.rules.flatMap((rule, at) => {
    const owner = policies[at]
    return owner !== undefined && without.has(owner) ? [] : [{ rule, owner }]
  })
  return { set: ruleSet(kept.map(({ rule }) => rule)), policies: kept.map(({ owner }) => owner) }
}

/** Policies with matches that may be longer than a length; all of them if none has such. */
export const longerThan = ({ set, policies }: PartRules, length: number): ReadonlySet<ReviewPolicy> => {
  const long = policies.filter((_, at) => (set.rules[at]?.pattern.longest ?? 0) > length)
  return new Set((long.length > 0 ? long : policies).flatMap((policy) => policy ?? []))
}

/** A snapshot's policies are the same list for all calls of a caller. */
const made = new WeakMap<ReadonlyArray<ReviewPolicy>, Map<string, PartRules>>()

const makeRules = (policies: ReadonlyArray<ReviewPolicy>, part: ReviewedPart, restores: boolean): PartRules => {
  const own = policies.filter(({ isEnforced, parts }) => isEnforced && parts.has(part))
  const rules: Array<Rule> = []
  const owners: Array<ReviewPolicy | undefined> = []
  for (const policy of own) {
    const { check } = policy
    if (check.kind !== "rules") continue
    for (const rule of check.set.rules) {
      rules.push(rule)
      owners.push(policy)
    }
  }
  if (restores) {
    rules.push(markRule)
    owners.push(undefined)
  }
  return { set: ruleSet(rules), policies: owners }
}
