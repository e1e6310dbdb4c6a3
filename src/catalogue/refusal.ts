/** A catalogue with errors, and its form in messages. It is apart from the service, so that commands need not load it. */
import { Data } from "effect"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { CatalogueIssue } from "./load.ts"

/** A catalogue with errors; nothing of it was applied. */
export class CatalogueRefused extends Data.TaggedError("CatalogueRefused")<{
  readonly issues: ReadonlyArray<CatalogueIssue>
}> {
  override get message(): string {
    return this.issues.map(({ line, path, message }) => `line ${line}: ${path}: ${message}`).join("\n")
  }
}

/** A refusal as lines of `file:line: path: message`. */
export const describeRefusal = (file: string, error: CatalogueRefused | StoreUnavailable): string =>
  error._tag === "StoreUnavailable"
    ? `${file}: the database does not answer; nothing was applied`
    : error.issues
        .map(({ line, path, message }) => `${placeOf(file, line)}: ${path === "" ? "" : `${path}: `}${message}`)
        .join("\n")

/** The file, and the line if the problem has one. */
const placeOf = (file: string, line: number): string => (line === 0 ? file : `${file}:${line}`)
