/** The twin of OpenAI's batches, and their files. Source: https://platform.openai.com/docs/api-reference/batch */
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
  type WholeAnswer,
} from "../batch-twin.ts"
import { nullable, shapeFault } from "../shape.ts"
import type { TwinCall, TwinScript } from "../twin.ts"
import { type LineError, readBatchLines } from "./batch-lines.ts"
import { openaiTwin } from "./chat-twin.ts"
import { openaiRefusal, shapeRefusal } from "./faults.ts"
import { OpenaiFiles } from "./files.ts"
import { responsesTwin } from "./responses-twin.ts"

export interface OpenaiBatchOptions {
  readonly nowMs?: () => number
  /** The part of an endpoint's name before its path; Azure has none. */
  readonly prefix?: "/v1" | ""
  /** Reads after which a file is processed, as at Azure. */
  readonly pendingReads?: number
}

interface Batch {
  readonly id: string
  readonly endpoint: string
  readonly inputFile: string
  readonly metadata: unknown
  readonly createdS: number
  readonly run: BatchRun
  errors: ReadonlyArray<LineError>
  endedS: number | undefined
  outputFile: string | null
  errorFile: string | null
}

const window = 86_400

const CreateBody = Schema.Struct({
  input_file_id: Schema.String,
  endpoint: Schema.String,
  completion_window: Schema.String,
  metadata: nullable(
    Schema.Record(Schema.String.check(Schema.isMaxLength(64)), Schema.String.check(Schema.isMaxLength(512))),
  ),
  output_expires_after: nullable(Schema.Struct({ anchor: Schema.Literal("created_at"), seconds: Schema.Int })),
})

const endpoints = [
  "/chat/completions",
  "/responses",
  "/embeddings",
  "/moderations",
  "/images/generations",
  "/completions",
]

