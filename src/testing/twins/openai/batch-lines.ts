/** The lines that OpenAI's batches take. One that is wrong fails the whole batch. Source: https://platform.openai.com/docs/guides/batch */
import { isObject, type JsonObject, objectAt, parseObject, stringAt } from "../../../dialects/parse/json.ts"
import { linesOf, type TwinLine } from "../batch-twin.ts"
import type { TwinCall } from "../twin.ts"

export interface LineError {
  readonly code: string
  /** From 1; null for the whole file. */
  readonly line: number | null
  readonly param: string | null
  readonly message: string
}

const mostLines = 50_000
const required = ["custom_id", "method", "url", "body"] as const

/** The lines, or the errors of all that are wrong. */
export const readBatchLines = (
  content: string,
  endpoint: string,
): { readonly lines: ReadonlyArray<TwinLine>; readonly errors: ReadonlyArray<LineError> } => {
  const texts = linesOf(content)
  const whole = (code: string, message: string): LineError => ({ code, line: null, param: null, message })
  if (texts.length === 0) return { lines: [], errors: [whole("empty_file", "The input file is empty.")] }
  if (texts.length > mostLines)
    return { lines: [], errors: [whole("too_many_tasks", "The file has too many requests.")] }
  const lines: Array<TwinLine> = []
  const errors: Array<LineError> = []
  const seen = new Set<string>()
  let model: string | undefined
  for (const [at, text] of texts.entries()) {
    const json = parseObject(text)
    const line = json && readLine(json)
    const fault = faultOf(json, endpoint, seen, model)
    if (fault !== undefined) errors.push({ line: at + 1, ...fault })
    if (line === undefined) continue
    seen.add(line.id)
    model ??= stringAt(line.body, "model")
    lines.push(line)
  }
  return { lines, errors }
}

const readLine = (json: JsonObject): TwinLine | undefined => {
  const id = stringAt(json, "custom_id")
  const body = objectAt(json, "body")
  return id === undefined || body === undefined ? undefined : { id, body: bodyOf(body) }
}

const bodyOf = (body: JsonObject): TwinCall["body"] => JSON.parse(JSON.stringify(body))

type Fault = Omit<LineError, "line">

const faultOf = (
  json: JsonObject | undefined,
  endpoint: string,
  seen: ReadonlySet<string>,
  model: string | undefined,
): Fault | undefined => {
  const fault = (code: string, param: string | null, message: string): Fault => ({ code, param, message })
  if (json === undefined) return fault("invalid_json_line", null, "This line is not parseable as valid JSON.")
  const missing = required.find((name) => json[name] === undefined)
  if (missing !== undefined) {
    return fault("missing_required_parameter", missing, `Missing required parameter: '${missing}'.`)
  }
  const unknown = Object.keys(json).find((name) => !required.some((known) => known === name))
  if (unknown !== undefined) return fault("invalid_request", unknown, `Unknown parameter: '${unknown}'.`)
  const { custom_id: id, body } = json
  if (typeof id !== "string") return fault("invalid_request", "custom_id", "Invalid type for 'custom_id'.")
  if (json["method"] !== "POST") return fault("invalid_request", "method", "Invalid value: 'method'.")
  if (json["url"] !== endpoint) {
    return fault("invalid_url", "url", "The URL provided for this request does not match the batch endpoint.")
  }
  if (!isObject(body)) return fault("invalid_request", "body", "Invalid type for 'body'.")
  if (seen.has(id))
    return fault("duplicate_custom_id", "custom_id", `The custom_id '${id}' is used by another request.`)
  if (body["model"] === undefined && !endpoint.endsWith("/moderations")) {
    return fault("invalid_request", "body.model", "Model parameter is required.")
  }
  if (model !== undefined && body["model"] !== model) {
    return fault("model_mismatch", "body.model", "All requests of a batch must be for the same model.")
  }
  if (body["messages"] === undefined && endpoint.endsWith("/chat/completions")) {
    return fault("invalid_request", "body.messages", "Messages parameter is required.")
  }
  if (body["stream"] === true) {
    return fault(
      "streaming_unsupported",
      "body.stream",
      "Chat Completions: Streaming is not supported in the Batch API.",
    )
  }
  return undefined
}
