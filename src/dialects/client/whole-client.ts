/** Whole calls towards clients of other APIs: a request becomes one of twp/1, and the reply takes the API's form. Pure. */
import type { Result } from "effect"
import type { ErrorBody } from "../../protocol/error.ts"
import type { JsonObject } from "../parse/json.ts"
import type { FieldRefusal, FieldTable } from "./fields.ts"
import type { LimitHeaders } from "./limit-headers.ts"

/** The form of an API's errors, for all its routes. */
export interface ErrorWords {
  readonly error: (error: ErrorBody, status: number, path?: string) => object
  /** Further headers of an error. */
  readonly headers?: (status: number, code: string) => Readonly<Record<string, string>>
  /** The header in which this API's clients look for a request id. */
  readonly requestIdHeader: string
  /** The headers of its client's rates; OpenAI's if absent. */
  readonly limitHeaders?: LimitHeaders
}

/** A request in twp/1, and the way to write its reply. */
export interface WholeAsked<Body> {
  /** The fields, to be checked by the schema of twp/1; `model` is as the client named it, `meta` is added by the HTTP layer. */
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
  /** The handling of each field of a request. */
  readonly fields: FieldTable
  /** @param model in the path, where the API has it there */
  readonly decode: (body: JsonObject, model: string) => Result.Result<WholeAsked<Body>, FieldRefusal>
  /** Fields of twp/1 with this API's names; the first that begins a path counts. */
  readonly fieldNames: ReadonlyArray<readonly [ours: string, theirs: string]>
}
