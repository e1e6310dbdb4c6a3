/**
 * Accepts JSON that its schema accepts unchanged, by one walk that copies nothing. It is made from the schema, and it never
 * accepts what the schema does not: if it is not sure (a transformation, a class, a refusal), the schema's own decoder
 * decides, and writes the messages.
 */
import { Schema, type SchemaAST } from "effect"

type Accepts = (value: unknown) => boolean

const options: SchemaAST.ParseOptions = { errors: "first", onExcessProperty: "error" }

/** Whether a value is sure to be decoded to itself, with unknown fields refused. */
export const acceptsPlainly = <S extends { readonly ast: SchemaAST.AST; readonly Type: unknown }>(
  { ast }: S,
  json: unknown,
): json is S["Type"] => acceptsOf(ast)(json)

const made = new WeakMap<SchemaAST.AST, Accepts>()

/** The check of one schema, made once. */
export const acceptsOf = (ast: SchemaAST.AST): Accepts => {
  const known = made.get(ast)
  if (known !== undefined) return known
  // A schema that contains itself finds this while it is made.
  let accepts: Accepts = (value) => accepts(value)
  made.set(ast, (value) => accepts(value))
  accepts = withChecks(ast, plain(ast))
  made.set(ast, accepts)
  return accepts
}

const never: Accepts = () => false

/** The form of a value, without its checks. */
const plain = (ast: SchemaAST.AST): Accepts => {
  if (ast.encoding !== undefined) return never
  switch (ast._tag) {
    case "String":
      return (value) => typeof value === "string"
    case "Number":
      return (value) => typeof value === "number"
    case "Boolean":
      return (value) => typeof value === "boolean"
    case "Null":
      return (value) => value === null
    case "Unknown":
    case "Any":
      return () => true
    case "Literal": {
      const { literal } = ast
      return (value) => value === literal
    }
    case "Arrays":
      return ast.encodingChecks === undefined ? arrayOf(ast) : never
    case "Objects":
      return ast.encodingChecks === undefined ? objectOf(ast) : never
    case "Union":
      return ast.encodingChecks === undefined && ast.options?.mode !== "oneOf" ? unionOf(ast) : never
    case "Declaration":
      return isJsonDeclaration(ast) ? isPlainJson : never
    case "Suspend": {
      let inner: Accepts | undefined
      return (value) => {
        inner ??= acceptsOf(ast.thunk())
        return inner(value)
      }
    }
    default:
      return never
  }
}

/** JSON of any form is declared by Effect, not built of parts. */
const isJsonDeclaration = ({ run }: SchemaAST.Declaration): boolean => {
  const { ast } = Schema.Json
  return ast._tag === "Declaration" && ast.run === run
}

const isPlainJson = (value: unknown): boolean => {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true
  if (typeof value === "number") return Number.isFinite(value)
  if (Array.isArray(value)) return value.every(isPlainJson)
  if (!isRecord(value) || Object.getPrototypeOf(value) !== Object.prototype) return false
  for (const name in value) if (name === "__proto__" || !isPlainJson(value[name])) return false
  return true
}

const withChecks = (ast: SchemaAST.AST, accepts: Accepts): Accepts => {
  const checks = filtersOf(ast.checks ?? [])
  if (checks.length === 0) return accepts
  // A list that is too long is not read.
  const first = maxLengthsOf(ast)
  const accepted = (filters: ReadonlyArray<Filter>, value: unknown) =>
    filters.every(({ run }) => run(value, ast, options) === undefined)
  if (first.length === 0) return (value) => accepts(value) && accepted(checks, value)
  return (value) => Array.isArray(value) && accepted(first, value) && accepts(value) && accepted(checks, value)
}

/** The checks of a list that limit its length; empty for other schemas. */
export const maxLengthsOf = (ast: SchemaAST.AST): ReadonlyArray<Filter> =>
  ast._tag === "Arrays" ? filtersOf(ast.checks ?? []).filter(isMaxLength) : []

