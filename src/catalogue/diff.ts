/** What applying a catalogue would change, entry by entry. */
import type { Schema } from "effect"
import { canonicalJson } from "../protocol/canonical.ts"

export interface Change {
  /** e.g. `models/main`. */
  readonly entry: string
  readonly change: "added" | "changed" | "removed"
}

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
  for (const [entry, content] of after) {
    const known = before.get(entry)
    if (known === undefined) changes.push({ entry, change: "added" })
    else if (known !== content) changes.push({ entry, change: "changed" })
  }
  for (const entry of before.keys()) if (!after.has(entry)) changes.push({ entry, change: "removed" })
  return changes
}

/** e.g. `models/main`. */
export const entryName = (section: string, item: Schema.Json): string => `${section}/${nameOf(item)}`

const nameOf = (item: Schema.Json): string => {
  if (typeof item !== "object" || item === null || isList(item)) return String(item)
  const name = item["id"] ?? item["handle"]
  return typeof name === "string" ? name : [item["model"], item["currency"], item["from"]].join("@")
}

export const isList = (value: Schema.Json | undefined): value is ReadonlyArray<Schema.Json> => Array.isArray(value)
