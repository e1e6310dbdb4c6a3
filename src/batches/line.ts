/**
 * A request of a batch in the gateway's own file: one line, `{"id":…,"path":…,"body":…}`. The body is as its client sent it.
 */
import { createHash } from "node:crypto"
import { Option, Schema } from "effect"
import { JsonSource } from "../protocol/json/json-source.ts"
import { ulidOf } from "../protocol/values/ulid.ts"

export interface BatchLine {
  /** The name that its client gave it: any JSON. */
  readonly id: string
  /** The path of the route that answers it. */
  readonly path: string
  /** JSON. */
  readonly body: string
  /** The reply to a request that was refused when it was priced: it is its answer, and the request is not made. */
  readonly refusal?: Refusal | undefined
}

export type Refusal = typeof Refusal.Type
const Refusal = Schema.Struct({
  status: Schema.Int,
  headers: Schema.Record(Schema.String, Schema.String),
  /** JSON. */
  body: Schema.String,
})

const HeadJson = Schema.fromJsonString(
  Schema.Struct({ id: Schema.String, path: Schema.String, refusal: Schema.optionalKey(Refusal) }),
)
const decodeHead = Schema.decodeUnknownOption(HeadJson)

/** Line breaks in JSON are spaces between its values: strings have none. */
export const onOneLine = (json: string): string => json.replaceAll(/[\r\n]+/g, " ")

export const writeLine = ({ id, path, body, refusal }: BatchLine): string => {
  const refused = refusal === undefined ? "" : `"refusal":${JSON.stringify(refusal)},`
  return `{"id":${JSON.stringify(id)},"path":${JSON.stringify(path)},${refused}"body":${onOneLine(body)}}\n`
}

/** Undefined if it is no such line. */
export const readLine = (text: string): BatchLine | undefined => {
  const head = Option.getOrUndefined(decodeHead(text))
  const body = head === undefined ? undefined : new JsonSource(text).textAt(["body"])
  return head === undefined || body === undefined ? undefined : { ...head, body }
}

/** The request id of a line: the same at every attempt, so that it is billed once. */
export const lineRequestId = (batchId: string, createdAt: Date, line: number): string =>
  ulidOf(createdAt.getTime(), createHash("sha256").update(`batch ${batchId} ${line}`).digest())
