/** Rules for the values that an engine has found in a text, which mask them wherever they occur. Pure. */
import { Result } from "effect"
import { RE2JS } from "re2js"
import type { Policy } from "../../protocol/catalogue/policy.ts"
import type { Span } from "../engines/spans.ts"
import { compilePolicy, type ReviewPolicy } from "../policy.ts"

/** Characters that one pattern looks for: a pattern has a largest size. */
const mostCharacters = 2000
/** Characters of a value that are looked for as one: a longer one is masked in parts. */
const longestPart = 500

/** Fails if the values make no rules: they cannot be masked then. @param spans what the engine of the policy has found */
export const valueMasks = (
  { id, reason, parts }: ReviewPolicy,
  text: string,
  spans: ReadonlyArray<Span>,
): Result.Result<ReadonlyArray<ReviewPolicy>, string> => {
  const values = new Map<string, Set<string>>()
  for (const { start, end, label } of spans) {
    const known = values.get(label) ?? new Set()
    values.set(label, known)
    // A finding over two texts is one in each.
    for (const value of text.slice(start, end).split("\n")) if (value.trim() !== "") known.add(value)
  }
  const entities = [...values].flatMap(([name, found]) => regexesOf(found).map((regex) => ({ name, regex })))
  if (entities.length === 0) return Result.succeed([])
  const source: Policy = { id, direction: "inbound", match: { entities }, reason, action: "mask", parts: [...parts] }
  return Result.map(
    compilePolicy(source, () => undefined),
    (made) => [made],
  )
}

/** Patterns for some values, the longest first. */
const regexesOf = (values: ReadonlySet<string>): ReadonlyArray<string> => {
  const sizes = new Map<string, number>()
  for (const value of [...values].toSorted((a, b) => b.length - a.length)) {
    for (const [word, size] of patternsOf(value)) sizes.set(word, size)
  }
  const regexes: Array<Array<string>> = []
  let left = 0
  for (const [word, size] of sizes) {
    if (size > left) {
      regexes.push([])
      left = mostCharacters
    }
    regexes.at(-1)?.push(word)
    left -= size
  }
  return regexes.map((words) => words.join("|"))
}

/** The bounds and the alternation of a value count too. */
const besideValue = 3

/** The patterns of a value and their sizes: those of a long one are for parts of it, of about the same length. */
const patternsOf = (value: string): ReadonlyArray<readonly [pattern: string, size: number]> => {
  const characters = [...value]
  const count = Math.ceil(characters.length / longestPart)
  const length = Math.ceil(characters.length / count)
  return Array.from({ length: count }, (_, at) => {
    const part = characters.slice(at * length, (at + 1) * length)
    return [wordPattern(part.join(""), at === 0, at === count - 1), part.length + besideValue]
  })
}

/** A value by itself, and not as a part of another word. */
const wordPattern = (value: string, isFirst: boolean, isLast: boolean): string =>
  `${isFirst && /^\w/.test(value) ? "\\b" : ""}${RE2JS.quote(value)}${isLast && /\w$/.test(value) ? "\\b" : ""}`
