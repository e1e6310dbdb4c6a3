/** Errors for input that its schema refuses: `bad_request` with path and message. */
import { Predicate, type Schema } from "effect"
import { type ServiceError, serviceError } from "../error.ts"
import { findIssues, type InputIssue, maxIssues, pathText } from "./find-issues.ts"
import { describeIssue } from "./issue-text.ts"

export type { InputIssue } from "./find-issues.ts"

/** The issues of a value that its schema refuses, up to a maximum. */
export const refusedIn = (schema: Parameters<typeof findIssues>[0], value: unknown): ReadonlyArray<InputIssue> =>
  findIssues(schema, value).map(({ path, message }) => ({ path: pathText(path), message }))

/** The issues of an error that was made with `errors: "first"`. @param written the refused value, if it may be shown */
export const issuesOf = (error: Schema.SchemaError, written?: unknown): ReadonlyArray<InputIssue> =>
  describeIssue(error.issue, [], written).map(({ path, message }) => ({ path: pathText(path), message }))

export const invalidInput = (issues: ReadonlyArray<InputIssue>): ServiceError<"bad_request"> => {
  const [first] = issues
  const message = first?.path ? `${first.path}: ${first.message}` : (first?.message ?? "The input is not valid")
  return serviceError("bad_request", message, {
    detail: { issues: issues.slice(0, maxIssues).map(({ path, message }) => ({ path, message })) },
  })
}

/** The field that an error is about; of several, the first. */
export const fieldOf = ({ detail }: ServiceError): string | undefined => {
  const issues = detail?.["issues"]
  const [first] = Array.isArray(issues) ? issues : []
  const path = Predicate.hasProperty(first, "path") ? first.path : undefined
  return typeof path === "string" && path !== "" ? path : undefined
}
