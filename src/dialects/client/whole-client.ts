/** Whole calls towards clients of other APIs: a request becomes one of twp/1, and the reply takes the API's form. Pure. */
import type { Result } from "effect"
import type { ErrorBody } from "../../protocol/error.ts"
import type { JsonObject } from "../parse/json.ts"
import type { FieldRefusal, FieldTable } from "./fields.ts"

/** How an API tells its clients of errors, whatever was asked. */
export interface ErrorWords {
  readonly error: (error: ErrorBody, status: number, path?: string) => object
  /** The header in which this API's clients look for a request id. */
  readonly requestIdHeader: string
}

/** A request in the words of twp/1, and how its reply is written. */
export interface WholeAsked<Body> {
  /** To be checked by the schema of twp/1; `model` is as the client named it, `meta` is the edge's. */
  readonly request: JsonObject
  readonly model: string
  readonly reply: (response: Body) => object
  /** Fields that are left out, because they change no answer. */
  readonly omitted: ReadonlyArray<string>
}

export interface WholeClient<Body> {
  /** The name in documentation, logs and errors. */
  readonly name: string
  readonly errors: ErrorWords
  /** What becomes of each field of a request. */
  readonly fields: FieldTable
  /** @param model in the path, where the API has it there */
  readonly decode: (body: JsonObject, model: string) => Result.Result<WholeAsked<Body>, FieldRefusal>
  /** Fields of twp/1 with this API's names; the first that begins a path counts. */
  readonly fieldNames: ReadonlyArray<readonly [ours: string, theirs: string]>
}
