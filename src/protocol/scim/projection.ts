/** The attributes of a reply that a client asks for. Pure. RFC 7644 section 3.9. */
import type { Schema } from "effect"
import { type AttributePath, attributePath } from "./path.ts"
import { isList, isObject, type ResourceKind } from "./schema.ts"

export interface Projection {
  /** Undefined for all. */
  readonly attributes: ReadonlyArray<AttributePath> | undefined
  readonly excluded: ReadonlyArray<AttributePath>
}

/** Reads `attributes` and `excludedAttributes`. Names that the schemas do not have select nothing. */
export const readProjection = (
  kind: ResourceKind,
  attributes: ReadonlyArray<string> | undefined,
  excluded: ReadonlyArray<string> | undefined,
): Projection => {
  const pathsOf = (names: ReadonlyArray<string>) => names.flatMap((name) => attributePath(kind, name.trim()) ?? [])
  return { attributes: attributes && pathsOf(attributes), excluded: pathsOf(excluded ?? []) }
}

/** Whether a reply has an attribute. */
export const hasAttribute = (projection: Projection, name: string): boolean =>
  (projection.attributes?.some(({ attribute }) => attribute?.name === name) ?? true) &&
  !projection.excluded.some(({ attribute, sub }) => attribute?.name === name && sub === undefined)

/** Attributes that every reply has. */
const always = ["schemas", "id"]

export const project = (resource: Schema.JsonObject, { attributes, excluded }: Projection): Schema.JsonObject => {
  if (attributes === undefined && excluded.length === 0) return resource
  const kept = attributes === undefined ? resource : keep(resource, [...attributes])
  const after = excluded.reduce((left, path) => without(left, path), kept)
  const needed = Object.fromEntries(Object.entries(resource).filter(([name]) => always.includes(name)))
  return { ...needed, ...after }
}

const keep = (resource: Schema.JsonObject, paths: ReadonlyArray<AttributePath>): Schema.JsonObject => {
  const kept: Record<string, Schema.Json> = {}
  for (const { extension, attribute, sub } of paths) {
    const from = extension === undefined ? resource : resource[extension]
    if (!isObject(from)) continue
    if (attribute === undefined) {
      if (extension !== undefined) kept[extension] = from
      continue
    }
    const value = from[attribute.name]
    if (value === undefined) continue
    const part = sub === undefined ? value : partOf(value, sub.name)
    if (extension === undefined) kept[attribute.name] = merged(kept[attribute.name], part)
    else kept[extension] = merged(kept[extension], { [attribute.name]: part })
  }
  return kept
}

const partOf = (value: Schema.Json, name: string): Schema.Json => {
  if (isList(value)) return value.map((item) => partOf(item, name))
  return isObject(value) && value[name] !== undefined ? { [name]: value[name] } : {}
}

/** Two parts of one value. */
const merged = (known: Schema.Json | undefined, more: Schema.Json): Schema.Json => {
  if (isList(known) && isList(more)) return known.map((item, at) => merged(item, more[at] ?? {}))
  return isObject(known) && isObject(more) ? { ...known, ...more } : more
}

const without = (resource: Schema.JsonObject, { extension, attribute, sub }: AttributePath): Schema.JsonObject => {
  if (extension !== undefined) {
    const { [extension]: holder, ...others } = resource
    if (attribute === undefined || !isObject(holder)) return others
    return { ...others, [extension]: without(holder, { attribute, sub }) }
  }
  if (attribute === undefined || always.includes(attribute.name)) return resource
  const { [attribute.name]: value, ...others } = resource
  if (value === undefined || sub === undefined) return others
  return { ...others, [attribute.name]: withoutPart(value, sub.name) }
}

const withoutPart = (value: Schema.Json, name: string): Schema.Json => {
  if (isList(value)) return value.map((item) => withoutPart(item, name))
  if (!isObject(value)) return value
  const { [name]: _, ...others } = value
  return others
}