const isMaxLength = ({ annotations }: Filter): boolean =>
  annotations?.representation?.id === "effect/schema/isMaxLength"

type Checks = NonNullable<SchemaAST.AST["checks"]>
type Filter = Extract<Checks[number], { readonly _tag: "Filter" }>

const filtersOf = (checks: ReadonlyArray<Checks[number]>): ReadonlyArray<Filter> =>
  checks.flatMap((check) => (check._tag === "Filter" ? [check] : filtersOf(check.checks)))

const arrayOf = ({ elements, rest }: SchemaAST.Arrays): Accepts => {
  const [item, ...more] = rest
  if (elements.length > 0 || item === undefined || more.length > 0) return never
  const accepts = acceptsOf(item)
  return (value) => {
    if (!Array.isArray(value)) return false
    for (const each of value) if (!accepts(each)) return false
    return true
  }
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const objectOf = ({ propertySignatures, indexSignatures }: SchemaAST.Objects): Accepts => {
  if (indexSignatures.length > 0) return propertySignatures.length === 0 ? recordOf(indexSignatures) : never
  // An empty struct also accepts values that are no object.
  if (propertySignatures.length === 0) return never
  const fields = new Map<string, Accepts>()
  for (const { name, type } of propertySignatures) {
    if (typeof name !== "string" || name === "__proto__") return never
    fields.set(name, acceptsOf(type))
  }
  const isRequired = new Set(
    propertySignatures.flatMap(({ name, type }) => (type.context?.isOptional === true ? [] : [name])),
  )
  return (value) => {
    if (!isRecord(value)) return false
    let found = 0
    for (const name in value) {
      const accepts = fields.get(name)
      if (accepts === undefined || !accepts(value[name])) return false
      if (isRequired.has(name)) found++
    }
    return found === isRequired.size
  }
}

const recordOf = (signatures: ReadonlyArray<SchemaAST.IndexSignature>): Accepts => {
  const [signature, ...more] = signatures
  if (signature === undefined || more.length > 0 || signature.parameter._tag !== "String") return never
  const acceptsKey = acceptsOf(signature.parameter)
  const accepts = acceptsOf(signature.type)
  return (value) => {
    if (!isRecord(value)) return false
    for (const name in value) {
      if (name === "__proto__" || !acceptsKey(name) || !accepts(value[name])) return false
    }
    return true
  }
}

/** Literals, and members that differ in one, are found by it; the others are tried in turn. */
const unionOf = ({ types }: SchemaAST.Union): Accepts => {
  if (types.every((type) => type._tag === "Literal" && type.encoding === undefined && type.checks === undefined)) {
    const literals = new Set<unknown>(types.flatMap((type) => (type._tag === "Literal" ? [type.literal] : [])))
    return (value) => literals.has(value)
  }
  const field = commonLiteral(types)
  if (field === undefined) {
    const members = types.map(acceptsOf)
    return (value) => members.some((accepts) => accepts(value))
  }
  const members = Map.groupBy(types, (type) => literalOf(type, field))
  const byLiteral = new Map([...members].map(([literal, group]) => [literal, group.map(acceptsOf)]))
  return (value) => isRecord(value) && (byLiteral.get(value[field])?.some((accepts) => accepts(value)) ?? false)
}

/** A field that is a literal in every member. */
const commonLiteral = (types: ReadonlyArray<SchemaAST.AST>): string | undefined => {
  const [first] = types
  const names = first?._tag === "Objects" ? first.propertySignatures.map(({ name }) => name) : []
  return names
    .filter((name): name is string => typeof name === "string")
    .find((name) => types.every((type) => literalOf(type, name) !== undefined))
}

const literalOf = (type: SchemaAST.AST, field: string): unknown => {
  if (type._tag !== "Objects") return undefined
  const found = type.propertySignatures.find(({ name }) => name === field)?.type
  const isSure = found?._tag === "Literal" && found.encoding === undefined && found.context?.isOptional !== true
  return isSure ? found.literal : undefined
}
