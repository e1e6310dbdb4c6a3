/** Parts that vendors' APIs of batches share: lines, and requests without a body. */
import { Result } from "effect"
import { JsonSource } from "../../protocol/json/json-source.ts"
import { type BatchCounts, type BatchResult, type BatchWire, batchIdForm, type SubmitStep } from "../batch-dialect.ts"
import { countAt, type JsonObject, parseLongObject, parseObject, reportedCountAt } from "../parse/json.ts"
import type { EncodeRefusal, VendorAccess, WireRequest } from "../wire.ts"
import { malformedReply, type VendorFault } from "./faults.ts"

/** The difference between the clocks of the gateway and a vendor that is allowed for. */
export const clockSkewMs = 5 * 60_000

const refused = (message: string): Result.Result<never, EncodeRefusal> => Result.fail({ capability: "batch", message })

/** No batches of this request, which the vendor answers only by itself. */
export const notInBatches = refused("this vendor has no batches of such requests")

/** The JSON of a request, in one line. Line breaks in JSON are white space, never part of a string. */
export const lineBody = (
  { method = "POST", headers, body }: BatchWire,
  id: string,
): Result.Result<string, EncodeRefusal> => {
  if (!batchIdForm.test(id)) return refused("the id of a line has 1 to 64 letters, digits, - and _")
  if (method !== "POST" || headers["accept"] === "text/event-stream") return notInBatches
  const isJson = headers["content-type"] === undefined || headers["content-type"] === "application/json"
  if (!isJson || Array.isArray(body)) return notInBatches
  const text = typeof body === "string" ? body : textOf(body)
  return text === undefined ? notInBatches : Result.succeed(text.replaceAll(/[\r\n]+/g, " "))
}

const textOf = (body: unknown): string | undefined =>
  body instanceof Uint8Array ? Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8") : undefined

export const getRequest = (path: string): WireRequest => ({ ...withoutBody, method: "GET", path })
export const deleteRequest = (path: string): WireRequest => ({ ...withoutBody, method: "DELETE", path })

/** The files of a batch at its vendor, each once: the uploaded one, and those that the batch has made. */
export const filesOfBatch = (inputFile: string | undefined, files: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set([...(inputFile === undefined ? [] : [inputFile]), ...files]),
]

/** The content of a file of any type. */
export const contentRequest = (path: string): WireRequest => ({ ...getRequest(path), headers: { accept: "*/*" } })

const withoutBody = { headers: { accept: "application/json" }, body: "" } as const

type Ask = Extract<SubmitStep, { readonly t: "ask" }>

/**
 * A step of a submission. Its reply is an error by its status, or JSON that the step reads.
 * @param read undefined for a reply that is not in the vendor's format
 */
export const askStep = (
  decodeError: VendorAccess["decodeError"],
  { afterMs = 0, creates = false, ...step }: Pick<Ask, "request"> & Partial<Pick<Ask, "afterMs" | "creates">>,
  read: (
    body: JsonObject,
    headers: Readonly<Record<string, string>>,
  ) => Result.Result<SubmitStep, VendorFault> | undefined,
): SubmitStep => ({
  t: "ask",
  ...step,
  afterMs,
  creates,
  read: ({ status, headers, body }) => {
    if (status < 200 || status > 299) return Result.fail(decodeError(status, body))
    // The reply to the start of an upload is its headers.
    const json = body === "" ? {} : parseObject(body)
    return (json && read(json, headers)) ?? Result.fail(malformedReply)
  },
})

export const madeStep = (id: string, inputFile?: string): Result.Result<SubmitStep, VendorFault> =>
  Result.succeed({ t: "made", batch: { id, ...(inputFile !== undefined && { inputFile }) } })

/** A line of results, and the texts in it; undefined if it is no JSON object. */
export const parseLine = (line: string): { readonly json: JsonObject; readonly source: JsonSource } | undefined => {
  const json = parseLongObject(line)
  return json && { json, source: new JsonSource(line) }
}

/** A result of the line that it names. */
export const resultOf = (id: unknown, read: (id: string) => BatchResult): BatchResult =>
  typeof id === "string" && batchIdForm.test(id) ? read(id) : { t: "without_id" }

export const malformedResult = (id: string): BatchResult => ({ t: "errored", id, fault: malformedReply })

/** Counts of which each is a sum; undefined if the vendor reports none of it. */
export const countsOf = (
  report: JsonObject | undefined,
  completed: ReadonlyArray<string>,
  failed: ReadonlyArray<string>,
): { readonly counts?: BatchCounts } => {
  const sum = (names: ReadonlyArray<string>) => names.reduce((total, name) => total + countAt(report, name), 0)
  const isReported = [...completed, ...failed].some((name) => reportedCountAt(report, name) !== undefined)
  return isReported ? { counts: { completed: sum(completed), failed: sum(failed) } } : {}
}

/** The longest name of an unknown state that is logged. */
const mostStateCharacters = 64

export const unknownState = (state: string) => ({
  state: "running" as const,
  unknownState: state.slice(0, mostStateCharacters),
})
