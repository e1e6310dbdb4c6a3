/** Parses catalogue text into a checked document; every error has its path and its line. */
import { Result, Schema } from "effect"
import { CatalogueDocument, type CatalogueEncoded } from "../protocol/catalogue/document.ts"
import { findIssues, strictly } from "../protocol/json/find-issues.ts"
import { isStorable, storableMessage } from "../protocol/values/text.ts"
import { checkReferences, type Path, type Problem } from "./references.ts"
import { parseYaml } from "./yaml.ts"

export interface CatalogueIssue {
  /** e.g. `models[0].targets[1].vendor`; empty for the whole file. */
  readonly path: string
  readonly line: number
  readonly message: string
}

export interface LoadedCatalogue {
  readonly document: CatalogueDocument
  /** The encoded form, which is what the database stores. */
  readonly encoded: CatalogueEncoded
  /** The line of a node, or of its nearest ancestor that exists. */
  readonly lineOf: (path: Path) => number
}

const decode = Schema.decodeUnknownResult(CatalogueDocument, strictly)
/** Maximum issues of one file: more than anybody corrects at once. */
const maxIssues = 200
const encode = Schema.encodeSync(CatalogueDocument)

/** The character that replaces bytes that are no UTF-8 once a file is read as text. WHATWG Encoding Standard, "replacement". */
const replacement = "\uFFFD"

/** Parses and checks a catalogue. */
export const loadCatalogue = (text: string): Result.Result<LoadedCatalogue, ReadonlyArray<CatalogueIssue>> => {
  const lost = text.indexOf(replacement)
  if (lost >= 0) {
    const line = text.slice(0, lost).split("\n").length
    return Result.fail([{ path: "", line, message: "there are bytes that are not UTF-8: store the file as UTF-8" }])
  }
  const parsed = parseYaml(text)
  if (Result.isFailure(parsed)) return Result.fail([{ path: "", ...parsed.failure }])
  const { value, lineOf } = parsed.success
  const issueAt = (path: Path, message: string): CatalogueIssue => ({
    path: formatPath(path),
    line: lineOf(path),
    message,
  })

  const decoded = decode(value)
  if (Result.isFailure(decoded)) {
    return Result.fail(
      findIssues(CatalogueDocument, value, maxIssues).map(({ path, message }) => issueAt(path, message)),
    )
  }
  const document = decoded.success
  const problems = [...unstorable(document), ...checkReferences(document)]
  return problems.length > 0
    ? Result.fail(problems.map(({ path, message }) => issueAt(path, message)))
    : Result.succeed({ document, encoded: encode(document), lineOf })
}

/** Every string of a document that the database cannot store. */
export const unstorable = (value: unknown, path: Path = []): ReadonlyArray<Problem> => {
  if (typeof value === "string") {
    return isStorable(value) ? [] : [{ path, message: storableMessage }]
  }
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, member]) =>
    unstorable(member, [...path, Array.isArray(value) ? Number(key) : key]),
  )
}

export const formatPath = (path: Path): string =>
  path
    .map((segment, at) => (typeof segment === "number" ? `[${segment}]` : `${at > 0 ? "." : ""}${String(segment)}`))
    .join("")
