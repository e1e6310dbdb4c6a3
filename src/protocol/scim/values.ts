/** Values of SCIM attributes as clients send them, in the form in which they are stored. Pure. RFC 7643 section 2. */

import type { Schema } from "effect"
import { Result } from "effect"
import { isStorable } from "../values/text.ts"
import { type Checked, refuse } from "./problem.ts"
import {
  type Attribute,
  attributeNamed,
  commonAttributes,
  isList,
  isObject,
  memberNamed,
  type ResourceKind,
} from "./schema.ts"

/** Maximum length of a text. */
const maxText = 4096
/** Maximum number of values of a list other than members. */
const maxValues = 100
export const maxMembers = 100_000

/** Whether clients may write an attribute. */
export const isWritable = ({ mutability }: Attribute): boolean => mutability !== "readOnly"

/** The writable attributes of a kind, outside its extension. */
export const writableAttributes = (kind: ResourceKind): ReadonlyArray<Attribute> =>
  [...kind.attributes, ...commonAttributes].filter(isWritable)

/**
 * The attributes of a resource that is created or replaced. Attributes that the schemas do not have, or that clients cannot write,
 * are left out. RFC 7644 section 3.3.
 */
export const readResource = (kind: ResourceKind, body: Schema.Json): Checked<Schema.JsonObject> => {
  if (!isObject(body)) return refuse("invalidSyntax", "The body must be an object")
  return Result.flatMap(readMembers(writableAttributes(kind), body), (attributes) => {
    const missing = kind.attributes.find(
      ({ name, required, type }) => required === true && type === "string" && attributes[name] === undefined,
    )
    if (missing !== undefined) return refuse("invalidValue", `${missing.name} is required`)
    const { extension } = kind
    const sent = extension === undefined ? undefined : memberNamed(body, extension.schema)
    if (extension === undefined || !isObject(sent)) return Result.succeed(attributes)
    return Result.map(readMembers(extension.attributes, sent), (more) =>
      Object.keys(more).length === 0 ? attributes : { ...attributes, [extension.schema]: more },
    )
  })
}

/** The members of an object that are attributes; null is no value. */
const readMembers = (attributes: ReadonlyArray<Attribute>, sent: Schema.JsonObject): Checked<Schema.JsonObject> => {
  const read: Record<string, Schema.Json> = {}
  for (const [name, value] of Object.entries(sent)) {
    const attribute = attributeNamed(attributes, name)
    if (attribute === undefined || !isWritable(attribute)) continue
    const checked = readValue(attribute, value)
    if (Result.isFailure(checked)) return Result.fail(checked.failure)
    if (checked.success !== undefined) read[attribute.name] = checked.success
  }
  return Result.succeed(read)
}

/** A whole value of an attribute; undefined if it is unassigned. RFC 7643 section 2.5. */
export const readValue = (attribute: Attribute, value: Schema.Json): Checked<Schema.Json | undefined> => {
  if (value === null) return Result.succeed(undefined)
  return attribute.multiValued === true ? readList(attribute, value) : readOne(attribute, value)
}

/** The values of a list. One value alone is a list of one. */
export const readList = (attribute: Attribute, value: Schema.Json): Checked<ReadonlyArray<Schema.Json> | undefined> => {
  const read: Array<Schema.Json> = []
  for (const item of isList(value) ? value : [value]) {
    const checked = item === null ? Result.succeed(undefined) : readOne(attribute, item)
    if (Result.isFailure(checked)) return Result.fail(checked.failure)
    if (checked.success !== undefined) read.push(checked.success)
  }
  return checkList(attribute, read)
}

/** Checks what holds for a list as a whole. */
export const checkList = (
  attribute: Attribute,
  values: ReadonlyArray<Schema.Json>,
): Checked<ReadonlyArray<Schema.Json> | undefined> => {
  const most = attribute.name === "members" ? maxMembers : maxValues
  if (values.length > most) return refuse("tooMany", `${attribute.name} has at most ${most} values`)
  if (values.filter(isPrimary).length > 1) return refuse("invalidValue", `${attribute.name}: one value may be primary`)
  return Result.succeed(values.length === 0 ? undefined : values)
}

export const isPrimary = (value: Schema.Json): boolean => isObject(value) && value["primary"] === true

/** One value. Clients send a value without its parts, and booleans as text: Entra ID sends `"False"`. */
export const readOne = (attribute: Attribute, value: Schema.Json): Checked<Schema.Json | undefined> => {
  const wrong = refuse("invalidValue", `${attribute.name}: a ${attribute.type} is required`)
  switch (attribute.type) {
    case "complex": {
      const subs = attribute.subAttributes ?? []
      const sent = typeof value === "string" && attributeNamed(subs, "value") !== undefined ? { value } : value
      if (!isObject(sent)) return wrong
      return Result.map(readMembers(subs, sent), (read) => (Object.keys(read).length === 0 ? undefined : read))
    }
    case "boolean": {
      if (typeof value === "boolean") return Result.succeed(value)
      const known = typeof value === "string" ? booleans.get(value.toLowerCase()) : undefined
      return known === undefined ? wrong : Result.succeed(known)
    }
    default: {
      if (typeof value !== "string" && typeof value !== "number") return wrong
      const text = String(value)
      if (text.length > maxText) return refuse("invalidValue", `${attribute.name} has at most ${maxText} characters`)
      return isStorable(text) ? Result.succeed(text) : wrong
    }
  }
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false],
])