export const makeOpenaiBatches = (script: TwinScript, options: OpenaiBatchOptions = {}): BatchTwin => {
  const { nowMs = Date.now, prefix = "/v1", pendingReads = 0 } = options
  const nowS = () => Math.floor(nowMs() / 1000)
  const book = new PlanBook()
  const files = new OpenaiFiles(nowS, pendingReads)
  const batches = new Map<string, Batch>()

  const make = (body: typeof CreateBody.Type): Batch => {
    const { endpoint, input_file_id: inputFile } = body
    const file = files.find(inputFile)
    const createdS = nowS()
    const missing: LineError = {
      code: "invalid_request",
      line: null,
      param: "file_id",
      message: `Cannot find file ${inputFile}, or organization org-twin does not have access to it.`,
    }
    const { lines, errors } =
      file === undefined ? { lines: [], errors: [missing] } : readBatchLines(file.content, endpoint)
    const run = new BatchRun(lines, book, () => nowS() >= createdS + window)
    const id = `batch_twin${batches.size + 1}`
    const batch: Batch = {
      ...{ id, endpoint, inputFile, createdS, run, errors, metadata: body.metadata ?? null },
      ...{ endedS: undefined, outputFile: null, errorFile: null },
    }
    batches.set(id, batch)
    return batch
  }

  const create = async (call: VendorCall): Promise<void> => {
    const refusal = refusalOf(call, prefix)
    if (refusal !== undefined) return sendJson(call, refusal.status, refusal.body)
    const pending = files.find(String(call.body["input_file_id"]))?.pending ?? 0
    if (pending > 0) return refuse(call, 400, "The input file is in 'pending' state.", "input_file_id")
    const batch = make(Schema.decodeUnknownSync(CreateBody)(call.body))
    return book.takes("lostCreates") ? call.reset() : sendJson(call, 200, batchObject(batch))
  }

  /** Moves a batch on; the files of its results are there before its status says so. */
  const poll = (batch: Batch): void => {
    const { run, errors } = batch
    if (run.end !== undefined) return
    if (errors.length > 0) run.fail()
    if (run.poll() === undefined) return
    batch.endedS = nowS()
    if (run.end === "failed") {
      if (batch.errors.length === 0) batch.errors = [fullQueue]
      return
    }
    const answers = run.answers()
    const add = (name: string, isOwn: (answer: LineAnswer) => boolean) => {
      const texts = resultTexts(answers.filter(isOwn), (answer, id) => resultLine(script, batch.endpoint, answer, id))
      return texts.length === 0
        ? null
        : files.add(`${batch.id}_${name}.jsonl`, "batch_output", `${texts.join("\n")}\n`).id
    }
    batch.outputFile = add("output", (answer) => isGood(script, batch.endpoint, answer))
    batch.errorFile = add("error", (answer) => !isGood(script, batch.endpoint, answer))
  }

  const list = (call: VendorCall, query: URLSearchParams): Promise<void> => {
    const limit = Number(query.get("limit") ?? 20)
    if (!(limit >= 1 && limit <= 100)) return refuse(call, 400, `Invalid 'limit': ${limit}.`, "limit")
    const { page, hasMore } = pageAfter([...batches.values()].reverse(), query.get("after"), limit)
    const ids = { first_id: page[0]?.id ?? null, last_id: page.at(-1)?.id ?? null }
    return sendJson(call, 200, { object: "list", data: page.map(batchObject), ...ids, has_more: hasMore })
  }

  const serve = (call: VendorCall): Promise<void> | undefined => {
    const { pathname, searchParams } = placeOf(call)
    const path = pathname.replace(/^(\/openai)?(\/v1)?/, "")
    if (/^\/files(\/|$)/.test(path)) return files.serve(call, path, searchParams, book)
    const [, id, verb] = /^\/batches(?:\/([^/]+))?(?:\/(cancel))?$/.exec(path) ?? []
    if (!path.startsWith("/batches")) return undefined
    if (id === undefined) return call.method === "POST" ? create(call) : list(call, searchParams)
    const batch = batches.get(id)
    if (batch === undefined) return refuse(call, 404, `No batch found with id '${id}'.`)
    if (verb === undefined) poll(batch)
    else if (!batch.run.cancel() && batch.run.end !== "cancelled") {
      return refuse(call, 409, `Cannot cancel a batch with status '${batch.run.end}'.`)
    }
    return sendJson(call, 200, batchObject(batch))
  }

  return { serve, plan: book.change, batches: () => [...batches.keys()], files: () => files.ids }
}

/** The error of a batch that fails by its plan. */
const fullQueue: LineError = {
  code: "token_limit_exceeded",
  line: null,
  param: null,
  message: "Enqueued token limit reached for gpt-5 in organization org-twin. Limit: 90,000 enqueued tokens.",
}

const refuse = (call: VendorCall, status: number, message: string, param: string | null = null): Promise<void> =>
  sendJson(call, status, openaiRefusal("batches", message, param).body)

const refusalOf = ({ body }: VendorCall, prefix: string): WholeAnswer | undefined => {
  const fault = shapeFault(CreateBody, body)
  if (fault !== undefined) return shapeRefusal(body, fault, false)
  const known = endpoints.map((endpoint) => `${prefix}${endpoint}`)
  const valid = (name: string, values: ReadonlyArray<string>) => {
    const value = String(body[name])
    if (values.includes(value)) return undefined
    const listed = values.map((each) => `'${each}'`)
    const others = listed.length === 1 ? listed[0] : `${listed.slice(0, -1).join(", ")}, and ${listed.at(-1)}`
    return openaiRefusal(
      "batches",
      `Invalid value: '${value}'. Supported values are: ${others}.`,
      name,
      "invalid_value",
    )
  }
  return valid("endpoint", known) ?? valid("completion_window", ["24h"])
}

