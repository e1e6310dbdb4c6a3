/**
 * Finds the faults of input that its schema refused, and stops at a maximum.
 *
 * **Details**
 *
 * Effect's decoder makes an issue for each wrong part of its input, however many there are: 32 KB of compressed JSON can hold
 * sixteen million. So it only decodes up to the first issue, and this walk follows the schema into the parts that are
 * refused. Lengths of lists are checked before their elements.
 */
import { Result, Schema, SchemaAST, SchemaIssue } from "effect"
import { nearestName } from "../values/nearest-name.ts"
import { describeChoice, describeIssue, describeTag, describeUnknown, type IssueAt } from "./issue-text.ts"
import { acceptsOf, isRecord, maxLengthsOf } from "./plain-check.ts"

export interface InputIssue {
  readonly path: string
  readonly message: string
}

/** Maximum issues in one error. */
export const maxIssues = 16

type Path = ReadonlyArray<PropertyKey>

/** Unknown fields are refused; only the first issue of a part is made. */
export const strictly: SchemaAST.ParseOptions = { errors: "first", onExcessProperty: "error" }
/** The same; issues have the value, for their messages. */
const reported: SchemaAST.ParseOptions = { ...strictly, reportInput: true }

/** @returns at least one issue if the schema refuses the value, and at most `most` */
export const findIssues = (
  schema: { readonly ast: SchemaAST.AST },
  value: unknown,
  most = maxIssues,
): ReadonlyArray<IssueAt> => {
  const found: Array<IssueAt> = []
  look(schema.ast, value, { found, most }, [])
  return found
}

/** The path in the form that errors have: names and indices, joined by dots. */
export const pathText = (path: Path): string => path.map(String).join(".")

interface Search {
  readonly found: Array<IssueAt>
  readonly most: number
}

const look = (ast: SchemaAST.AST, value: unknown, search: Search, path: Path): void => {
  if (isFull(search) || acceptsOf(ast)(value)) return
  const before = search.found.length
  if (ast.encoding === undefined) lookInside(ast, value, search, path)
  if (search.found.length === before) addFirst(ast, value, search, path)
}

const isFull = ({ found, most }: Search): boolean => found.length >= most

const lookInside = (ast: SchemaAST.AST, value: unknown, search: Search, path: Path): void => {
  if (ast._tag === "Suspend") look(ast.thunk(), value, search, path)
  else if (ast._tag === "Arrays" && Array.isArray(value)) lookInArray(ast, value, search, path)
  else if (ast._tag === "Objects" && isRecord(value)) lookInObject(ast, value, search, path)
  else if (ast._tag === "Union") {
    const choice = isRecord(value) ? choiceOf(ast, value) : undefined
    if (choice !== undefined) {
      search.found.push({ path, message: describeChoice(choice) })
      return
    }
    const member = likeliest(ast, value)
    if (member !== undefined) look(member, value, search, path)
    else if (isRecord(value)) addTag(ast, value, search, path)
  }
}

const lookInArray = (ast: SchemaAST.Arrays, value: ReadonlyArray<unknown>, search: Search, path: Path): void => {
  for (const check of maxLengthsOf(ast)) {
    const tooLong = check.run(value, ast, reported)
    if (tooLong !== undefined) {
      add(new SchemaIssue.Filter(check, tooLong, value, reported), search, path)
      return
    }
  }
  const [item] = ast.rest
  if (ast.elements.length > 0 || item === undefined) return
  for (let at = 0; at < value.length && !isFull(search); at++) look(item, value[at], search, [...path, at])
}

const lookInObject = (
  ast: SchemaAST.Objects,
  value: Readonly<Record<string, unknown>>,
  search: Search,
  path: Path,
): void => {
  const known = new Set<PropertyKey>(ast.propertySignatures.map(({ name }) => name))
  const [others] = ast.indexSignatures
  for (const { name, type } of ast.propertySignatures) {
    if (Object.hasOwn(value, name)) look(type, Reflect.get(value, name), search, [...path, name])
    else if (!mayBeMissing(type)) add(new SchemaIssue.MissingKey(type.context?.annotations), search, [...path, name])
  }
  for (const name in value) {
    if (isFull(search)) return
    if (known.has(name) || !Object.hasOwn(value, name)) continue
    if (others === undefined) addUnknown(ast, name, search, path)
    else if (acceptsOf(others.parameter)(name)) look(others.type, value[name], search, [...path, name])
  }
}

const addUnknown = (ast: SchemaAST.Objects, name: string, search: Search, path: Path): void => {
  search.found.push({ path: [...path, name], message: describeUnknown(name, namesOf(ast)) })
}

