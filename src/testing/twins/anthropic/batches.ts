/** The twin of Anthropic's batches of messages. Source: https://platform.claude.com/docs/en/api/creating-message-batches */
import { Schema } from "effect"
import type { VendorCall } from "../../scripted-vendor.ts"
import {
  answerOf,
  BatchRun,
  type BatchTwin,
  type LineAnswer,
  PlanBook,
  pageAfter,
  placeOf,
  resultTexts,
  sendJson,
  sendLines,
  type TwinLine,
} from "../batch-twin.ts"
import { repeated } from "../rules.ts"
import { AnyObject, shapeFault, valueAt } from "../shape.ts"
import type { TwinCall, TwinScript } from "../twin.ts"
import { anthropicTwin } from "./twin.ts"

interface Batch {
  readonly id: string
  readonly createdMs: number
  readonly run: BatchRun
  endedMs: number | undefined
  cancelledMs: number | undefined
}

const CreateBody = Schema.Struct({
  requests: Schema.Array(Schema.Struct({ custom_id: Schema.String, params: AnyObject })),
})

const windowMs = 86_400_000
const keptMs = 29 * windowMs
const mostRequests = 100_000
const mostBytes = 256_000_000

export const makeAnthropicBatches = (script: TwinScript, nowMs: () => number = Date.now): BatchTwin => {
  const book = new PlanBook()
  const batches = new Map<string, Batch>()
  const iso = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString())

  const create = async (call: VendorCall): Promise<void> => {
    if (call.sent.length > mostBytes) return refuse(call, 413, "request_too_large", "Request exceeds the maximum size")
    const fault = faultOf(call)
    if (fault !== undefined) return refuse(call, 400, "invalid_request_error", fault)
    const { requests } = Schema.decodeUnknownSync(CreateBody)(call.body)
    if (requests.length > mostRequests) return refuse(call, 413, "request_too_large", "Too many requests in the batch")
    const createdMs = nowMs()
    const lines = requests.map(
      ({ custom_id: id, params }): TwinLine => ({ id, body: JSON.parse(JSON.stringify(params)) }),
    )
    const run = new BatchRun(lines, book, () => nowMs() >= createdMs + windowMs)
    const id = `msgbatch_twin${batches.size + 1}`
    const batch: Batch = { id, createdMs, run, endedMs: undefined, cancelledMs: undefined }
    batches.set(id, batch)
    return book.takes("lostCreates") ? call.reset() : sendJson(call, 200, batchObject(batch))
  }

  const batchObject = (batch: Batch): object => {
    const { id, createdMs, run, endedMs, cancelledMs } = batch
    const { end, lines } = run
    const kinds = end === undefined ? [] : run.answers().map((answer) => resultOf(script, answer)["type"])
    const count = (kind: string) => kinds.filter((each) => each === kind).length
    const isArchived = nowMs() >= createdMs + keptMs
    return {
      id,
      type: "message_batch",
      processing_status: end !== undefined ? "ended" : run.isCancelling ? "canceling" : "in_progress",
      request_counts: {
        processing: end === undefined ? lines.length : 0,
        succeeded: count("succeeded"),
        errored: count("errored"),
        canceled: count("canceled"),
        expired: count("expired"),
      },
      created_at: iso(createdMs),
      expires_at: iso(createdMs + windowMs),
      ended_at: iso(endedMs),
      cancel_initiated_at: iso(cancelledMs),
      archived_at: isArchived ? iso(createdMs + keptMs) : null,
      // The vendor's own address, which is not the twin's.
      results_url:
        end === undefined || isArchived ? null : `https://api.anthropic.com/v1/messages/batches/${id}/results`,
    }
  }

  const list = (call: VendorCall, query: URLSearchParams): Promise<void> => {
    const limit = Number(query.get("limit") ?? 20)
    if (!(limit >= 1 && limit <= 1000)) {
      return refuse(call, 400, "invalid_request_error", "limit: Input should be from 1 to 1000")
    }
    const { page, hasMore } = pageAfter([...batches.values()].reverse(), query.get("after_id"), limit)
    const ids = { first_id: page[0]?.id ?? null, last_id: page.at(-1)?.id ?? null }
    return sendJson(call, 200, { data: page.map(batchObject), has_more: hasMore, ...ids })
  }

  const results = (call: VendorCall, { run, createdMs }: Batch): Promise<void> => {
    if (run.end === undefined || nowMs() >= createdMs + keptMs) {
      return refuse(call, 404, "not_found_error", "The results of this batch are not available")
    }
    const texts = resultTexts(run.answers(), (answer, id) => ({
      ...(id !== undefined && { custom_id: id }),
      result: resultOf(script, answer),
    }))
    return sendLines(call, "application/x-jsonl", texts.map((text) => `${text}\n`).join(""), book)
  }

  const about = (call: VendorCall, batch: Batch, verb: string | undefined): Promise<void> => {
    const { run, id } = batch
    if (call.method === "DELETE") {
      if (run.end === undefined)
        return refuse(call, 400, "invalid_request_error", "Only a batch that has ended can be deleted")
      batches.delete(id)
      return sendJson(call, 200, { id, type: "message_batch_deleted" })
    }
    if (verb === "results") return results(call, batch)
    if (verb === "cancel") {
      if (run.cancel()) batch.cancelledMs ??= nowMs()
    } else if (run.end === undefined && run.poll() !== undefined) batch.endedMs = nowMs()
    return sendJson(call, 200, batchObject(batch))
  }

  const serve = (call: VendorCall): Promise<void> | undefined => {
    const { pathname, searchParams } = placeOf(call)
    const [whole, id, verb] = /^\/v1\/messages\/batches(?:\/([^/]+))?(?:\/(cancel|results))?$/.exec(pathname) ?? []
    if (whole === undefined) return undefined
    if (call.headers["anthropic-version"] === undefined) {
      return refuse(call, 400, "invalid_request_error", "anthropic-version: header is required")
    }
    if (id === undefined) return call.method === "POST" ? create(call) : list(call, searchParams)
    const batch = batches.get(id)
    return batch === undefined
      ? refuse(call, 404, "not_found_error", `Batch not found: ${id}`)
      : about(call, batch, verb)
  }

  return { serve, plan: book.change, batches: () => [...batches.keys()], files: () => [] }
}

