/** The features of the SCIM routes, for clients that ask. RFC 7643 sections 5 to 7; RFC 7644 section 4. */
import type { Schema } from "effect"
import { type Attribute, type ResourceKind, resourceKinds, userKind } from "./schema.ts"

/** Maximum number of resources of a list. */
export const maxCount = 200

const unsupported = { supported: false }

export const serviceProviderConfig = (base: string): Schema.JsonObject => ({
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
  documentationUri: base.replace(/\/scim\/v2$/u, "/docs/how-to/scim"),
  patch: { supported: true },
  bulk: { ...unsupported, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: maxCount },
  changePassword: unsupported,
  sort: unsupported,
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: "oauthbearertoken",
      name: "Bearer token",
      description: "The token that the organisation's owner or admin made for its directory",
      specUri: "https://www.rfc-editor.org/rfc/rfc6750",
      primary: true,
    },
  ],
  meta: { resourceType: "ServiceProviderConfig", location: `${base}/ServiceProviderConfig` },
})

export const resourceTypes = (base: string): ReadonlyArray<Schema.JsonObject & { readonly id: string }> =>
  resourceKinds.map(({ name, endpoint, description, schema, extension }: ResourceKind) => ({
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
    id: name,
    name,
    endpoint,
    description,
    schema,
    ...(extension !== undefined && { schemaExtensions: [{ schema: extension.schema, required: false }] }),
    meta: { resourceType: "ResourceType", location: `${base}/ResourceTypes/${name}` },
  }))

export const schemas = (base: string): ReadonlyArray<Schema.JsonObject & { readonly id: string }> => {
  const schemaOf = (id: string, name: string, description: string, attributes: ReadonlyArray<Attribute>) => ({
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
    id,
    name,
    description,
    attributes: attributes.map(describe),
    meta: { resourceType: "Schema", location: `${base}/Schemas/${id}` },
  })
  const { extension } = userKind
  return [
    ...resourceKinds.map((kind) => schemaOf(kind.schema, kind.name, kind.description, kind.attributes)),
    ...(extension === undefined
      ? []
      : [schemaOf(extension.schema, extension.name, "What companies know of their people", extension.attributes)]),
  ]
}

/** An attribute with its defaults. RFC 7643 section 2.2. */
const describe = (attribute: Attribute): Schema.JsonObject => ({
  name: attribute.name,
  type: attribute.type,
  multiValued: attribute.multiValued ?? false,
  description: attribute.description,
  required: attribute.required ?? false,
  caseExact: attribute.caseExact ?? false,
  mutability: attribute.mutability ?? "readWrite",
  returned: attribute.returned ?? "default",
  uniqueness: attribute.uniqueness ?? "none",
  ...(attribute.canonicalValues !== undefined && { canonicalValues: attribute.canonicalValues }),
  ...(attribute.referenceTypes !== undefined && { referenceTypes: attribute.referenceTypes }),
  ...(attribute.subAttributes !== undefined && { subAttributes: attribute.subAttributes.map(describe) }),
})