/** The names of which a value must have one, if each member of a union is known by its only field and the value has not one. */
const choiceOf = (
  { types }: SchemaAST.Union,
  value: Readonly<Record<string, unknown>>,
): ReadonlyArray<string> | undefined => {
  const names = types.flatMap((type) => {
    const [only, another] = type._tag === "Objects" ? type.propertySignatures : []
    if (only === undefined || another !== undefined || only.type._tag === "Literal" || mayBeMissing(only.type))
      return []
    return typeof only.name === "string" ? [only.name] : []
  })
  if (new Set(names).size < types.length || names.length < 2) return undefined
  const written = Object.keys(value).slice(0, maxIssues)
  const count = written.filter((name) => names.includes(name)).length
  const isNear = written.some((name) => nearestName(name, names) !== undefined)
  return count > 1 || (count === 0 && !isNear) ? names : undefined
}

/** An issue with the literals that distinguish the members, if the value has none of them. */
const addTag = (ast: SchemaAST.Union, value: Readonly<Record<string, unknown>>, search: Search, path: Path): void => {
  const members = ast.types.filter((type) => type._tag === "Objects")
  const tag = members[0]?.propertySignatures.find(({ name, type }) => typeof name === "string" && isText(type))?.name
  if (typeof tag !== "string" || members.length < ast.types.length) return
  const isDefaulted = members.some(({ propertySignatures }) =>
    propertySignatures.some(({ name, type }) => name === tag && mayBeMissing(type)),
  )
  if (isDefaulted && !Object.hasOwn(value, tag)) return
  const literals = members.flatMap(({ propertySignatures }) =>
    propertySignatures.flatMap(({ name, type }) => (name === tag && isText(type) ? [type.literal] : [])),
  )
  if (literals.length < members.length) return
  const at = [...path, tag]
  search.found.push({ path: at, message: describeTag(value[tag], [...new Set(literals)], at) })
}

const isText = (type: SchemaAST.AST): type is SchemaAST.Literal & { readonly literal: string } =>
  type._tag === "Literal" && typeof type.literal === "string"

const namesOf = (ast: SchemaAST.Objects): ReadonlyArray<string> =>
  ast.propertySignatures.flatMap(({ name }) => (typeof name === "string" ? [name] : []))

/** Whether a field is optional, or gets a default when it is decoded. */
const mayBeMissing = (type: SchemaAST.AST): boolean =>
  type.context?.isOptional === true || SchemaAST.toEncoded(type).context?.isOptional === true

/**
 * The member that was meant: the only one of the value's form, else the list that accepts the most elements, or the object
 * that has the most of the value's fields, or one whose name is near.
 */
const likeliest = ({ types }: SchemaAST.Union, value: unknown): SchemaAST.AST | undefined => {
  const fitting = types.filter((type) => hasForm(type, value))
  if (fitting.length <= 1) return fitting[0]
  if (isRecord(value)) return likeliestObject(fitting, Object.keys(value).slice(0, maxIssues))
  if (!Array.isArray(value)) return undefined
  const reached = fitting.map((type) => (type._tag === "Arrays" ? acceptedIn(type, value) : -1))
  return fitting[reached.indexOf(Math.max(...reached))]
}

const likeliestObject = (fitting: ReadonlyArray<SchemaAST.AST>, names: ReadonlyArray<string>) => {
  const objects = fitting.filter((type) => type._tag === "Objects")
  const shared = objects.map((type) => namesOf(type).filter((name) => names.includes(name)).length)
  const most = Math.max(...shared)
  return most > 0
    ? objects[shared.indexOf(most)]
    : objects.find((type) => names.some((name) => nearestName(name, namesOf(type)) !== undefined))
}

const acceptedIn = ({ rest: [item] }: SchemaAST.Arrays, value: ReadonlyArray<unknown>): number => {
  if (item === undefined) return 0
  const accepts = acceptsOf(item)
  const refused = value.findIndex((each) => !accepts(each))
  return refused === -1 ? value.length : refused
}

/** Whether a value is a list or an object like its schema, with the literals that distinguish the members of a union. */
const hasForm = (type: SchemaAST.AST, value: unknown): boolean => {
  if (type.encoding !== undefined) return false
  if (type._tag === "Suspend") return hasForm(type.thunk(), value)
  if (type._tag === "Arrays") return Array.isArray(value)
  if (type._tag !== "Objects" || !isRecord(value)) return false
  return type.propertySignatures.every(
    ({ name, type: field }) => field._tag !== "Literal" || field.literal === Reflect.get(value, name),
  )
}

/** The first issue of a part, with its decoder's message. */
const addFirst = (ast: SchemaAST.AST, value: unknown, search: Search, path: Path): void => {
  const decoded = Schema.decodeUnknownResult(decoderOf(ast), reported)(value)
  if (Result.isFailure(decoded)) add(decoded.failure.issue, search, path, value)
}

const decoders = new WeakMap<SchemaAST.AST, Schema.Decoder<unknown>>()

const decoderOf = (ast: SchemaAST.AST): Schema.Decoder<unknown> => {
  const known = decoders.get(ast)
  if (known !== undefined) return known
  const made = Schema.make<Schema.Decoder<unknown>>(ast)
  decoders.set(ast, made)
  return made
}

const add = (issue: SchemaIssue.Issue, { found, most }: Search, path: Path, written?: unknown): void => {
  found.push(...describeIssue(issue, path, written).slice(0, most - found.length))
}
