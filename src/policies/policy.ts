/** Compiles content policies of the catalogue. Pure. */
import { Result } from "effect"
import { type Policy, type PolicyAction, ReviewedPart } from "../protocol/catalogue/policy.ts"
import { engineOf, moderationOf, type Resolvers } from "./engines/compile.ts"
import type { Engine } from "./engines/engine.ts"
import { type EnginePrice, enginePriceOf } from "./engines/engine-price.ts"
import { type Shape, shapes } from "./entities/shapes.ts"
import { compilePattern } from "./pattern/program.ts"
import { keywordPattern, type Rule, type RuleSet, ruleSet } from "./text/rules.ts"

export type { Direction } from "./engines/engine.ts"

export interface ReviewPolicy {
  readonly id: string
  /** The policy as the catalogue has it, for threads that compile it themselves. */
  readonly source: Policy
  readonly direction: Policy["direction"]
  /** The reason that a client receives with a denial. */
  readonly reason: string
  readonly action: PolicyAction
  readonly parts: ReadonlySet<ReviewedPart>
  /** Whether it is enforced on streams. */
  readonly isEnforced: boolean
  /** Whether it holds for every organisation. */
  readonly isForAll: boolean
  /** The verdict if its engine does not answer. */
  readonly onFailure: "allow" | "deny"
  readonly check: RuleCheck | EngineCheck
}

/** Rules that are looked for here, in time linear in the text. */
export interface RuleCheck {
  readonly kind: "rules"
  readonly set: RuleSet
}

/** Asks another service. */
export interface EngineCheck {
  readonly kind: "engine"
  readonly engine: Engine
  /** The reason why it cannot be called. */
  readonly problem: string | undefined
  readonly timeoutMs: number
  /** The price of its calls; undefined if nobody keeps account of them. */
  readonly price?: EnginePrice | undefined
}

const defaultTimeoutMs = 3000

/** Compiles a policy; fails with the reason why it cannot be used. */
export const compilePolicy = (
  policy: Policy,
  resolve: Resolvers["secret"],
  targets: Resolvers["targets"] = () => [],
): Result.Result<ReviewPolicy, string> => {
  const { id, direction, reason, match, action = "deny", parts = ReviewedPart.literals, streams = "sample" } = policy
  const own = "moderation" in match ? match.moderation.onFailure : undefined
  const { onFailure = own ?? "deny", forAll = false } = policy
  return Result.flatMap(checkOf(policy, { secret: resolve, targets }), (check) => {
    if (action === "mask" && !canMask(check)) {
      return Result.fail("only regex, keywords, entities and presidio know the place of a match, which a mask replaces")
    }
    if (action === "mask" && check.kind === "engine" && direction !== "inbound") {
      return Result.fail("an engine masks requests; in replies, regex, keywords and entities do")
    }
    const isEnforced = streams === "enforce" || action === "mask"
    const common = { id, source: policy, direction, reason, action, onFailure, isEnforced, isForAll: forAll }
    return Result.succeed({ ...common, parts: new Set(parts), check })
  })
}

const canMask = (check: ReviewPolicy["check"]): boolean =>
  check.kind === "rules" || (check.kind === "engine" && check.engine.kind === "presidio")

const checkOf = (policy: Policy, resolvers: Resolvers): Result.Result<ReviewPolicy["check"], string> => {
  const { match } = policy
  const price = enginePriceOf(policy)
  if ("moderation" in match) {
    const { timeout: timeoutMs = defaultTimeoutMs } = match.moderation
    return Result.succeed({ kind: "engine", ...moderationOf(match.moderation, resolvers), timeoutMs, price })
  }
  if ("engine" in match) {
    const { timeout: timeoutMs = defaultTimeoutMs } = match.engine
    return Result.succeed({ kind: "engine", ...engineOf(match.engine, resolvers), timeoutMs, price })
  }
  return Result.map(rulesOf(match), (rules) => ({ kind: "rules", set: ruleSet(rules) }))
}

type RuleMatch = Exclude<Policy["match"], { readonly moderation: unknown } | { readonly engine: unknown }>

const rulesOf = (match: RuleMatch): Result.Result<ReadonlyArray<Rule>, string> => {
  if ("keywords" in match) {
    return Result.map(keywordPattern(match.keywords), (pattern) => [{ spelling: "folded", label: "MASKED", pattern }])
  }
  if ("regex" in match) return Result.map(ruleOf({ regex: match.regex }, "MASKED"), (rule) => [rule])
  return Result.map(
    Result.all(
      match.entities.map((entity) =>
        typeof entity === "string"
          ? Result.all(shapes[entity].map((shape) => ruleOf(shape, entity.toUpperCase())))
          : Result.map(ruleOf({ regex: entity.regex }, entity.name), (rule) => [rule]),
      ),
    ),
    (rules) => rules.flat(),
  )
}

const ruleOf = ({ regex, verify, isWhole }: Shape, label: string): Result.Result<Rule, string> =>
  Result.map(compilePattern(regex), (pattern) => ({
    spelling: "written",
    label,
    pattern: verify === undefined ? pattern : { ...pattern, verify, isWhole },
  }))
