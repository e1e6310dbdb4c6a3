/** The changes that applying a catalogue would make, entry by entry. */
import type { Schema } from "effect"
import { canonicalJson } from "../protocol/values/canonical.ts"
import { duration } from "../protocol/values/duration.ts"

export interface Change {
  /** e.g. `models/main`. */
  readonly entry: string
  readonly change: "added" | "changed" | "removed"
  /** The fields that differ, as JSON, durations as `60s`; only for the first changed entries, and for all timeouts. */
  readonly fields?: ReadonlyArray<FieldChange>
}

export interface FieldChange {
  /** e.g. `timeouts.production.ttfb`. */
  readonly path: string
  /** Absent where there was nothing. */
  readonly before?: string
  /** Absent where there is nothing any more. */
  readonly after?: string
}

/** A change of more entries than this is not listed field by field. */
const mostEntriesWithFields = 100
const mostFields = 16
const mostCharacters = 200

/** A catalogue as it is stored. */
export type JsonDocument = Readonly<Record<string, Schema.Json>>

/** Every entry by its name, with its content as canonical JSON. */
export type Entries = ReadonlyMap<string, string>

export const entriesOf = (document: JsonDocument): Entries => {
  const entries = new Map<string, string>()
  for (const [section, value] of Object.entries(document)) {
    if (section === "version") continue
    if (isList(value)) for (const item of value) entries.set(entryName(section, item), canonicalJson(item))
    else if (typeof value === "object" && value !== null) {
      for (const [name, item] of Object.entries(value)) entries.set(`${section}/${name}`, canonicalJson(item))
    } else entries.set(section, canonicalJson(value))
  }
  return entries
}

export const changesOf = (before: Entries, after: Entries): ReadonlyArray<Change> => {
  const changes: Array<Change> = []
  let told = 0
  for (const [entry, content] of after) {
    const known = before.get(entry)
    if (known === undefined) changes.push({ entry, change: "added", ...timesOf(entry, undefined, content) })
    else if (known !== content) {
      const fields = told++ < mostEntriesWithFields ? fieldsOf(JSON.parse(known), JSON.parse(content)) : []
      changes.push({ entry, change: "changed", ...(fields.length > 0 && { fields: fields.slice(0, mostFields) }) })
    }
  }
  for (const [entry, content] of before) {
    if (!after.has(entry)) changes.push({ entry, change: "removed", ...timesOf(entry, content, undefined) })
  }
  return changes
}

/** The times that an added or removed entry of the platform's timeouts changes, which no other entry shows. */
const timesOf = (entry: string, before: string | undefined, after: string | undefined): Pick<Change, "fields"> => {
  if (!entry.startsWith("timeouts/")) return {}
  const was: Schema.Json | undefined = before === undefined ? undefined : JSON.parse(before)
  const is: Schema.Json | undefined = after === undefined ? undefined : JSON.parse(after)
  return { fields: fieldsOf(was ?? (isObject(is) ? {} : undefined), is ?? (isObject(was) ? {} : undefined)) }
}

const fieldsOf = (before: Schema.Json | undefined, after: Schema.Json | undefined, path = ""): Array<FieldChange> => {
  if (isObject(before) && isObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...names].flatMap((name) => fieldsOf(before[name], after[name], path === "" ? name : `${path}.${name}`))
  }
  const [was, is] = [textOf(before), textOf(after)]
  if (was === is) return []
  return [{ path, ...(was !== undefined && { before: was }), ...(is !== undefined && { after: is }) }]
}

const isObject = (value: Schema.Json | undefined): value is { readonly [name: string]: Schema.Json } =>
  typeof value === "object" && value !== null && !isList(value)

const textOf = (value: Schema.Json | undefined): string | undefined => {
  // Durations are stored in milliseconds, and printed in the form that people write.
  if (typeof value === "string" && /^\d+ms$/.test(value)) return duration(Number.parseInt(value, 10))
  const text = value === undefined ? undefined : canonicalJson(value)
  return text === undefined || text.length <= mostCharacters ? text : `${text.slice(0, mostCharacters)}…`
}

/** e.g. `models/main`. */
export const entryName = (section: string, item: Schema.Json): string => `${section}/${nameOf(item)}`

const nameOf = (item: Schema.Json): string => {
  if (typeof item !== "object" || item === null || isList(item)) return String(item)
  const name = item["id"] ?? item["handle"]
  return typeof name === "string" ? name : [item["model"], item["currency"], item["from"]].join("@")
}

export const isList = (value: Schema.Json | undefined): value is ReadonlyArray<Schema.Json> => Array.isArray(value)
