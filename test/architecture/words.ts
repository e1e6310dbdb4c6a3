/**
 * The words of the project's prose: how a doc comment may not begin, the words that are not used, and what is written instead.
 *
 * **Details**: a doc comment has a subject and a verb, begins with a verb whose subject is the thing itself ("Closes the
 * socket."), or is a noun phrase that names the thing ("The organisation that is billed."). Code in backticks and names of parameters are no prose.
 */
import type { Prose } from "./prose.ts"

/** A form that is not used. */
export interface Rule {
  readonly pattern: RegExp
  /** The replacement, as it is printed. */
  readonly instead: string
}

/** An opening that hides the subject, in comments of lines too: `// What is scarce goes back`. */
interface Opening extends Rule {
  readonly ofLines?: true
}

/** The first words that a doc comment may not have. */
export const openings: ReadonlyArray<Opening> = [
  { pattern: /^Of\b/, instead: 'name the thing: "The lease of a node" or "For a node: …"', ofLines: true },
  { pattern: /^(Those|That|This one|Such)\b/, instead: "the noun: The rows that …", ofLines: true },
  { pattern: /^(Told|Tells)\b/, instead: "Returned, Returns, Reports, Notifies", ofLines: true },
  {
    pattern: /^((For|To|By|With|From|Of) )?(Whom|Whose|Who)\b/i,
    instead: "the person or thing: The user that …",
    ofLines: true,
  },
  { pattern: /^As\b/, instead: 'the noun, or "Like …"', ofLines: true },
  { pattern: /^By\b/, instead: "the noun: The rows by key", ofLines: true },
  { pattern: /^With\b/, instead: "the noun, or: If there is …" },
  {
    pattern: /^((Of|For|By|With|From|In|At|On|To) )?(What|Which)\b/i,
    instead: "the noun: The body that is sent",
    ofLines: true,
  },
  { pattern: /^Where\b/, instead: "the noun (The URL, The folder), or: If …" },
  { pattern: /^How (many|much)\b/, instead: "The number of, The amount of" },
  {
    pattern: /^How (long|often|far|old|large|big|fast|deep|late)\b/,
    instead: "The time, The interval, The size, The age",
  },
  { pattern: /^Why\b/, instead: "The reason why …" },
]

/** Words and forms that no prose has. */
export const words: ReadonlyArray<Rule> = [
  { pattern: /\b(told|tells?|telling)\b/i, instead: "return, report, notify, say, estimate, distinguish" },
  { pattern: /\bwhoever\b/i, instead: "a caller that, anyone who" },
  { pattern: /\bnobody's\b/i, instead: "of no caller, unowned" },
  { pattern: /\blots?\b(?! of)/i, instead: "batch" },
  { pattern: /\bstands\b(?! for\b)/i, instead: "is valid, is in force, is written" },
  { pattern: /\bcomes? by\b/i, instead: "receives" },
  { pattern: /\brests\b/i, instead: "is cooling down" },
  { pattern: /\bat hand\b/i, instead: "available, that it has" },
  { pattern: /\b(words? for(?! word)|ha(s|ve) (no |the )?words?)\b/i, instead: "supports, has a field for" },
  { pattern: /\b(become|becomes|became) of\b/i, instead: "the outcome, the state" },
  { pattern: /\banew\b/i, instead: "again" },
  { pattern: /\bpass(ed|es)? over\b/i, instead: "skip" },
  { pattern: /\bin (the )?words of\b|'s words\b/i, instead: "in the format of, in its own fields" },
  { pattern: /\bas (it|they) (came|comes?)\b/i, instead: "unchanged, while it arrives" },
  { pattern: /\bwhatever\b/i, instead: "any, for every" },
  { pattern: /\b(goes|go) back by (itself|themselves)\b/i, instead: "is returned" },
  { pattern: /\b(forgets|forgotten)\b/i, instead: "remove, drop, lose" },
  { pattern: /\ball the same\b/i, instead: "nevertheless, too" },
  { pattern: /[.:;!?] (What|Of|Whose|Those)\b/, instead: "the noun: The body that …, For a node …" },
  { pattern: /\bas long again\b/i, instead: "twice as long" },
  {
    pattern:
      /\binterface\.md\b|\b(decisions|fidelity|hot-path|sockets|calls|reply-cache),? "|\bSources?: (decisions|fidelity|hot-path|sockets|calls|reply-cache)\b|\bfield lessons? \d/i,
    instead: "no source, or a page of the documentation or a public standard",
  },
]

/** A rule that a text breaks, with the sentence that breaks it. */
export interface Finding {
  readonly line: number
  readonly sentence: string
  readonly instead: string
}

/** The rules that a text breaks. */
export const findingsIn = ({ kind, line, text }: Prose): ReadonlyArray<Finding> => {
  const plain = text
    .replace(/`[^`]*`/g, (code) => "`".repeat(code.length))
    .replace(/\{@link [^}]*\}|@(?:param|typeParam) [\w.]+/g, (code) => "`".repeat(code.length))
  const opening = plain.replace(/^\W*/, "")
  return [
    ...openings.flatMap(({ pattern, instead, ofLines = false }) =>
      (kind === "doc" || (kind === "line" && ofLines)) && pattern.test(opening)
        ? [{ line, sentence: sentenceAt(text, 0), instead }]
        : [],
    ),
    ...words.flatMap(({ pattern, instead }) => {
      const hit = pattern.exec(plain)
      return hit === null ? [] : [{ line, sentence: sentenceAt(text, hit.index + hit[0].length - 1), instead }]
    }),
  ]
}

const sentenceAt = (text: string, index: number): string => {
  const before = text.slice(0, index).search(/[.;!?]\s(?!.*[.;!?]\s)/s)
  const after = text.slice(index).search(/[.!?](\s|$)/)
  return text.slice(before === -1 ? 0 : before + 2, after === -1 ? undefined : index + after + 1).trim()
}
