/**
 * The text of refused input, for people: the value, what is required, and the nearest known name. API, catalogue, variables
 * and commands have the same text.
 *
 * **Details**
 *
 * A schema says what it requires by the annotation `expected`, with an example: `"an amount such as 12.50"`. Effect's
 * own checks are reworded here. A value is shown if it is short and its field is no secret.
 */
import { Predicate, SchemaAST, SchemaIssue } from "effect"
import { didYouMean } from "../values/nearest-name.ts"

type Path = ReadonlyArray<PropertyKey>

/** An issue with the path as keys and indices, for callers that know the position of each in a text. */
export interface IssueAt {
  readonly path: Path
  readonly message: string
}

/**
 * A message for each part that is wrong. An issue has the value if it was made with `reportInput`.
 *
 * @param written the whole value as it was before it was decoded, if it is known
 */
export const describeIssue = (issue: SchemaIssue.Issue, path: Path = [], written?: unknown): ReadonlyArray<IssueAt> =>
  describeIn(issue, { path, written, type: undefined })

/** The message for a value of none of the forms that a literal distinguishes, such as a block's `t`. */
export const describeTag = (value: unknown, literals: ReadonlyArray<string>, path: Path): string => {
  const wanted = alternatives(literals.map((literal) => JSON.stringify(literal)))
  const near = typeof value === "string" ? didYouMean(value, literals) : ""
  return messageFor(wanted, value, path, near)
}

/** The message for an object that has not one of the fields of which it must have one. */
export const describeChoice = (names: ReadonlyArray<string>): string =>
  `has one of ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`

/** The message for a field that its object does not know. */
export const describeUnknown = (name: string, known: ReadonlyArray<string>): string =>
  `is not known here${didYouMean(name, known) || listed(known)}`

type Single = Exclude<SchemaIssue.Issue, SchemaIssue.Pointer | SchemaIssue.Encoding | SchemaIssue.Composite>

interface Place {
  readonly path: Path
  /** The value before it was decoded. */
  readonly written: unknown
  /** The type whose checks failed. */
  readonly type: SchemaAST.AST | undefined
}

const describeIn = (issue: SchemaIssue.Issue, place: Place): ReadonlyArray<IssueAt> => {
  switch (issue._tag) {
    case "Pointer":
      return describeIn(issue.issue, {
        path: [...place.path, ...issue.path],
        written: issue.path.reduce(memberOf, place.written),
        type: undefined,
      })
    case "Encoding":
      return describeIn(issue.issue, { ...place, written: place.written ?? inputOf(issue) })
    case "Composite":
      return issue.issues.flatMap((inner) => describeIn(inner, { ...place, type: issue.ast }))
    case "AnyOf":
      return describeUnion(issue, place)
    case "Filter":
      if (!isSingle(issue.issue)) return describeIn(issue.issue, place)
  }
  return [{ path: place.path, message: messageOf(issue, place) }]
}

const memberOf = (value: unknown, name: PropertyKey): unknown =>
  Predicate.hasProperty(value, name) && Object.hasOwn(value, name) ? value[name] : undefined

/** If several members were tried and none got further than the value itself, what the union accepts. */
const describeUnion = (issue: SchemaIssue.AnyOf, place: Place): ReadonlyArray<IssueAt> => {
  const inner = issue.issues.flatMap((each) => describeIn(each, place))
  const deeper = inner.filter((each) => each.path.length > place.path.length)
  if (deeper.length > 0) return deeper
  if (issue.issues.length === 1) return inner
  return [{ path: place.path, message: messageOf(issue, place) }]
}

