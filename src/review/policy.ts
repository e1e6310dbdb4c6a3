/** Compiles safety policies of the catalogue. Pure. */
import { Redacted, Result } from "effect"
import { RE2JS } from "re2js"
import type { Policy } from "../protocol/catalogue.ts"

export type Direction = Policy["direction"]

export interface ReviewPolicy {
  readonly id: string
  readonly direction: Direction
  /** The reason that a client receives with a denial. */
  readonly reason: string
  readonly check: RuleCheck | ModerationCheck
}

/** Whether a text matches; takes time linear in the text for every rule. */
export interface RuleCheck {
  readonly kind: "rule"
  readonly matches: (text: string) => boolean
}

/** Calls an endpoint with the API of OpenAI's moderations. */
export interface ModerationCheck {
  readonly kind: "moderation"
  readonly baseUrl: string
  readonly credential: Redacted.Redacted | undefined
  readonly model: string | undefined
  /** Categories that deny; if absent, any that the endpoint flags. */
  readonly categories: ReadonlyArray<string> | undefined
  readonly timeoutMs: number
  /** The verdict if the endpoint does not answer. */
  readonly onFailure: "allow" | "deny"
}

const defaultTimeoutMs = 3000

/** Compiles a policy; fails with the error of its pattern. */
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

/** RE2 does not backtrack: matching takes linear time for every pattern and text. */
function compileRegex(pattern: string): Result.Result<RuleCheck["matches"], string> {
  try {
    const regex = RE2JS.compile(pattern)
    return Result.succeed((text) => regex.test(text))
  } catch (error) {
    return Result.fail(error instanceof Error ? error.message : "the pattern cannot be read")
  }
}

/** Independent of case and of Unicode normalisation. */
function keywordMatcher(keywords: ReadonlyArray<string>): RuleCheck["matches"] {
  const folded = keywords.map(fold)
  return (text) => {
    const foldedText = fold(text)
    return folded.some((keyword) => foldedText.includes(keyword))
  }
}

const fold = (text: string): string => text.normalize("NFKC").toLowerCase()
