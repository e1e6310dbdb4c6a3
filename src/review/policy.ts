/** Compiles safety policies of the catalogue. Pure. */
import { Redacted, Result } from "effect"
import { RE2JS } from "re2js"
import type { Policy } from "../protocol/catalogue/policy.ts"

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
  /** The most characters of a text that a match can have: a long text is matched in parts. Absent where there is no limit. */
  readonly maxMatchLength?: number
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
  const check =
    "regex" in match
      ? Result.map(compileRegex(match.regex), (matches) => ({ kind: "rule", matches }) as const)
      : Result.succeed(keywordCheck(match.keywords))
  return Result.map(check, (check) => ({ id, direction, reason, check }))
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
function keywordCheck(keywords: ReadonlyArray<string>): RuleCheck {
  const folded = keywords.map(fold)
  const matches = (text: string) => {
    const foldedText = fold(text)
    return folded.some((keyword) => foldedText.includes(keyword))
  }
  const longest = Math.max(0, ...folded.map(({ length }) => length))
  return { kind: "rule", matches, maxMatchLength: longest * mostMarks }
}

/** A character of a keyword may be written as a letter and this many marks, which are folded into it. */
const mostMarks = 4

const fold = (text: string): string => text.normalize("NFKC").toLowerCase()
