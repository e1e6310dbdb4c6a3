/** Safety policies of the catalogue, made ready: patterns compiled, credentials resolved. Pure. */
import { Redacted, Result } from "effect"
import { RE2JS } from "re2js"
import type { Policy } from "../protocol/catalogue.ts"

export type Direction = Policy["direction"]

export interface ReviewPolicy {
  readonly id: string
  readonly direction: Direction
  /** What a client is told of a denial. */
  readonly reason: string
  readonly check: RuleCheck | ModerationCheck
}

/** Whether a text is against a rule; in time linear to the text, whatever the rule. */
export interface RuleCheck {
  readonly kind: "rule"
  readonly matches: (text: string) => boolean
}

/** Asks an endpoint in the shape of OpenAI's moderations. */
export interface ModerationCheck {
  readonly kind: "moderation"
  readonly baseUrl: string
  readonly credential: Redacted.Redacted | undefined
  readonly model: string | undefined
  /** Those that deny; any that the endpoint flags, when absent. */
  readonly categories: ReadonlyArray<string> | undefined
  readonly timeoutMs: number
  /** What an endpoint that does not answer means. */
  readonly onFailure: "allow" | "deny"
}

const defaultTimeoutMs = 3000

/** Makes a policy ready; fails with what is wrong with its pattern. */
export const compilePolicy = (
  { id, direction, reason, match }: Policy,
  resolve: (ref: string) => string | undefined,
): Result.Result<ReviewPolicy, string> => {
  if ("moderation" in match) {
    const { baseUrl, model, categories, timeout: timeoutMs = defaultTimeoutMs, onFailure = "deny" } = match.moderation
    const secret = match.moderation.credential === undefined ? undefined : resolve(match.moderation.credential)
    const credential = secret === undefined ? undefined : Redacted.make(secret)
    const check = { kind: "moderation", baseUrl, credential, model, categories, timeoutMs, onFailure } as const
    return Result.succeed({ id, direction, reason, check })
  }
  const matches = "regex" in match ? compileRegex(match.regex) : Result.succeed(keywordMatcher(match.keywords))
  return Result.map(matches, (matches) => ({ id, direction, reason, check: { kind: "rule", matches } }))
}

/** RE2 has no backtracking: no pattern and no text take more than linear time. */
function compileRegex(pattern: string): Result.Result<RuleCheck["matches"], string> {
  try {
    const regex = RE2JS.compile(pattern)
    return Result.succeed((text) => regex.test(text))
  } catch (error) {
    return Result.fail(error instanceof Error ? error.message : "the pattern cannot be read")
  }
}

/** Blind to case, and to the forms in which Unicode can write the same letters. */
function keywordMatcher(keywords: ReadonlyArray<string>): RuleCheck["matches"] {
  const folded = keywords.map(fold)
  return (text) => {
    const foldedText = fold(text)
    return folded.some((keyword) => foldedText.includes(keyword))
  }
}

const fold = (text: string): string => text.normalize("NFKC").toLowerCase()
