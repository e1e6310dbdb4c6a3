/** The attributes of SCIM users and groups. Names are compared without case. RFC 7643 sections 2, 4 and 7. */
import type { Schema } from "effect"

export interface Attribute {
  readonly name: string
  readonly type: "string" | "boolean" | "dateTime" | "reference" | "complex"
  readonly description: string
  readonly multiValued?: boolean
  readonly required?: boolean
  readonly caseExact?: boolean
  readonly mutability?: "readOnly" | "readWrite" | "immutable"
  readonly returned?: "always" | "default"
  readonly uniqueness?: "none" | "server"
  readonly canonicalValues?: ReadonlyArray<string>
  readonly referenceTypes?: ReadonlyArray<string>
  readonly subAttributes?: ReadonlyArray<Attribute>
}

/** A kind of resource: its schema, and the schemas that extend it. */
export interface ResourceKind {
  readonly name: "User" | "Group"
  readonly endpoint: "/Users" | "/Groups"
  readonly description: string
  readonly schema: string
  readonly attributes: ReadonlyArray<Attribute>
  readonly extension?: { readonly schema: string; readonly name: string; readonly attributes: ReadonlyArray<Attribute> }
}

const text = (name: string, description: string, more: Partial<Attribute> = {}): Attribute => ({
  name,
  type: "string",
  description,
  ...more,
})

const readOnly = { mutability: "readOnly" } as const
const immutable = { mutability: "immutable", caseExact: true } as const

/** A list of values with a type, of which one may be the primary one. RFC 7643 section 2.4. */
const values = (name: string, description: string): Attribute => ({
  name,
  type: "complex",
  multiValued: true,
  description,
  subAttributes: [
    text("value", "The value."),
    text("display", "The value for people."),
    text("type", "The kind of value, e.g. work."),
    { name: "primary", type: "boolean", description: "Whether it is the preferred value; at most one is." },
  ],
})

/** Attributes of every resource. They belong to no schema. RFC 7643 section 3.1. */
export const commonAttributes: ReadonlyArray<Attribute> = [
  text("schemas", "The schemas of the resource.", { multiValued: true, caseExact: true, ...readOnly }),
  text("id", "The id here.", { caseExact: true, returned: "always", ...readOnly }),
  text("externalId", "The id at the directory.", { caseExact: true }),
  {
    name: "meta",
    type: "complex",
    description: "Data that the gateway has about the resource.",
    ...readOnly,
    subAttributes: [
      text("resourceType", "The kind of resource.", { caseExact: true, ...readOnly }),
      { name: "created", type: "dateTime", description: "When it was made.", ...readOnly },
      { name: "lastModified", type: "dateTime", description: "When it was last changed.", ...readOnly },
      { name: "location", type: "reference", description: "Its address.", caseExact: true, ...readOnly },
      text("version", "Its version, for If-Match.", { caseExact: true, ...readOnly }),
    ],
  },
]

export const userKind: ResourceKind = {
  name: "User",
  endpoint: "/Users",
  description: "A member of the organisation",
  schema: "urn:ietf:params:scim:schemas:core:2.0:User",
  attributes: [
    text("userName", "The address with which the person logs in.", { required: true, uniqueness: "server" }),
    {
      name: "name",
      type: "complex",
      description: "The parts of the name.",
      subAttributes: [
        text("formatted", "The whole name."),
        text("familyName", "The family name."),
        text("givenName", "The given name."),
        text("middleName", "Further given names."),
        text("honorificPrefix", "A title before the name."),
        text("honorificSuffix", "A suffix after the name."),
      ],
    },
    text("displayName", "The name for people."),
    text("nickName", "A casual name."),
    { name: "profileUrl", type: "reference", referenceTypes: ["external"], description: "A page about the person." },
    text("title", "The title, e.g. Engineer."),
    text("userType", "The relation to the organisation, e.g. Contractor."),
    text("preferredLanguage", "The language that the person prefers."),
    text("locale", "The place by which numbers and dates are written."),
    text("timezone", "The time zone."),
    {
      name: "active",
      type: "boolean",
      // A person is always active or not; a creation without it makes an active one.
      required: true,
      description: "Whether the person may use the organisation. False ends tokens and sessions.",
    },
    values("emails", "Mail addresses."),
    values("phoneNumbers", "Telephone numbers."),
    {
      name: "addresses",
      type: "complex",
      multiValued: true,
      description: "Postal addresses.",
      subAttributes: [
        text("formatted", "The whole address."),
        text("streetAddress", "The street."),
        text("locality", "The city."),
        text("region", "The region."),
        text("postalCode", "The postal code."),
        text("country", "The country."),
        text("type", "The kind of address, e.g. work."),
        { name: "primary", type: "boolean", description: "Whether it is the preferred one." },
      ],
    },
    values("roles", "Roles; owner, admin and member are roles of the organisation."),
    {
      name: "groups",
      type: "complex",
      multiValued: true,
      description: "The groups of the person, which change by their members.",
      ...readOnly,
      subAttributes: [
        text("value", "The group's id.", { caseExact: true, ...readOnly }),
        { name: "$ref", type: "reference", referenceTypes: ["Group"], description: "Its address.", ...readOnly },
        text("display", "Its name.", readOnly),
        text("type", "Always direct.", { canonicalValues: ["direct"], ...readOnly }),
      ],
    },
  ],
  extension: {
    schema: "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User",
    name: "EnterpriseUser",
    attributes: [
      text("employeeNumber", "The number of the employee."),
      text("costCenter", "The cost centre."),
      text("organization", "The organisation's name."),
      text("division", "The division."),
      text("department", "The department."),
      {
        name: "manager",
        type: "complex",
        description: "The person's manager.",
        subAttributes: [text("value", "The manager's id.", { caseExact: true }), text("displayName", "The name.")],
      },
    ],
  },
}

export const groupKind: ResourceKind = {
  name: "Group",
  endpoint: "/Groups",
  description: "A team of the organisation, or a group that gives a role",
  schema: "urn:ietf:params:scim:schemas:core:2.0:Group",
  attributes: [
    text("displayName", "The group's name.", { required: true, uniqueness: "server" }),
    {
      name: "members",
      type: "complex",
      multiValued: true,
      description: "The members.",
      subAttributes: [
        text("value", "The person's id.", immutable),
        { name: "$ref", type: "reference", referenceTypes: ["User"], description: "The address.", ...immutable },
        text("type", "Always User.", { canonicalValues: ["User"], mutability: "immutable" }),
      ],
    },
  ],
}

export const resourceKinds = [userKind, groupKind] as const

/** The attribute of a name, which is compared without case. */
export const attributeNamed = (attributes: ReadonlyArray<Attribute>, name: string): Attribute | undefined => {
  const wanted = name.toLowerCase()
  return attributes.find((attribute) => attribute.name.toLowerCase() === wanted)
}

/** The value of a member of an object, whose name is compared without case. */
export const memberNamed = (object: Schema.JsonObject, name: string): Schema.Json | undefined => {
  if (Object.hasOwn(object, name)) return object[name]
  const wanted = name.toLowerCase()
  const found = Object.keys(object).find((key) => key.toLowerCase() === wanted)
  return found === undefined ? undefined : object[found]
}

export const isObject = (value: Schema.Json | undefined): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const isList = (value: Schema.Json | undefined): value is Schema.JsonArray => Array.isArray(value)
