/** The role in the organisation that the roles of a SCIM user name. Pure. */
import { Option, Schema } from "effect"
import { Role } from "../../protocol/catalogue/values.ts"
import { isList, isObject } from "../../protocol/scim/schema.ts"

/** The highest role that the attribute `roles` names; other values give none. */
export const sentRole = (roles: Schema.Json | undefined): Role | undefined =>
  isList(roles) ? highestRole(roles.flatMap(namesOf)) : undefined

/** The highest of some roles. */
export const highestRole = (names: ReadonlyArray<string>): Role | undefined => {
  const known = new Set(names.map((name) => name.toLowerCase()))
  return Role.literals.find((role) => known.has(role))
}

/**
 * The names of a value: its value, or that of the JSON which Entra ID puts there.
 * Source: https://learn.microsoft.com/entra/identity/app-provisioning/customize-application-attributes
 */
const namesOf = (role: Schema.Json): ReadonlyArray<string> => {
  const value = isObject(role) ? role["value"] : role
  if (typeof value !== "string") return []
  return [
    Option.getOrElse(
      Option.map(decodeAppRole(value), ({ value }) => value),
      () => value,
    ),
  ]
}

const decodeAppRole = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ value: Schema.String })))