const errorOf = (type: string, message: string): object => ({
  type: "error",
  error: { type, message },
  request_id: "req_011twin",
})

const refuse = (call: VendorCall, status: number, type: string, message: string): Promise<void> =>
  sendJson(call, status, errorOf(type, message))

/** A fault of the list; the messages in it are checked when they are processed. */
const faultOf = ({ body }: VendorCall): string | undefined => {
  const fault = shapeFault(CreateBody, body)
  if (fault !== undefined) {
    const says = { unknown: "Extra inputs are not permitted", missing: "Field required" }
    const word = fault.why === "unknown" || fault.why === "missing" ? says[fault.why] : "Input should be a valid value"
    return `${fault.path.join(".")}: ${word}`
  }
  const { requests } = Schema.decodeUnknownSync(CreateBody)(body)
  if (requests.length === 0) return "requests: List should have at least 1 item after validation, not 0"
  const ids = requests.map(({ custom_id: id }) => id)
  const at = ids.findIndex((id) => !/^[a-zA-Z0-9_-]{1,64}$/.test(id))
  if (at !== -1) {
    const isLong = String(valueAt(body, ["requests", at, "custom_id"])).length > 64
    const rule = isLong ? "have at most 64 characters" : "match pattern '^[a-zA-Z0-9_-]{1,64}$'"
    return `requests.${at}.custom_id: String should ${rule}`
  }
  const twice = repeated(ids)
  return twice === undefined ? undefined : `requests: custom_id '${twice}' is not unique`
}

/** Usage in a batch names its tier. */
const inBatch = (message: object): object => {
  const { usage } = { usage: {}, ...message }
  return { ...message, usage: { ...usage, service_tier: "batch" } }
}

const resultOf = (script: TwinScript, { line, outcome }: LineAnswer): { readonly [key: string]: unknown } => {
  if (outcome === "expired") return { type: "expired" }
  if (outcome === "cancelled") return { type: "canceled" }
  if (outcome === "refused") return { type: "errored", error: errorOf("invalid_request_error", "messages: refused") }
  if (line.body["stream"] === true) {
    return { type: "errored", error: errorOf("invalid_request_error", "stream: not supported in batches") }
  }
  const call: TwinCall = { path: "/v1/messages", body: line.body, headers: {}, streaming: false }
  const { status, body } = answerOf(anthropicTwin, script, call)
  return status === 200 ? { type: "succeeded", message: inBatch(body) } : { type: "errored", error: body }
}
