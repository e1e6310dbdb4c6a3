/** The twin of Gemini's batches, and their files. Source: https://ai.google.dev/api/batch-api */
import { Schema } from "effect"
import { objectAt, parseObject, stringAt } from "../../../dialects/parse/json.ts"
import type { VendorCall } from "../../scripted-vendor.ts"
import {
  answerOf,
  BatchRun,
  type BatchTwin,
  type LineAnswer,
  linesOf,
  PlanBook,
  pageAfter,
  placeOf,
  resultTexts,
  sendJson,
  type TwinLine,
} from "../batch-twin.ts"
import { AnyObject, maybe, shapeFault } from "../shape.ts"
import type { TwinCall, TwinScript } from "../twin.ts"
import { GeminiFiles, refuse } from "./files.ts"
import { inCamelCase } from "./request.ts"
import { geminiTwin } from "./twin.ts"

interface Batch {
  /** `batches/ID`. */
  readonly id: string
  readonly model: string
  readonly isEmbedding: boolean
  readonly displayName: string
  readonly inputFile: string | undefined
  readonly createdMs: number
  readonly run: BatchRun
  endedMs: number | undefined
  responsesFile: string | undefined
}

const Item = Schema.Struct({ request: AnyObject, metadata: maybe(AnyObject) })
const InputConfig = Schema.Struct({
  fileName: maybe(Schema.String),
  requests: maybe(Schema.Struct({ requests: Schema.Array(Item) })),
})
const CreateBody = Schema.Struct({
  batch: Schema.Struct({
    displayName: maybe(Schema.String),
    inputConfig: InputConfig,
    priority: maybe(Schema.String),
  }),
})

const windowMs = 48 * 3_600_000

