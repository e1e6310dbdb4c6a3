/** Adds entries to the text of a catalogue; all other lines stay the same, including comments. */
import { isDeepStrictEqual } from "node:util"
import { Result, Schema } from "effect"
import { dump } from "js-yaml"
import { type CatalogueIssue, loadCatalogue } from "../catalogue/load.ts"
import { CatalogueDocument, type CatalogueEncoded } from "../protocol/catalogue/document.ts"

/** Entries to add, by section. */
export type Additions = Partial<
  Pick<CatalogueEncoded, "vendors" | "models" | "prices" | "plans" | "webhooks" | "passThrough">
>

const sectionNames = ["vendors", "models", "prices", "plans", "webhooks", "passThrough"] as const

/** The reason why entries cannot be added, for people. */
export type AddRefusal =
  | { readonly _tag: "Invalid"; readonly issues: ReadonlyArray<CatalogueIssue> }
  | { readonly _tag: "NoPlace"; readonly sections: ReadonlyArray<string> }

export interface Added {
  readonly text: string
  readonly document: CatalogueDocument
}

/** One entry on one line, as `- { id: a, dialect: anthropic }`. */
export const entryLine = (entry: object): string =>
  `- ${dump(entry, { flowLevel: 0, lineWidth: -1, flowBracketPadding: true, noRefs: true, quoteStyle: "double" }).trimEnd()}`

/**
 * Adds entries at the end of their sections, which must be lists with an entry a line. The result must mean the same as
 * before plus the new entries: anything else is refused.
 */
export const addEntries = (text: string, additions: Additions): Result.Result<Added, AddRefusal> => {
  const before = loadCatalogue(text)
  if (Result.isFailure(before)) return Result.fail({ _tag: "Invalid", issues: before.failure })
  const lines = text.trimEnd().split("\n")
  const sections = sectionNames.filter((section) => (additions[section] ?? []).length > 0)
  const full = sections.filter((section) => !append(lines, section, (additions[section] ?? []).map(entryLine)))
  if (full.length > 0) return Result.fail({ _tag: "NoPlace", sections: full })
  const added = `${lines.join("\n")}\n`
  const after = loadCatalogue(added)
  const { encoded } = before.success
  const given = asStored(additions)
  const wanted = Object.fromEntries(
    sections.map((section) => [section, [...(encoded[section] ?? []), ...(given[section] ?? [])]]),
  )
  if (Result.isSuccess(after) && isDeepStrictEqual(after.success.encoded, { ...encoded, ...wanted }))
    return Result.succeed({ text: added, document: after.success.document })
  const issues = Result.isFailure(after) ? after.failure.filter(({ path }) => path !== "") : []
  return Result.fail(issues.length > 0 ? { _tag: "Invalid", issues } : { _tag: "NoPlace", sections })
}

/** The additions as a catalogue encodes them: `90s` as `90000ms`. Invalid additions stay as they are. */
const asStored = (additions: Additions): Additions =>
  Result.getOrElse(Result.map(decode({ version: 1, ...additions }), encode), () => additions)
const decode = Schema.decodeUnknownResult(CatalogueDocument)
const encode = Schema.encodeSync(CatalogueDocument)

/** @returns whether they could be appended */
const append = (lines: Array<string>, section: string, entries: ReadonlyArray<string>): boolean => {
  const start = lines.findIndex((line) => line.startsWith(`${section}:`))
  if (start === -1) {
    lines.push(`${section}:`, ...entries.map((entry) => `  ${entry}`))
    return true
  }
  if (!/^\w+:\s*(#.*)?$/.test(lines[start] ?? "")) return false
  const following = lines.findIndex((line, at) => at > start && /^[^\s#-]/.test(line))
  let end = following === -1 ? lines.length : following
  // Comments and empty lines in front of the next section belong to it.
  while (/^(#.*)?$/.test(lines[end - 1]?.trimEnd() ?? "x")) end--
  const indent = /^(\s*)- /.exec(lines.slice(start + 1, end).find((line) => /^\s*- /.test(line)) ?? "")?.[1] ?? "  "
  lines.splice(end, 0, ...entries.map((entry) => `${indent}${entry}`))
  return true
}
