/** Tries a text against policies, in the order in which calls review it: masks first, then the others with the masked text. */
import { Effect } from "effect"
import type { Direction } from "./engines/engine.ts"
import { PolicyEngines } from "./engines/engines.ts"
import { apart, type Span } from "./engines/spans.ts"
import type { Marks } from "./masks/marks.ts"
import { everyPart } from "./parts.ts"
import type { EngineCheck, ReviewPolicy } from "./policy.ts"
import { ReplyReview, withEdits } from "./reply/reply-review.ts"
import type { PolicyHit } from "./review.ts"
import type { RuleSet } from "./text/rules.ts"
import { type Found, TextWindow } from "./text/window.ts"

/** The findings of one policy. */
export interface TriedPolicy {
  readonly policy: ReviewPolicy
  readonly direction: Direction
  readonly reviewed: "text" | "masked"
  /** 1 if its engine flagged the text without a place. */
  readonly count: number
  readonly findings: ReadonlyArray<Span>
  readonly failure: EngineFailure | undefined
}

type EngineFailure = Effect.Error<ReturnType<PolicyEngines["Service"]["review"]>>

export interface TriedText {
  readonly policies: ReadonlyArray<TriedPolicy>
  /** Undefined if no policy masks. */
  readonly masked: string | undefined
}

/** The effect of a policy on a call. */
export const didOf = ({ policy, count, failure }: TriedPolicy): PolicyHit["did"] | "nothing" => {
  if (failure !== undefined) return "failed"
  return count === 0 ? "nothing" : didBy[policy.action]
}

const didBy = { deny: "denied", mask: "masked", flag: "flagged", shadow: "shadow" } as const

/** The text is neither logged nor stored. @param only the direction; policies of both are tried as inbound if it is absent */
export const tryText = Effect.fnUntraced(function* (
  policies: ReadonlyArray<ReviewPolicy>,
  text: string,
  only: Direction | undefined,
  marks: Marks,
): Effect.fn.Return<TriedText, never, PolicyEngines> {
  const directionOf = ({ direction }: ReviewPolicy) => only ?? (direction === "outbound" ? "outbound" : "inbound")
  const tried = new Map<ReviewPolicy, TriedPolicy>()
  const masks = policies.filter(({ action }) => action === "mask")
  const byRules = masks.filter(({ check }) => check.kind === "rules")
  let masked = maskedBy(byRules, text, marks)
  const ruled = Effect.fnUntraced(function* (policy: ReviewPolicy, set: RuleSet, reviewed: TriedPolicy["reviewed"]) {
    const findings = yield* findIn(set, reviewed === "text" ? text : masked)
    const count = findings.length
    tried.set(policy, { policy, direction: directionOf(policy), reviewed, count, findings, failure: undefined })
  })
  for (const policy of byRules) if (policy.check.kind === "rules") yield* ruled(policy, policy.check.set, "text")
  const others = [...masks, ...policies].filter((policy) => !byRules.includes(policy))
  for (const policy of new Set(others)) {
    const { check, action } = policy
    const reviewed = masked === text ? "text" : "masked"
    if (check.kind === "rules") {
      // Rules for replies review the text together with its masks.
      yield* ruled(policy, check.set, directionOf(policy) === "outbound" ? "text" : reviewed)
      continue
    }
    const asked = yield* askEngine(policy, check, masked, directionOf(policy), reviewed)
    tried.set(policy, asked)
    if (action === "mask") masked = withMarks(masked, asked.findings, marks)
  }
  return {
    policies: policies.flatMap((policy) => tried.get(policy) ?? []),
    masked: masks.length === 0 ? undefined : masked,
  }
})

/** Each text that policies mask is tried, for any part of a call. */
const maskedBy = (masks: ReadonlyArray<ReviewPolicy>, text: string, marks: Marks): string => {
  const policies = masks.map((policy) => ({ ...policy, parts: everyPart }))
  const review = new ReplyReview({ policies, restored: undefined, marks: () => marks, onDenied: () => {} })
  return review.masked(text, "text", false, false)
}

const withMarks = (text: string, findings: ReadonlyArray<Span>, marks: Marks): string =>
  withEdits(
    text,
    0,
    apart(findings).map(({ start, end, label }) => ({ start, end, text: marks.of(label, text.slice(start, end)) })),
  )

/** Characters that are matched in one turn. */
const partLength = 16 * 1024

const findIn = Effect.fnUntraced(function* (set: RuleSet, text: string): Effect.fn.Return<ReadonlyArray<Span>> {
  const window = new TextWindow(set)
  const findings: Array<Span> = []
  const take = (found: ReadonlyArray<Found>) => {
    for (const { rule, start, end } of found) {
      findings.push({ start, end, label: set.rules[rule]?.label ?? "MASKED" })
    }
  }
  for (let at = 0; at < text.length; at += partLength) {
    if (at > 0) yield* Effect.yieldNow
    window.push(text.slice(at, at + partLength))
    take(window.found)
  }
  window.end()
  take(window.found)
  return findings
})

const askEngine = (
  policy: ReviewPolicy,
  check: EngineCheck,
  text: string,
  direction: Direction,
  reviewed: TriedPolicy["reviewed"],
): Effect.Effect<TriedPolicy, never, PolicyEngines> => {
  const common = { policy, direction, reviewed }
  return Effect.flatMap(PolicyEngines, (engines) => engines.review({ id: policy.id, check }, { text, direction })).pipe(
    Effect.map(({ isFlagged, spans }) => {
      const count = isFlagged ? Math.max(1, spans.length) : 0
      return { ...common, count, findings: isFlagged ? spans : [], failure: undefined }
    }),
    Effect.catch((failure) => Effect.succeed({ ...common, count: 0, findings: [], failure })),
  )
}
