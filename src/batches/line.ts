/**
 * A request of a batch in the gateway's own file: one line with its head as JSON, a tab, and its body as its client sent it. So a
 * long body is not read to find it.
 */
import { createHash } from "node:crypto"
import { Effect, Option, Schema } from "effect"
import { ulidOf } from "../protocol/values/ulid.ts"

export interface BatchLine {
  /** The name that its client gave it: any JSON. */
  readonly id: string
  /** The path of the route that answers it. */
  readonly path: string
  /** JSON; bytes without line breaks, if it is long. */
  readonly body: string | Uint8Array
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
  Schema.Struct({ id: Schema.String, path: Schema.String, refusal: Schema.optional(Refusal) }),
)
const decodeHead = Schema.decodeUnknownOption(HeadJson)
const encodeHead = Schema.encodeSync(HeadJson)

/** Line breaks in JSON are spaces between its values: strings have none. */
export const onOneLine = (json: string): string => json.replaceAll(/[\r\n]+/g, " ")

/** The parts of its line. */
export const writeLine = ({ body, ...head }: BatchLine): ReadonlyArray<Uint8Array> =>
  typeof body === "string"
    ? [Buffer.from(`${encodeHead(head)}\t${onOneLine(body)}\n`)]
    : [Buffer.from(`${encodeHead(head)}\t`), body, lineEnd]

const lineEnd = Buffer.from("\n")

/** Undefined if it is no such line. */
export const readLine = (text: string): BatchLine | undefined => {
  // JSON has no tab in its strings, and its writer puts none between them.
  const end = text.indexOf("\t")
  const head = end === -1 ? undefined : Option.getOrUndefined(decodeHead(text.slice(0, end)))
  return head && { ...head, body: text.slice(end + 1) }
}

/** A line whose body is not read as text. */
const readLongLine = (bytes: Buffer): BatchLine | undefined => {
  const end = bytes.indexOf(tab)
  const head = readLine(bytes.toString("utf8", 0, end + 1))
  return head && { ...head, body: bytes.subarray(end + 1) }
}
const tab = 9
/** The bytes from which a body is not read as text. */
const longBytes = 256 * 1024

/** The request of a line that the gateway wrote. */
export const requestIn = (line: string | Buffer): Effect.Effect<BatchLine> => Effect.suspend(() => read(line))

const read = (written: string | Buffer): Effect.Effect<BatchLine> => {
  const isLong = typeof written !== "string" && written.length >= longBytes
  const line = isLong ? readLongLine(written) : readLine(written.toString())
  return line === undefined ? Effect.die(new Error("A request of a batch cannot be read")) : Effect.succeed(line)
}

/** The request id of a line: the same at every attempt, so that it is billed once. */
export const lineRequestId = (batchId: string, createdAt: Date, line: number): string =>
  ulidOf(createdAt.getTime(), createHash("sha256").update(`batch ${batchId} ${line}`).digest())