const messageOf = (issue: Single, place: Place): string => {
  if (issue._tag === "MissingKey") return "is required"
  if (issue._tag === "UnexpectedKey") return describeUnknown(String(place.path.at(-1) ?? ""), [])
  const own = ownMessage(issue)
  if (own !== undefined) return own
  const value = place.written ?? inputOf(issue)
  const near = typeof value === "string" && "ast" in issue ? didYouMean(value, literalsOf(issue.ast)) : ""
  // A list that is too long is a list: only the requirement is named.
  const isContent = issue._tag === "Filter" && (typeof value === "object" || value === "")
  return messageFor(wantedBy(issue, place), isContent ? undefined : value, place.path, near)
}

const messageFor = (wanted: string, value: unknown, path: Path, near: string): string => {
  const shown = shownValue(value, path)
  return shown === undefined ? `${wanted} is required${near}` : `${shown} is not ${wanted}${near}`
}

/** The message of a check that has one, instead of a description of what it requires. */
const ownMessage = (issue: Single): string | undefined => {
  const annotations =
    issue._tag === "Filter"
      ? issue.filter.annotations
      : "annotations" in issue
        ? issue.annotations
        : "ast" in issue
          ? issue.ast.annotations
          : undefined
  if (typeof annotations?.message === "string") return annotations.message
  return issue._tag === "Filter" && isSingle(issue.issue) ? ownMessage(issue.issue) : undefined
}

const isSingle = (issue: SchemaIssue.Issue): issue is Single =>
  issue._tag !== "Pointer" && issue._tag !== "Encoding" && issue._tag !== "Composite"

const inputOf = (issue: SchemaIssue.Issue): unknown => (SchemaIssue.hasInput(issue) ? issue.input : undefined)

const wantedBy = (issue: Single, { type }: Place): string => {
  if (issue._tag === "Filter") {
    const inner = issue.issue._tag === "InvalidValue" ? issue.issue.annotations?.expected : undefined
    if (typeof inner === "string") return inner
    return type?._tag === "Number" && isOfEffect(checkText(issue.filter))
      ? wantedByType(type)
      : inWords(checkText(issue.filter), inputOf(issue))
  }
  if (issue._tag === "InvalidValue") {
    const { expected } = issue.annotations ?? {}
    return typeof expected === "string" ? inWords(expected, undefined) : "a valid value"
  }
  return "ast" in issue ? wantedByType(issue.ast) : "a valid value"
}

const checkText = (check: SchemaAST.Check<never>): string => {
  const { expected } = check.annotations ?? {}
  if (typeof expected === "string") return expected
  return check._tag === "FilterGroup" ? check.checks.map(checkText).join(", ") : "a valid value"
}

/** The requirement of a type: the description of its schema, else that of its form. */
const wantedByType = (ast: SchemaAST.AST): string => {
  const own = [ast.annotations, ...(ast.checks ?? []).map(({ annotations }) => annotations)]
    .map((annotations) => annotations?.["expected"])
    .find((expected) => typeof expected === "string" && !isOfEffect(expected))
  if (typeof own === "string") return own
  switch (ast._tag) {
    case "String":
    case "TemplateLiteral":
      return "text"
    case "Number":
      return numberWith(ast.checks?.map(checkText) ?? [])
    case "Boolean":
      return "true or false"
    case "Literal":
      return JSON.stringify(ast.literal)
    case "Null":
      return "null"
    case "Arrays":
      return "a list"
    case "Objects":
      return "an object"
    case "Suspend":
      return wantedByType(ast.thunk())
    case "Union":
      return alternatives([...new Set(ast.types.map((type) => wantedByType(SchemaAST.toEncoded(type))))])
    default:
      return "a valid value"
  }
}

const numberWith = (checks: ReadonlyArray<string>): string => {
  const noun = checks.includes("an integer") ? "an integer" : "a number"
  const bounds = checks.map((check) => inWords(check, 0)).find((words) => words.startsWith("a number "))
  return bounds === undefined ? noun : bounds.replace("a number", noun)
}

const mostListed = 24

