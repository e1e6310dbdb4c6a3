/**
 * Rules of policies, ready for texts: patterns that are looked for in the text as it is written, or in its folded spelling, in
 * which case and invisible characters do not count. Pure.
 */
import { Result } from "effect"
import { RE2JS } from "re2js"
import { compilePattern } from "../pattern/program.ts"
import { type PatternSet, patternSet, Scan, type SearchedPattern } from "./scan.ts"
import { FoldingSpeller, foldText, SpelledTwice, UnescapingSpeller } from "./spelling.ts"

/** The spelling of a text in which a pattern is looked for. */
export type Spelling = "written" | "folded"

/** One thing that a policy looks for. */
export interface Rule {
  readonly spelling: Spelling
  readonly pattern: SearchedPattern
  /** The word in the marks that replace it, e.g. `EMAIL`. */
  readonly label: string
}

/** Rules of any number of policies that are looked for together. */
export interface RuleSet {
  readonly rules: ReadonlyArray<Rule>
  readonly groups: ReadonlyArray<Group>
  /** The most characters that may have to wait; infinite if there is no limit. */
  readonly delay: number
}

interface Group {
  readonly spelling: Spelling
  readonly set: PatternSet
  /** The positions of its patterns among the rules. */
  readonly rules: ReadonlyArray<number>
}

export const ruleSet = (rules: ReadonlyArray<Rule>): RuleSet => {
  const groups = spellings.flatMap((spelling) => {
    const own = rules.flatMap((rule, at) => (rule.spelling === spelling ? [at] : []))
    if (own.length === 0) return []
    const patterns = own.flatMap((at) => rules[at]?.pattern ?? [])
    return [{ spelling, set: patternSet(patterns), rules: own }]
  })
  return { rules, groups, delay: Math.max(0, ...groups.map(({ set }) => set.delay)) }
}

const spellings = ["written", "folded"] as const

/** Any of some words, independent of case, compatibility forms and invisible characters. */
export const keywordPattern = (words: ReadonlyArray<string>): Result.Result<SearchedPattern, string> => {
  const folded = words.map(foldText)
  const blank = folded.findIndex((word) => word.trim() === "")
  if (blank !== -1) {
    return Result.fail(`the keyword ${JSON.stringify(words[blank])} has no visible character`)
  }
  const pattern = compilePattern(folded.map((word) => RE2JS.quote(word)).join("|"))
  return Result.map(pattern, (made) => ({ ...made, bases: folded.flatMap(basesOf) }))
}

/** The letter that a mark makes the first one of a word; none if that has no mark. */
const basesOf = (word: string): ReadonlyArray<string> => {
  const [first = ""] = word
  const [base = "", ...marks] = first.normalize("NFD")
  return marks.length === 0 ? [] : [foldText(base)]
}

/** A scan for each group. @param isJson whether the text is JSON, in which escapes may hide words */
export const scansOf = ({ groups }: RuleSet, isJson: boolean): ReadonlyArray<Scan> =>
  groups.map(({ spelling, set }) => {
    if (spelling === "written") return new Scan(set, isJson ? new UnescapingSpeller() : undefined)
    const folding = new FoldingSpeller()
    return new Scan(set, isJson ? new SpelledTwice(new UnescapingSpeller(), folding) : folding)
  })
