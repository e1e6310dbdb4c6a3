/**
 * The program that RE2 makes of a pattern: its instructions say how long a match can be, and whether a text can still become
 * one. Pure. Source: https://swtch.com/~rsc/regexp/regexp2.html
 */
import { Result, Schema } from "effect"
import { RE2JS } from "re2js"

const Instruction = Schema.Struct({
  op: Schema.Int,
  /** The instruction that follows. */
  out: Schema.Int,
  /** The other instruction that follows an alternation; flags of the others. */
  arg: Schema.Int,
  /** Bounds of ranges of characters, or one character. */
  runes: Schema.instanceOf(Int32Array),
})
type Instruction = typeof Instruction.Type

const Program = Schema.Struct({ start: Schema.Int, inst: Schema.Array(Instruction) })
export type Program = typeof Program.Type

const readProgram = Schema.decodeUnknownResult(Program)

/** A pattern that can be searched for. */
export interface Pattern {
  readonly regex: RE2JS
  readonly program: Program
  /** The most characters of a match; infinite if there is no limit. */
  readonly longest: number
  /** Whether the text beside a match can decide whether it is one, as for `\b` and `$`. */
  readonly looksBeside: boolean
}

/** The most instructions of one pattern: the work for a character of text grows with them. */
export const mostInstructions = 5000

/** The most characters of one pattern: compiling a longer one would take long, only to find that it is too large. */
export const mostPatternLength = 32 * 1024

/** Fails with the reason why a pattern cannot be used. RE2 does not backtrack: every pattern takes linear time for every text. */
export const compilePattern = (source: string, flags = 0): Result.Result<Pattern, string> => {
  if (source.length > mostPatternLength) {
    return Result.fail(
      `the pattern is too large: ${source.length} characters, and ${mostPatternLength} are allowed, with ${mostInstructions} instructions`,
    )
  }
  const regex = compiled(source, flags)
  return Result.flatMap(regex, (regex) => {
    const { prog }: { readonly prog: unknown } = regex.re2()
    const program = readProgram(prog)
    if (Result.isFailure(program)) return Result.fail("the pattern cannot be analysed")
    const { inst } = program.success
    if (inst.length > mostInstructions) {
      return Result.fail(`the pattern is too large: ${inst.length} instructions, and ${mostInstructions} are allowed`)
    }
    if (matchesEmpty(program.success)) return Result.fail("the pattern matches every text, also an empty one")
    return Result.succeed({
      regex,
      program: program.success,
      longest: longestMatch(program.success),
      looksBeside: inst.some(({ op }) => op === assertion),
    })
  })
}

const compiled = (source: string, flags: number): Result.Result<RE2JS, string> => {
  try {
    return Result.succeed(RE2JS.compile(source, flags))
  } catch (error) {
    return Result.fail(error instanceof Error ? error.message : "the pattern cannot be read")
  }
}

const alternation = 1
const otherAlternation = 2
const capture = 3
const assertion = 4
const match = 6
const nop = 7
const ofRunes = 8
const lastOfRunes = 11
const foldsCase = 1

/** Whether an instruction takes a character. */
export const takesRune = ({ op }: Instruction): boolean => op >= ofRunes && op <= lastOfRunes
export const isMatch = ({ op }: Instruction): boolean => op === match
export const isAssertion = ({ op }: Instruction): boolean => op === assertion

/** The instructions that follow without a character. Assertions are taken as true. */
export const following = ({ op, out, arg }: Instruction): ReadonlyArray<number> => {
  if (op === alternation || op === otherAlternation) return [out, arg]
  return op === capture || op === assertion || op === nop ? [out] : []
}

/** The ranges of characters that an instruction takes, as pairs of bounds; a little more where it folds the case. */
export const rangesOf = ({ arg, runes }: Instruction): ReadonlyArray<readonly [from: number, to: number]> => {
  const [only] = runes
  if (runes.length === 1 && only !== undefined) {
    return (arg & foldsCase) === 0 ? [[only, only]] : casesOf(only).map((rune) => [rune, rune])
  }
  return Array.from({ length: runes.length >> 1 }, (_, at) => [runes[2 * at] ?? 0, runes[2 * at + 1] ?? 0])
}

/** All characters that are equal to one but for the case. */
const casesOf = (rune: number): ReadonlyArray<number> => {
  if (rune < 0x80) return asciiCasesOf(String.fromCodePoint(rune))
  const folded = foldedCase(rune)
  caseTable ??= makeCaseTable()
  return caseTable.get(folded) ?? [rune]
}

/** The sign of Kelvin and the long s are equal to letters of ASCII. */
const asciiCasesOf = (letter: string): ReadonlyArray<number> =>
  [...new Set([letter.toLowerCase(), letter.toUpperCase(), ...(otherCases[letter.toLowerCase()] ?? [])])].map(
    (each) => each.codePointAt(0) ?? 0,
  )

const otherCases: Readonly<Record<string, ReadonlyArray<string>>> = { k: ["\u212a"], s: ["\u017f"] }

const foldedCase = (rune: number): string => String.fromCodePoint(rune).toLowerCase().toUpperCase().toLowerCase()

let caseTable: ReadonlyMap<string, ReadonlyArray<number>> | undefined

/** The characters of the planes that have cases. */
const lastWithCase = 0x1e943

const makeCaseTable = (): ReadonlyMap<string, ReadonlyArray<number>> => {
  const table = new Map<string, Array<number>>()
  for (let rune = 0; rune <= lastWithCase; rune++) {
    if (rune >= 0xd800 && rune <= 0xdfff) continue
    const folded = foldedCase(rune)
    const same = table.get(folded)
    if (same === undefined) table.set(folded, [rune])
    else same.push(rune)
  }
  return table
}

const matchesEmpty = ({ start, inst }: Program): boolean => {
  const seen = new Set<number>()
  const pending = [start]
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    const instruction = inst[at]
    if (instruction === undefined || seen.has(at)) continue
    seen.add(at)
    if (isMatch(instruction)) return true
    pending.push(...following(instruction))
  }
  return false
}

/** The longest way through the program, in UTF-16 units; infinite if it has a circle that takes characters. */
const longestMatch = ({ start, inst }: Program): number => {
  const lengths = new Map<number, number>()
  const open = new Set<number>()
  // Without recursion: a program may be some thousand instructions deep.
  const pending = [start]
  while (pending.length > 0) {
    const at = pending.at(-1) ?? 0
    const instruction = inst[at]
    const next = instruction === undefined ? [] : takesRune(instruction) ? [instruction.out] : following(instruction)
    if (lengths.has(at)) pending.pop()
    else if (open.has(at)) {
      const own = instruction !== undefined && takesRune(instruction) ? widthOf(instruction) : 0
      lengths.set(at, own + Math.max(0, ...next.map((each) => lengths.get(each) ?? 0)))
      open.delete(at)
      pending.pop()
    } else {
      open.add(at)
      for (const each of next) {
        if (open.has(each)) return Number.POSITIVE_INFINITY
        if (!lengths.has(each)) pending.push(each)
      }
    }
  }
  return lengths.get(start) ?? 0
}

/** UTF-16 units of the longest character that an instruction takes. */
const widthOf = (instruction: Instruction): number => (rangesOf(instruction).some(([, to]) => to > 0xffff) ? 2 : 1)