const batchObject = ({
  id,
  endpoint,
  inputFile,
  metadata,
  createdS,
  run,
  errors,
  endedS,
  outputFile,
  errorFile,
}: Batch): object => {
  const { end, isCancelling, lines } = run
  const answers = end === undefined || end === "failed" ? [] : run.answers()
  const failed = answers.filter(({ outcome }) => outcome !== "answered" && outcome !== "twice").length
  const at = (is: boolean) => (is ? (endedS ?? createdS) : null)
  return {
    id,
    object: "batch",
    endpoint,
    errors: errors.length === 0 || end === undefined ? null : { object: "list", data: errors },
    input_file_id: inputFile,
    completion_window: "24h",
    status: end ?? (isCancelling ? "cancelling" : "in_progress"),
    output_file_id: outputFile,
    error_file_id: errorFile,
    created_at: createdS,
    in_progress_at: at(errors.length === 0),
    expires_at: createdS + window,
    finalizing_at: at(end === "completed"),
    completed_at: at(end === "completed"),
    failed_at: at(end === "failed"),
    expired_at: at(end === "expired"),
    cancelling_at: at(isCancelling),
    cancelled_at: at(end === "cancelled"),
    request_counts: { total: errors.length > 0 ? 0 : lines.length, completed: answers.length - failed, failed },
    metadata,
  }
}

const isGood = (script: TwinScript, endpoint: string, answer: LineAnswer): boolean =>
  answer.outcome !== "expired" && answer.outcome !== "cancelled" && replyTo(script, endpoint, answer).status === 200

const reasons = {
  expired: ["batch_expired", "This request could not be executed before the completion window expired."],
  cancelled: ["batch_cancelled", "This request was not executed because the batch was cancelled."],
} as const

const resultLine = (script: TwinScript, endpoint: string, answer: LineAnswer, id: string | undefined): object => {
  const { line, outcome } = answer
  const name = { id: `batch_req_${line.id}`, ...(id !== undefined && { custom_id: id }) }
  if (outcome === "expired" || outcome === "cancelled") {
    const [code, message] = reasons[outcome]
    return { ...name, response: null, error: { code, message } }
  }
  const { status, body } = replyTo(script, endpoint, answer)
  return { ...name, response: { status_code: status, request_id: `req_${line.id}`, body }, error: null }
}

const replyTo = (script: TwinScript, endpoint: string, { line, outcome }: LineAnswer): WholeAnswer => {
  if (outcome === "refused") return openaiRefusal("plan", "The model produced invalid content.", null, "invalid_value")
  const call: TwinCall = { path: endpoint, body: line.body, headers: {}, streaming: false }
  if (endpoint.endsWith("/responses")) return answerOf(responsesTwin, script, call)
  return endpoint.endsWith("/chat/completions")
    ? answerOf(openaiTwin, script, call)
    : { status: 200, body: otherReply(endpoint, call) }
}

/** Replies of kinds without a twin of their own. */
const otherReply = (endpoint: string, { body }: TwinCall): object => {
  const inputs = Array.isArray(body["input"]) ? body["input"].length : 1
  const usage = { prompt_tokens: inputs, total_tokens: inputs }
  const { model = "twin" } = body
  if (endpoint.endsWith("/embeddings")) {
    const data = Array.from({ length: inputs }, (_, index) => ({ object: "embedding", index, embedding: vector(body) }))
    return { object: "list", data, model, usage }
  }
  if (endpoint.endsWith("/moderations")) {
    const result = { flagged: false, categories: { violence: false }, category_scores: { violence: 0 } }
    return { id: "modr-1", model, results: Array.from({ length: inputs }, () => result) }
  }
  return { created: 1, data: [{ b64_json: "iVBORw0KGgo=" }] }
}

/** The vector [0.5, 1], also as base64 of little-endian floats. */
const vector = (body: TwinCall["body"]): unknown =>
  body["encoding_format"] === "base64" ? Buffer.from(new Float32Array([0.5, 1]).buffer).toString("base64") : [0.5, 1]
