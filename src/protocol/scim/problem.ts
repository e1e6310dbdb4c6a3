/** Refusals of SCIM requests. RFC 7644 section 3.12. */

import type { Schema } from "effect"
import { Data, Result } from "effect"

/** The kinds of errors that RFC 7644 names, table 9. */
export type ScimType =
  | "invalidFilter"
  | "tooMany"
  | "uniqueness"
  | "mutability"
  | "invalidSyntax"
  | "invalidPath"
  | "noTarget"
  | "invalidValue"

/** A request that is refused in SCIM's form. */
export class ScimProblem extends Data.TaggedError("ScimProblem")<{
  readonly status: number
  readonly scimType?: ScimType | undefined
  readonly detail: string
  readonly retryAfterMs?: number | undefined
  /** The actual cause, for the log only. */
  readonly cause?: unknown
}> {}

/** A result that a SCIM request may be refused with. */
export type Checked<A> = Result.Result<A, ScimProblem>

/** Refuses a request with status 400. */
export const refuse = (scimType: ScimType, detail: string): Result.Result<never, ScimProblem> =>
  Result.fail(new ScimProblem({ status: 400, scimType, detail }))

export const errorSchema = "urn:ietf:params:scim:api:messages:2.0:Error"

/** The body of an error reply. */
export const problemBody = ({ status, scimType, detail }: ScimProblem): Schema.JsonObject => ({
  schemas: [errorSchema],
  status: String(status),
  ...(scimType !== undefined && { scimType }),
  detail,
})
