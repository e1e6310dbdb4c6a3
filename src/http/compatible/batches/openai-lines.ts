/** Requests in a file of OpenAI's batches, and their faults. Source: https://platform.openai.com/docs/guides/batch */
import { Option, Result, Schema } from "effect"
import type { SentLine } from "../../../batches/admit-batch.ts"
import type { Problem } from "../../../batches/batch.ts"
import type { BatchLine } from "../../../batches/line.ts"
import type { LineReply } from "../../../batches/line-calls.ts"
import { linesOf } from "../../../batches/lines-of.ts"
import { isObject } from "../../../dialects/parse/json.ts"
import { parseBody } from "../../../protocol/json/json-body.ts"
import { JsonSource } from "../../../protocol/json/json-source.ts"

/** The most letters of a custom_id. */
const mostNameLength = 512

type Fault = Omit<Problem, "line">

/** A line, or its fault. */
type ReadLine = Result.Result<BatchLine, Fault>

/** Reads long lines elsewhere. */
export interface LongLines {
  /** The bytes from which a line is long. */
  readonly bytes: number
  /** Its parts are given away. */
  readonly read: (parts: ReadonlyArray<Uint8Array>) => Promise<ReadLine>
}

/** @param endpoint of the batch @param mostBytes of a line */
export async function* openaiLines(
  chunks: AsyncIterable<Uint8Array>,
  endpoint: string,
  mostBytes: number,
  long: LongLines,
): AsyncGenerator<SentLine> {
  for await (const line of linesOf(chunks, mostBytes, long.bytes)) {
    const { parts } = line
    const read = parts === undefined ? openaiLine(line.text, endpoint, mostBytes) : await long.read(parts)
    yield Result.isSuccess(read)
      ? { number: line.number, line: read.success }
      : { number: line.number, problem: read.failure }
  }
}

/** @param text undefined if it is too long, or no UTF-8 */
export const openaiLine = (text: string | undefined, endpoint: string, mostBytes: number): ReadLine => {
  if (text === undefined)
    return refuse("invalid_json_line", `This line is longer than ${mostBytes} bytes, or not UTF-8.`)
  const json = Result.getOrUndefined(parseBody(Buffer.from(text)))
  if (!isObject(json)) return refuse("invalid_json_line", "This line is not parseable as valid JSON.")
  for (const name of ["custom_id", "method", "url", "body"]) {
    if (json[name] === undefined) {
      return refuse("missing_required_parameter", `Missing required parameter: '${name}'.`, name)
    }
  }
  const { custom_id: id, method, url, body } = json
  if (typeof id !== "string" || id === "" || id.length > mostNameLength) {
    return refuse("invalid_value", `'custom_id' must be a string of 1 to ${mostNameLength} characters.`, "custom_id")
  }
  if (method !== "POST") return refuse("invalid_method", "The method must be POST.", "method")
  if (url !== endpoint) {
    return refuse("invalid_url", "The URL provided for this request does not match the batch endpoint.", "url")
  }
  if (!isObject(body)) return refuse("invalid_value", "'body' must be an object.", "body")
  if (body["stream"] === true) {
    return refuse("streaming_unsupported", "Streaming is not supported in the Batch API.", "body.stream")
  }
  const source = new JsonSource(text).textAt(["body"])
  if (source === undefined) return refuse("invalid_json_line", "This line is not parseable as valid JSON.")
  return Result.succeed({ id, path: `/openai/v1${endpoint.replace(/^\/v1/, "")}`, body: source })
}

const refuse = (code: string, message: string, param?: string): Result.Result<never, Fault> =>
  Result.fail({ code, message, ...(param !== undefined && { param }) })

const OpenaiError = Schema.fromJsonString(
  Schema.Struct({
    error: Schema.Struct({
      message: Schema.String,
      code: Schema.optional(Schema.NullOr(Schema.String)),
      param: Schema.optional(Schema.NullOr(Schema.String)),
    }),
  }),
)
const readError = Schema.decodeUnknownOption(OpenaiError)

/** The fault of a request that its route refuses: one fails the whole batch, as at OpenAI. */
export const openaiFault = ({ body }: BatchLine, refusal: LineReply): Fault => {
  const { error } = Option.getOrElse(readError(refusal.body), () => ({
    error: { message: "The request is refused.", code: null, param: null },
  }))
  if (error.code === "model_not_authorized" || error.code === "model_not_found") {
    // A long body is not read again.
    const read = typeof body === "string" ? Result.getOrUndefined(parseBody(Buffer.from(body))) : undefined
    const name = isObject(read) && typeof read["model"] === "string" ? ` '${read["model"].slice(0, 128)}'` : ""
    return {
      code: "model_not_found",
      message: `The provided model${name} is not supported by the Batch API.`,
      param: "body.model",
    }
  }
  return {
    code: error.code ?? "invalid_request",
    message: error.message,
    ...(error.param != null && { param: `body.${error.param}` }),
  }
}