const alternatives = (names: ReadonlyArray<string>): string =>
  names.length <= 1
    ? (names[0] ?? "a valid value")
    : names.length > mostListed
      ? `one of the ${names.length} known values`
      : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`

const listed = (known: ReadonlyArray<string>): string =>
  known.length === 0 || known.length > mostListed ? "" : `; known are ${known.join(", ")}`

const literalsOf = (ast: SchemaAST.AST): ReadonlyArray<string> => {
  if (ast._tag === "Literal") return typeof ast.literal === "string" ? [ast.literal] : []
  return ast._tag === "Union" ? ast.types.flatMap(literalsOf) : []
}

/** Effect's descriptions of its checks, and ours. */
const words: ReadonlyArray<
  readonly [theirs: RegExp, ours: (what: Counted, ...numbers: ReadonlyArray<string>) => string]
> = [
  // Bounds that only keep a number exact say nothing to people.
  [/^a value between (\S+) and \d{13,}$/, (_, least) => `a number of at least ${least}`],
  [/^a value between (\S+) and (\S+)$/, (_, least, most) => `a number from ${least} to ${most}`],
  [/^a value greater than or equal to (\S+)$/, (_, least) => `a number of at least ${least}`],
  [/^a value less than or equal to (\S+)$/, (_, most) => `a number of at most ${most}`],
  [/^a value greater than (\S+)$/, (_, least) => `a number greater than ${least}`],
  [/^a value less than (\S+)$/, (_, most) => `a number less than ${most}`],
  [/^a value that is a multiple of (\S+)$/, (_, factor) => `a multiple of ${factor}`],
  [
    /^(?:a value with a length of|a string with) at least (\d+)/,
    ({ noun, many }, least) => (least === "1" ? `${noun} that is not empty` : `${noun} of at least ${least} ${many}`),
  ],
  [
    /^(?:a value with a length of|a string with) at most (\d+)/,
    ({ noun, many }, most) => `${noun} of at most ${most} ${many}`,
  ],
  [
    /^a value with a length between (\d+) and (\d+)/,
    ({ noun, many }, least, most) => `${noun} of ${least} to ${most} ${many}`,
  ],
  [/^a value with a length of (\d+)/, ({ noun, many }, exactly) => `${noun} of ${exactly} ${many}`],
  [/^a value with at least (\d+) entr/, (_, least) => `an object with ${least} fields or more`],
  [/^a value with at most (\d+) entr/, (_, most) => `an object with at most ${most} fields`],
  [/^a base64 encoded string/, () => "base64"],
  [/^a string that will be decoded as a (?:finite )?number/, () => "a number"],
  [/^a finite number$/, () => "a number"],
  [/^an array with unique /, () => "a list without repetitions"],
  [/^a string starting with (.+)$/, (_, start) => `text that begins with ${start}`],
  [/RegExp/, () => "text in the form of this field"],
]

interface Counted {
  readonly noun: string
  readonly many: string
}

const isOfEffect = (expected: string): boolean =>
  expected === "an integer" || words.some(([theirs]) => theirs.test(expected))

const inWords = (expected: string, value: unknown): string => {
  const counted = Array.isArray(value) ? { noun: "a list", many: "elements" } : { noun: "text", many: "characters" }
  for (const [theirs, ours] of words) {
    const found = theirs.exec(expected)
    if (found !== null) return ours(counted, ...found.slice(1))
  }
  return expected
}

const longestShown = 40
const secretField = /key|secret|token(?!s)|password|credential|authorization|cookie|certificate/i

/** A value in a message; undefined if it is long or may be a secret. */
const shownValue = (value: unknown, path: Path): string | undefined => {
  if (value === undefined) return undefined
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value)
  if (Array.isArray(value)) return "a list"
  if (Predicate.isObject(value)) return "an object"
  if (typeof value !== "string" || value.length > longestShown) return undefined
  const isSecret = path.some((name) => typeof name === "string" && secretField.test(name))
  // A URL can have a password or a signature.
  return isSecret || /:\/\/.*[@?]/.test(value) ? undefined : JSON.stringify(value)
}
