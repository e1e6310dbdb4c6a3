/** The edge of an exchange: bytes to a checked request, or `bad_request` with what is wrong and where. */
import { Result, Schema, SchemaIssue } from "effect"
import { fingerprint } from "../protocol/canonical.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { ExchangeRequest } from "../protocol/exchange.ts"

export interface DecodedExchange {
  readonly request: ExchangeRequest
  /** Hash of the payload, blind to key order; only where there is an idempotency key. */
  readonly payloadHash: string | undefined
}

/** At most this many problems are told at once. */
const maxIssues = 16

/** Bodies nested deeper than this are refused unread: no schema of ours needs it, and recursion has an end. */
const maxDepth = 64

const decodeRequest = Schema.decodeUnknownResult(ExchangeRequest, { errors: "all", onExcessProperty: "error" })
const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1()

export const decodeExchange = (body: Uint8Array): Result.Result<DecodedExchange, ServiceError<"bad_request">> => {
  const json = parseJson(body)
  if (json === undefined) return refuse([{ path: "", message: "The body is not valid JSON" }])
  if (isDeeperThan(json, maxDepth)) return refuse([{ path: "", message: `The body is nested deeper than ${maxDepth}` }])
  return Result.match(decodeRequest(json), {
    onSuccess: (request) =>
      Result.succeed({
        request,
        payloadHash: request.meta?.requestId === undefined ? undefined : fingerprint(json),
      }),
    onFailure: (error) => refuse(issuesOf(error)),
  })
}

interface Issue {
  readonly path: string
  readonly message: string
}

const refuse = (issues: ReadonlyArray<Issue>) =>
  Result.fail(
    serviceError(
      "bad_request",
      issues[0]?.path ? `${issues[0].path}: ${issues[0].message}` : (issues[0]?.message ?? ""),
      {
        detail: { issues: issues.slice(0, maxIssues).map(({ path, message }) => ({ path, message })) },
      },
    ),
  )

/** Schema issues as paths and messages; a message never repeats what the caller sent. */
export const issuesOf = (error: Schema.SchemaError): ReadonlyArray<Issue> =>
  formatIssues(error.issue).issues.map(({ path = [], message }) => ({
    path: path.map((segment) => String(typeof segment === "object" ? segment.key : segment)).join("."),
    message,
  }))

function parseJson(body: Uint8Array): Schema.Json | undefined {
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"))
  } catch {
    return undefined
  }
}

const isDeeperThan = (value: Schema.Json, depth: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (depth === 0 || Object.values(value).some((field) => isDeeperThan(field, depth - 1)))
