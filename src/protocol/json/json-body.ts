/**
 * JSON bodies of requests: UTF-8, with a limited depth and a limited number of values. Other bodies get `bad_request` with
 * path and message.
 */
import { isUtf8 } from "node:buffer"
import { isMainThread } from "node:worker_threads"
import { Result, Schema } from "effect"
import { type ServiceError, serviceError } from "../error.ts"
import { strictly } from "./find-issues.ts"
import { invalidInput, refusedIn } from "./issues.ts"
import { countJson, type JsonMarks, loopLimits, workerLimits } from "./json-size.ts"
import { namesIn } from "./json-text.ts"
import { acceptsPlainly } from "./plain-check.ts"

export type Decoded<A> = Result.Result<A, ServiceError<"bad_request">>

/** The text of a body. Bytes that are not UTF-8 are refused, RFC 8259 section 8.1: replacing them would change what was sent. */
export const decodeText = (body: Uint8Array): Decoded<string> =>
  isUtf8(body)
    ? Result.succeed(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"))
    : Result.fail(serviceError("bad_request", "The body must be UTF-8"))

/** Only the main thread runs streams, so only large bodies there make them wait. */
const limits = isMainThread ? loopLimits : workerLimits

/** The JSON of a body. */
export const parseBody = (body: Uint8Array): Decoded<Schema.Json> => Result.map(parseCounted(body), ({ json }) => json)

/** The JSON of a body, with the number of names in its text, and the positions of its members. */
const parseCounted = (body: Uint8Array): Decoded<PlainBody & { readonly names: number }> => {
  const { names, exceeded, marks } = countJson(body, limits)
  if (exceeded === "levels") return refuse(`The body is nested deeper than ${limits.levels}`)
  if (exceeded !== undefined) return refuse(`The body has more than ${limits[exceeded]} ${exceeded}`)
  return Result.flatMap(decodeText(body), (text) => {
    const json = parseJson(text)
    return json === undefined ? refuse("The body is not valid JSON") : Result.succeed({ json, names, marks })
  })
}

/** A body that all readers understand in the same way. */
export interface PlainBody {
  readonly json: Schema.Json
  /** The positions of the members of the outermost object. */
  readonly marks: JsonMarks
}

/** {@link parseBody}, and no object in it names a member twice: all readers of the same bytes must read the same. */
export const parsePlainly = (body: Uint8Array): Decoded<PlainBody> =>
  Result.flatMap(parseCounted(body), ({ json, names, marks }) =>
    namesIn(json) === names ? Result.succeed({ json, marks }) : refuse("An object in the body names a member twice"),
  )

/**
 * Decodes JSON by its schema; unknown fields are refused. A value that is sure to be decoded to itself is not copied; others
 * go to Effect's decoder, which is made once for a schema.
 */
export const decodeJson = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  json: unknown,
): Decoded<S["Type"]> => (acceptsPlainly(schema, json) ? Result.succeed(json) : decodeSlowly(schema, json))

const decodeSlowly = <S extends Schema.ConstraintDecoder<unknown>>(schema: S, json: unknown): Decoded<S["Type"]> =>
  Result.mapError(Schema.decodeUnknownResult(schema, strictly)(json), () => invalidInput(refusedIn(schema, json)))

const refuse = (message: string) => Result.fail(invalidInput([{ path: "", message }]))

function parseJson(text: string): Schema.Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
