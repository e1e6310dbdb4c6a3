/** Short descriptions of policies, for operators. Pure. */
import type { Policy } from "../protocol/catalogue/policy.ts"
import type { ReviewPolicy } from "./policy.ts"

/** The match of a policy in short, e.g. `entities: email, card`. */
export const describeMatch = (match: Policy["match"]): string => {
  if ("regex" in match) return `regex: ${match.regex}`
  if ("keywords" in match) return `keywords: ${shortList(match.keywords)}`
  if ("entities" in match) {
    return `entities: ${match.entities.map((entity) => (typeof entity === "string" ? entity : entity.name)).join(", ")}`
  }
  return `engine: ${"engine" in match ? match.engine.kind : "moderation"}`
}

const mostShown = 8

const shortList = (words: ReadonlyArray<string>): string => {
  const rest = words.length - mostShown
  return rest > 0 ? `${words.slice(0, mostShown).join(", ")} and ${rest} more` : words.join(", ")
}

/** The text of a stream that waits because of a policy. */
export interface StreamWait {
  readonly until: "characters" | "match" | "verdict"
  readonly characters?: number
}

/** Undefined if none waits: the policy is not enforced on streams, or reviews no replies. */
export const waitOf = ({ direction, isEnforced, check }: ReviewPolicy): StreamWait | undefined => {
  if (direction === "inbound" || !isEnforced) return undefined
  if (check.kind === "engine") return { until: "verdict" }
  const { delay } = check.set
  return Number.isFinite(delay) ? { until: "characters", characters: delay } : { until: "match" }
}
