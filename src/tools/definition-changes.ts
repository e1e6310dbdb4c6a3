/** The differences between two definitions of a tool, for operators who agree to them. Pure. */
import type { Schema } from "effect"

export interface DefinitionChange {
  /** The members that lead to it, e.g. `inputSchema.properties.city.description`. */
  readonly path: string
  /** Undefined if it is new. */
  readonly agreed: Schema.Json | undefined
  /** Undefined if it was removed. */
  readonly changed: Schema.Json | undefined
}

type Definition = Readonly<Record<string, Schema.Json>>
const isDefinition = (value: Schema.Json | undefined): value is Definition =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Lists and texts are compared whole. */
export const definitionChanges = (
  agreed: Definition,
  changed: Definition,
  path: ReadonlyArray<string> = [],
): ReadonlyArray<DefinitionChange> =>
  [...new Set([...Object.keys(agreed), ...Object.keys(changed)])].flatMap((name) => {
    const [before, after] = [agreed[name], changed[name]]
    const at = [...path, name]
    if (isDefinition(before) && isDefinition(after)) return definitionChanges(before, after, at)
    return JSON.stringify(before) === JSON.stringify(after)
      ? []
      : [{ path: at.join("."), agreed: before, changed: after }]
  })

/** A text as it is, and any other value as JSON. */
export const valueText = (value: Schema.Json | undefined): string =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value)
