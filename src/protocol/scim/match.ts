/** Whether a resource meets a filter. Pure. RFC 7644 section 3.4.2.2. */
import type { Schema } from "effect"
import type { Comparator, Filter, FilterValue } from "./filter.ts"
import type { AttributePath } from "./path.ts"
import { type Attribute, attributeNamed, isList, isObject, memberNamed } from "./schema.ts"

/** @param resource a resource, or a value of a list. */
export const matches = (filter: Filter, resource: Schema.JsonObject): boolean => {
  switch (filter.op) {
    case "and":
      return filter.of.every((part) => matches(part, resource))
    case "or":
      return filter.of.some((part) => matches(part, resource))
    case "not":
      return !matches(filter.filter, resource)
    case "unknown":
      return filter.isTrue
    case "pr":
      return valuesAt(filter.path, resource).some(isPresent)
    case "values":
      return valuesAt(filter.path, resource).some((value) => isObject(value) && matches(filter.filter, value))
    default: {
      const { attribute, values } = comparedAt(filter.path, resource)
      return compare(filter.op, attribute, values, filter.value)
    }
  }
}

const isPresent = (value: Schema.Json): boolean => value !== "" && !(isObject(value) && Object.keys(value).length === 0)

/** The values of an attribute, of a list each. */
const valuesAt = (
  { extension, attribute, sub }: AttributePath,
  resource: Schema.JsonObject,
): ReadonlyArray<Schema.Json> => {
  const holder = extension === undefined ? resource : memberNamed(resource, extension)
  if (!isObject(holder)) return []
  const values = attribute === undefined ? [holder] : listOf(memberNamed(holder, attribute.name))
  return sub === undefined
    ? values
    : values.flatMap((value) => (isObject(value) ? listOf(memberNamed(value, sub.name)) : []))
}

const listOf = (value: Schema.Json | undefined): ReadonlyArray<Schema.Json> =>
  value === undefined || value === null ? [] : isList(value) ? value : [value]

/** The values that are compared: of values with parts, the part `value`. */
const comparedAt = (path: AttributePath, resource: Schema.JsonObject) => {
  const attribute = path.sub ?? path.attribute
  const value = attribute?.type === "complex" ? attributeNamed(attribute.subAttributes ?? [], "value") : undefined
  return value === undefined
    ? { attribute, values: valuesAt(path, resource) }
    : { attribute: value, values: valuesAt({ ...path, sub: value }, resource) }
}

const compare = (
  op: Comparator,
  attribute: Attribute | undefined,
  values: ReadonlyArray<Schema.Json>,
  wanted: FilterValue,
): boolean => {
  if (op === "ne") return !compare("eq", attribute, values, wanted)
  if (wanted === null) return op === "eq" && !values.some(isPresent)
  return values.some((value) => holds(op, orderOf(attribute, value), orderOf(attribute, wanted)))
}

/** A value in the form in which it is compared. Entra ID writes booleans as text. */
const orderOf = (attribute: Attribute | undefined, value: Schema.Json): string | number | undefined => {
  if (isObject(value) || isList(value) || value === null) return undefined
  if (attribute?.type === "dateTime") {
    const at = Date.parse(String(value))
    return Number.isNaN(at) ? undefined : at
  }
  const text = String(value)
  return attribute?.caseExact === true ? text : text.toLowerCase()
}

const holds = (op: Comparator, value: string | number | undefined, wanted: string | number | undefined): boolean => {
  if (value === undefined || wanted === undefined) return false
  switch (op) {
    case "eq":
      return value === wanted
    case "ne":
      return value !== wanted
    case "gt":
      return value > wanted
    case "ge":
      return value >= wanted
    case "lt":
      return value < wanted
    case "le":
      return value <= wanted
    case "co":
      return String(value).includes(String(wanted))
    case "sw":
      return String(value).startsWith(String(wanted))
    case "ew":
      return String(value).endsWith(String(wanted))
  }
}
