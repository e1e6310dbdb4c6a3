/** People and teams as SCIM shows them. Pure. RFC 7643 sections 3, 4.1 and 4.2. */
import { hash } from "node:crypto"
import type { Schema } from "effect"
import type { Role } from "../../protocol/catalogue/values.ts"
import { groupKind, type ResourceKind, userKind } from "../../protocol/scim/schema.ts"
import { normalEmail } from "../../protocol/values/text.ts"
import { sentRole } from "./sent-roles.ts"

interface Stored {
  readonly id: string
  /** The attributes that the directory sent; empty for a resource that was made here. */
  readonly attributes: Schema.JsonObject
  /** The revision of the row of tenants; empty for a group that gives a role. */
  readonly revision: string
  /** The revision of the attributes; "0" without. */
  readonly scimRevision: string
  readonly createdAt: string
  readonly changedAt: string
}

export interface StoredUser extends Stored {
  readonly email: string
  readonly role: Role
  readonly isActive: boolean
  readonly groups: ReadonlyArray<{ readonly value: string; readonly display: string }>
}

export interface StoredGroup extends Stored {
  readonly displayName: string
  /** The role that the group gives; undefined for a team. */
  readonly role: Role | undefined
  /** Whether the organisation's provider names the team. */
  readonly isMapped: boolean
  /** Ids of people. */
  readonly members: ReadonlyArray<string>
}

/** The attributes of a person that a directory may write. */
export const userAttributes = (user: StoredUser): Schema.JsonObject => {
  const { attributes, email, isActive } = user
  const sent = attributes["userName"]
  const userName = typeof sent === "string" && normalEmail(sent) === normalEmail(email) ? sent : email
  return { ...attributes, userName, active: isActive }
}

export const userJson = (user: StoredUser, base: string): Schema.JsonObject => {
  const { attributes, role, groups, email } = user
  const known = userAttributes(user)
  // A role that was changed here is shown; one that was sent is answered as it was sent.
  const isAsSent = (sentRole(attributes["roles"]) ?? "member") === role
  return withMeta(userKind, user, base, {
    ...known,
    ...(Object.keys(attributes).length === 0 && { emails: [{ value: email, type: "work", primary: true }] }),
    ...(!isAsSent && { roles: [{ value: role }] }),
    ...(groups.length > 0 && {
      groups: groups.map(({ value, display }) => ({
        value,
        $ref: locationOf(groupKind, value, base),
        display,
        type: "direct",
      })),
    }),
  })
}

/** The attributes of a group that a directory may write. */
export const groupAttributes = ({ attributes, displayName, members }: StoredGroup): Schema.JsonObject => ({
  ...attributes,
  displayName,
  ...(members.length > 0 && { members: members.map((value) => ({ value })) }),
})

export const groupJson = (group: StoredGroup, base: string): Schema.JsonObject =>
  withMeta(groupKind, group, base, {
    ...groupAttributes(group),
    ...(group.members.length > 0 && {
      members: group.members.map((value) => ({ value, $ref: locationOf(userKind, value, base), type: "User" })),
    }),
  })

export const locationOf = (kind: ResourceKind, id: string, base: string): string =>
  `${base}${kind.endpoint}/${encodeURIComponent(id)}`

const withMeta = (
  kind: ResourceKind,
  { id, createdAt, changedAt }: Stored,
  base: string,
  attributes: Schema.JsonObject,
): Schema.JsonObject => {
  const { extension } = kind
  const isExtended = extension !== undefined && attributes[extension.schema] !== undefined
  const resource = { schemas: [kind.schema, ...(isExtended ? [extension.schema] : [])], id, ...attributes }
  return {
    ...resource,
    meta: {
      resourceType: kind.name,
      created: new Date(createdAt).toISOString(),
      lastModified: new Date(changedAt).toISOString(),
      location: locationOf(kind, id, base),
      version: versionOf(kind, id, attributes),
    },
  }
}

/** A weak validator: the same attributes have the same version, wherever they are read. RFC 7644 section 3.14. */
const versionOf = (kind: ResourceKind, id: string, attributes: Schema.JsonObject): string => {
  const sorted = Object.entries(attributes)
    .filter(([name]) => name !== "groups")
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => [name, name === "members" || name === "groups" ? valuesOf(value) : value])
  return `W/"${hash("sha256", JSON.stringify([kind.name, id, sorted])).slice(0, 24)}"`
}

const valuesOf = (list: Schema.Json | undefined) =>
  Array.isArray(list)
    ? list.map((item: Schema.Json) =>
        item !== null && typeof item === "object" && "value" in item ? item.value : item,
      )
    : list