export const makeGeminiBatches = (script: TwinScript, nowMs: () => number = Date.now): BatchTwin => {
  const book = new PlanBook()
  const files = new GeminiFiles(nowMs)
  const batches = new Map<string, Batch>()

  const create = async (call: VendorCall, model: string, isEmbedding: boolean): Promise<void> => {
    const body = inCamelCase(call.body)
    const fault = shapeFault(CreateBody, body)
    if (fault !== undefined) {
      const name = String(fault.path.at(-1))
      const words = { unknown: `Unknown name "${name}": Cannot find field.`, missing: `${name} is required.` }
      const message =
        fault.why === "unknown" || fault.why === "missing" ? words[fault.why] : `Invalid value at '${name}'`
      return refuse(call, 400, "INVALID_ARGUMENT", `Invalid JSON payload received. ${message}`)
    }
    const { displayName = "", inputConfig } = Schema.decodeUnknownSync(CreateBody)(body).batch
    const { fileName: inputFile, requests } = inputConfig
    const file = inputFile === undefined ? undefined : files.find(inputFile)
    if (inputFile !== undefined && file === undefined) {
      return refuse(call, 400, "INVALID_ARGUMENT", `File ${inputFile} not found.`)
    }
    if (file !== undefined && !knownTypes.has(file.mimeType)) {
      return refuse(call, 400, "INVALID_ARGUMENT", `Unsupported MIME type: ${file.mimeType}`)
    }
    const items = file === undefined ? (requests?.requests ?? []) : linesOf(file.content.toString()).map(parseObject)
    if (items.length === 0) return refuse(call, 400, "INVALID_ARGUMENT", "The batch has no requests.")
    const createdMs = nowMs()
    const lines = items.map((item): TwinLine => {
      const key = stringAt(item, "key") ?? stringAt(objectAt(item, "metadata"), "key")
      // A line may be a bare request, without a key.
      const request = objectAt(item, "request") ?? item ?? {}
      return { id: key ?? "", body: JSON.parse(JSON.stringify(request)) }
    })
    const run = new BatchRun(lines, book, () => nowMs() >= createdMs + windowMs)
    const id = `batches/twin${batches.size + 1}`
    const batch: Batch = {
      ...{ id, model, isEmbedding, displayName, inputFile, createdMs, run },
      ...{ endedMs: undefined, responsesFile: undefined },
    }
    batches.set(id, batch)
    return book.takes("lostCreates") ? call.reset() : sendJson(call, 200, operationOf(batch))
  }

  const texts = (batch: Batch, isInline: boolean): ReadonlyArray<string> =>
    resultTexts(batch.run.answers(), (answer, key) => {
      const named = key === undefined ? {} : isInline ? { metadata: { key } } : { key }
      return { ...named, ...resultOf(script, batch, answer) }
    })

  const poll = (batch: Batch): void => {
    const { run, displayName } = batch
    if (run.end !== undefined || run.poll() === undefined) return
    batch.endedMs = nowMs()
    if (run.end === "failed" || book.now.inline) return
    const content = Buffer.from(
      texts(batch, false)
        .map((text) => `${text}\n`)
        .join(""),
    )
    const file = files.add({ displayName, mimeType: "application/jsonl", content, isGenerated: true })
    batch.responsesFile = file.id
  }

  const operationOf = (batch: Batch): object => {
    const { id, model, displayName, inputFile, createdMs, run, endedMs, responsesFile } = batch
    const { end } = run
    const states = { completed: "SUCCEEDED", failed: "FAILED", cancelled: "CANCELLED", expired: "EXPIRED" }
    const hasOutput = end !== undefined && end !== "failed"
    const inlinedResponses = () => ({ inlinedResponses: texts(batch, true).map((text) => JSON.parse(text)) })
    const output = responsesFile === undefined ? { inlinedResponses: inlinedResponses() } : { responsesFile }
    const failed = end === undefined ? 0 : run.answers().filter(({ outcome }) => outcome !== "answered").length
    const total = run.lines.length
    return {
      name: id,
      metadata: {
        "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
        name: id,
        model: `models/${model}`,
        displayName,
        state: `BATCH_STATE_${end === undefined ? "RUNNING" : states[end]}`,
        createTime: new Date(createdMs).toISOString(),
        updateTime: new Date(nowMs()).toISOString(),
        ...(endedMs !== undefined && { endTime: new Date(endedMs).toISOString() }),
        ...(inputFile !== undefined && { inputConfig: { fileName: inputFile } }),
        batchStats: {
          requestCount: String(total),
          pendingRequestCount: String(end === undefined ? total : 0),
          successfulRequestCount: String(end === undefined ? 0 : total - failed),
          failedRequestCount: String(failed),
        },
        ...(hasOutput && { output }),
      },
      done: end !== undefined,
      ...(end === "completed" && { response: output }),
      ...(end === "cancelled" && { error: { code: 1, message: "The operation was cancelled." } }),
      ...(end === "failed" && { error: { code: 3, message: "The input file could not be read." } }),
    }
  }

  const about = (call: VendorCall, batch: Batch, verb: string | undefined): Promise<void> => {
    if (verb === "cancel") {
      batch.run.cancel()
      return sendJson(call, 200, {})
    }
    if (call.method === "DELETE") {
      batches.delete(batch.id)
      return sendJson(call, 200, {})
    }
    poll(batch)
    return sendJson(call, 200, operationOf(batch))
  }

  const list = (call: VendorCall, query: URLSearchParams): Promise<void> => {
    const all = [...batches.values()].reverse()
    const { page, hasMore } = pageAfter(all, query.get("pageToken"), Number(query.get("pageSize") ?? 10))
    const operations = page.map(operationOf)
    return sendJson(call, 200, { operations, ...(hasMore && { nextPageToken: page.at(-1)?.id }) })
  }

  const serve = (call: VendorCall): Promise<void> | undefined => {
    const { pathname, searchParams } = placeOf(call)
    if (/^(\/upload)?\/v1beta\/files(\/|$)/.test(pathname)) return files.serve(call, pathname, searchParams, book)
    const [, model, method] = ofModel.exec(pathname) ?? []
    if (model !== undefined) return create(call, decodeURIComponent(model), method === "asyncBatchEmbedContent")
    const [whole, id, verb] = /^\/v1beta\/batches(?:\/([^/:]+))?(?::(cancel))?$/.exec(pathname) ?? []
    if (whole === undefined) return undefined
    if (id === undefined) return list(call, searchParams)
    const batch = batches.get(`batches/${id}`)
    return batch === undefined
      ? refuse(call, 404, "NOT_FOUND", "Requested entity was not found.")
      : about(call, batch, verb)
  }

  return { serve, plan: book.change, batches: () => [...batches.keys()], files: () => files.ids }
}

const ofModel = /^\/v1beta\/models\/([^/:]+):(batchGenerateContent|asyncBatchEmbedContent)$/

const knownTypes = new Set(["jsonl", "application/jsonl", "application/x-ndjson", "application/json", "text/plain"])

const codes: Readonly<Record<number, number>> = { 400: 3, 403: 7, 404: 5, 429: 8 }

const resultOf = (script: TwinScript, { model, isEmbedding }: Batch, { line, outcome }: LineAnswer): object => {
  if (outcome === "expired") return { error: { code: 4, message: "The batch expired." } }
  if (outcome === "cancelled") return { error: { code: 1, message: "The batch was cancelled." } }
  if (outcome === "refused") return { error: { code: 3, message: "Request contains an invalid argument." } }
  if (isEmbedding) return { response: { embedding: { values: [0.5, 1] }, tokenCount: "1" } }
  const path = `/v1beta/models/${model}:generateContent`
  const call: TwinCall = { path, body: line.body, headers: {}, streaming: false }
  const { status, body } = answerOf(geminiTwin, script, call)
  if (status === 200) return { response: body }
  const error = objectAt(parseObject(JSON.stringify(body)), "error")
  return { error: { code: codes[status] ?? 13, message: stringAt(error, "message") ?? "" } }
}
