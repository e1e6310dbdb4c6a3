/**
 * Entries in force that a text no longer contains, and that stay unless they are pruned: a text from which a part was lost
 * must not take away organisations, their people and keys, or a limit of what they may spend. Pure.
 */
import { Result, Schema } from "effect"
import { CatalogueDocument } from "../protocol/catalogue/document.ts"
import { entryName, isList, type JsonDocument } from "./diff.ts"
import { type CatalogueIssue, formatPath } from "./load.ts"
import { checkReferences } from "./references.ts"

const sections = ["orgs", "users", "teams", "apps", "keys", "budgets"] as const

/** Entries by their section, in the order of the catalogue in force. */
export type Dropped = ReadonlyMap<(typeof sections)[number], ReadonlyArray<Schema.Json>>

/** @param before the catalogue in force */
export const droppedOf = (document: JsonDocument, before: JsonDocument): Dropped =>
  new Map(
    sections.flatMap((section) => {
      const known = new Set(listOf(document, section).map((item) => entryName(section, item)))
      const items = listOf(before, section).filter((item) => !known.has(entryName(section, item)))
      return items.length === 0 ? [] : [[section, items] as const]
    }),
  )

/** Their names, e.g. `orgs/acme`. */
export const namesOf = (dropped: Dropped): ReadonlyArray<string> =>
  [...dropped].flatMap(([section, items]) => items.map((item) => entryName(section, item)))

/** The document with the dropped entries, which come last; or what they need and the document no longer has. */
export const withDropped = (
  document: JsonDocument,
  dropped: Dropped,
): Result.Result<JsonDocument, ReadonlyArray<CatalogueIssue>> => {
  const whole = { ...document }
  for (const [section, items] of dropped) whole[section] = [...listOf(document, section), ...items]
  const decoded = decode(whole)
  if (Result.isFailure(decoded)) {
    const message = `what is no longer in this text cannot stay, because this version cannot read it (${prune})`
    return Result.fail([{ path: "", line: 1, message }])
  }
  const problems = checkReferences(decoded.success)
  if (problems.length === 0) return Result.succeed(whole)
  return Result.fail(
    problems.map(({ path: [section, at, ...rest], message }) => {
      const item = listOf(whole, String(section))[Number(at)]
      const entry = item === undefined ? String(section) : entryName(String(section), item)
      return {
        path: "",
        line: 1,
        message: `${entry} stays without being in this text (${prune}): ${formatPath(rest)}: ${message}`,
      }
    }),
  )
}

const prune = "--prune or SVC_CATALOGUE_PRUNE=1 removes it"
const decode = Schema.decodeUnknownResult(CatalogueDocument)

const listOf = (document: JsonDocument, section: string): ReadonlyArray<Schema.Json> => {
  const list = document[section]
  return isList(list) ? list : []
}
