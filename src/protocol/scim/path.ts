/** Names of attributes in filters and paths: `userName`, `name.familyName`, or behind the URN of a schema. RFC 7644 section 3.10. */
import { type Attribute, attributeNamed, commonAttributes, type ResourceKind } from "./schema.ts"

/** An attribute, or the part of one. */
export interface AttributePath {
  /** The URN of the extension that it belongs to. */
  readonly extension?: string | undefined
  /** Absent for an extension as a whole. */
  readonly attribute: Attribute | undefined
  readonly sub?: Attribute | undefined
}

/** The attribute of a written path; undefined if the schemas have none. */
export const attributePath = (kind: ResourceKind, written: string): AttributePath | undefined => {
  const { extension } = kind
  if (extension !== undefined && startsWith(written, extension.schema)) {
    const rest = written.slice(extension.schema.length)
    if (rest === "") return { extension: extension.schema, attribute: undefined }
    const found = rest.startsWith(":") || rest.startsWith(".") ? within(extension.attributes, rest.slice(1)) : undefined
    return found && { extension: extension.schema, ...found }
  }
  const name = startsWith(written, `${kind.schema}:`) ? written.slice(kind.schema.length + 1) : written
  return within([...kind.attributes, ...commonAttributes], name)
}

const startsWith = (text: string, start: string): boolean =>
  text.slice(0, start.length).toLowerCase() === start.toLowerCase()

const within = (attributes: ReadonlyArray<Attribute>, written: string): AttributePath | undefined => {
  const [name = "", subName, ...more] = written.split(".")
  const attribute = attributeNamed(attributes, name)
  if (attribute === undefined || more.length > 0) return undefined
  if (subName === undefined) return { attribute }
  const sub = attributeNamed(attribute.subAttributes ?? [], subName)
  return sub && { attribute, sub }
}
