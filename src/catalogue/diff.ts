/** What applying a catalogue would change, entry by entry. */
import type { Schema } from "effect"
import { canonicalJson } from "../protocol/canonical.ts"
import type { CatalogueEncoded } from "../protocol/catalogue.ts"

export interface Change {
  /** e.g. `models/main`. */
  readonly entry: string
  readonly change: "added" | "changed" | "removed"
}

export const diffCatalogues = (before: CatalogueEncoded, after: CatalogueEncoded): ReadonlyArray<Change> => {
  const old = entriesOf(before)
  const now = entriesOf(after)
  const changes: Array<Change> = []
  for (const [entry, content] of now) {
    const known = old.get(entry)
    if (known === undefined) changes.push({ entry, change: "added" })
    else if (known !== content) changes.push({ entry, change: "changed" })
  }
  for (const entry of old.keys()) if (!now.has(entry)) changes.push({ entry, change: "removed" })
  return changes
}

/** Every entry by its name, with its content as canonical JSON. */
function entriesOf(document: CatalogueEncoded): ReadonlyMap<string, string> {
  const entries = new Map<string, string>()
  for (const [section, value] of Object.entries(asJson(document))) {
    if (section === "version") continue
    if (Array.isArray(value)) for (const item of value) entries.set(`${section}/${nameOf(item)}`, canonicalJson(item))
    else if (typeof value === "object" && value !== null) {
      for (const [name, item] of Object.entries(value)) entries.set(`${section}/${name}`, canonicalJson(item))
    } else entries.set(section, canonicalJson(value))
  }
  return entries
}

function nameOf(item: Schema.MutableJson): string {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return String(item)
  const name = item["id"] ?? item["handle"]
  return typeof name === "string" ? name : [item["model"], item["currency"], item["from"]].join("@")
}

const asJson = (document: CatalogueEncoded): { [section: string]: Schema.MutableJson } =>
  JSON.parse(JSON.stringify(document))
