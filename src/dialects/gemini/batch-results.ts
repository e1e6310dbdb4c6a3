/** Lines of results of Gemini's batches: `key` in files, `metadata` where the results come with the batch. */
import type { BatchResult } from "../batch-dialect.ts"
import { type JsonObject, numberAt, objectAt, reportedCountAt, stringAt } from "../parse/json.ts"
import { malformedResult, parseLine, resultOf } from "../vendor/batch-lines.ts"

export const geminiResult = (line: string): BatchResult => {
  const parsed = parseLine(line)
  if (parsed === undefined) return { t: "unreadable" }
  const { json, source } = parsed
  return resultOf(json["key"] ?? objectAt(json, "metadata")?.["key"], (id) => {
    const error = objectAt(json, "error")
    if (error !== undefined) return errorResult(id, error)
    const response = objectAt(json, "response")
    if (response === undefined) return malformedResult(id)
    const body = embeddedBody(response, source.textAt(["response", "embedding"])) ?? source.textAt(["response"]) ?? ""
    return { t: "answered", id, status: 200, body }
  })
}

/** The vector of one text, in the form of a reply with several. */
const embeddedBody = (response: JsonObject, embedding: string | undefined): string | undefined => {
  if (embedding === undefined) return undefined
  const tokens = reportedCountAt(response, "tokenCount")
  const usage = tokens === undefined ? "" : `,"usageMetadata":{"promptTokenCount":${tokens}}`
  return `{"embeddings":[${embedding}]${usage}}`
}

/** Codes of errors, with their statuses in HTTP: https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto */
const codes: ReadonlyMap<number, readonly [status: number, name: string]> = new Map([
  [2, [500, "UNKNOWN"]],
  [3, [400, "INVALID_ARGUMENT"]],
  [4, [504, "DEADLINE_EXCEEDED"]],
  [5, [404, "NOT_FOUND"]],
  [6, [409, "ALREADY_EXISTS"]],
  [7, [403, "PERMISSION_DENIED"]],
  [8, [429, "RESOURCE_EXHAUSTED"]],
  [9, [400, "FAILED_PRECONDITION"]],
  [10, [409, "ABORTED"]],
  [11, [400, "OUT_OF_RANGE"]],
  [12, [501, "UNIMPLEMENTED"]],
  [13, [500, "INTERNAL"]],
  [14, [503, "UNAVAILABLE"]],
  [15, [500, "DATA_LOSS"]],
  [16, [401, "UNAUTHENTICATED"]],
])

const cancelled = 1

/** An error in the form of a refusal of the request by itself. */
const errorResult = (id: string, error: JsonObject): BatchResult => {
  const code = numberAt(error, "code") ?? 2
  if (code === cancelled || stringAt(error, "status") === "CANCELLED") return { t: "cancelled", id }
  const [status, name] = codes.get(code) ?? [code >= 400 && code <= 599 ? code : 500, "UNKNOWN"]
  const body = JSON.stringify({ error: { status: name, ...error, code: status } })
  return { t: "answered", id, status, body }
}
