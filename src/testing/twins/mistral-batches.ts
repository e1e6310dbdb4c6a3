/**
 * The twin of Mistral's batches, and their files: jobs of one model. Lines that a job did not reach have no result. Sources:
 * https://docs.mistral.ai/capabilities/batch, https://docs.mistral.ai/api/endpoint/batch
 */
import { Schema } from "effect"
import { isObject, parseObject } from "../../dialects/parse/json.ts"
import type { VendorCall } from "../scripted-vendor.ts"
import {
  answerOf,
  BatchRun,
  type BatchTwin,
  type LineAnswer,
  linesOf,
  PlanBook,
  placeOf,
  resultTexts,
  sendJson,
  sendLines,
  type TwinLine,
  type WholeAnswer,
} from "./batch-twin.ts"
import { openaiTwin } from "./openai/chat-twin.ts"
import { nullable, shapeFault } from "./shape.ts"
import type { TwinCall, TwinScript } from "./twin.ts"

interface Job {
  readonly id: string
  readonly endpoint: string
  readonly model: string
  readonly inputFile: string
  readonly metadata: unknown
  readonly createdS: number
  readonly run: BatchRun
  outputFile: string | null
}

const CreateBody = Schema.Struct({
  input_files: Schema.Tuple([Schema.String]),
  endpoint: Schema.Literals(["/v1/chat/completions", "/v1/embeddings", "/v1/fim/completions", "/v1/moderations"]),
  model: Schema.String,
  metadata: nullable(Schema.Record(Schema.String, Schema.String)),
  timeout_hours: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 168 }))),
})
const Line = Schema.Struct({
  custom_id: Schema.String,
  body: Schema.Record(Schema.String, Schema.Json),
})

const mostPage = 100

export const makeMistralBatches = (script: TwinScript): BatchTwin => {
  const book = new PlanBook()
  const files = new Map<string, string>()
  const jobs = new Map<string, Job>()
  let made = 0
  const addFile = (content: string) => {
    const id = `00000000-0000-4000-8000-${String(++made).padStart(12, "0")}`
    files.set(id, content)
    return id
  }

  const upload = async (call: VendorCall): Promise<void> => {
    const type = String(call.headers["content-type"])
    const form = await new Response(new Uint8Array(call.sent), { headers: { "content-type": type } }).formData()
    const unknown = [...form.keys()].find((name) => name !== "purpose" && name !== "file")
    const file = form.get("file")
    if (unknown !== undefined || form.get("purpose") !== "batch" || file === null || typeof file === "string")
      return refuse(call, 422, `Invalid form: ${unknown ?? "purpose, file"}`)
    const content = await file.text()
    const isFit = linesOf(content).every((line) => shapeFault(Line, parseObject(line) ?? {}) === undefined)
    if (!file.name.endsWith(".jsonl") || !isFit) return refuse(call, 422, "Invalid file format.")
    const id = addFile(content)
    return sendJson(call, 200, { id, object: "file", bytes: file.size, filename: file.name, purpose: "batch" })
  }

  const serveFile = (call: VendorCall, id: string, rest: string | undefined): Promise<void> => {
    const content = files.get(id)
    if (content === undefined) return refuse(call, 404, `No file matches the given query.`)
    if (call.method === "DELETE") {
      files.delete(id)
      return sendJson(call, 200, { id, object: "file", deleted: true })
    }
    return rest === "content"
      ? sendLines(call, "application/octet-stream", content, book)
      : sendJson(call, 200, { id, object: "file", purpose: "batch" })
  }

  const create = (call: VendorCall): Promise<void> => {
    const fault = shapeFault(CreateBody, call.body)
    if (fault !== undefined) return refuse(call, 422, `Invalid body: ${JSON.stringify(fault)}`)
    const { input_files, endpoint, model, metadata } = Schema.decodeUnknownSync(CreateBody)(call.body)
    const [inputFile = ""] = input_files
    const content = files.get(inputFile)
    if (content === undefined) return refuse(call, 404, "No file matches the given query.")
    const lines = linesOf(content).map(readLine)
    if (lines.some(({ body }) => body["model"] !== model))
      return refuse(call, 422, "You can only use one model per batch.")
    if (new Set(lines.map(({ id }) => id)).size < lines.length) return refuse(call, 422, "A custom_id is used twice.")
    const id = `10000000-0000-4000-8000-${String(++made).padStart(12, "0")}`
    const run = new BatchRun(lines, book, () => false)
    const createdS = Math.floor(Date.now() / 1000)
    const job: Job = { ...{ id, endpoint, model, inputFile, metadata, createdS, run }, outputFile: null }
    jobs.set(id, job)
    if (!book.takes("lostCreates")) return sendJson(call, 200, jobObject(job))
    call.reset()
    return Promise.resolve()
  }

  const poll = (job: Job): void => {
    const { run, endpoint } = job
    if (run.end !== undefined || run.poll() === undefined || run.end === "failed") return
    const reached = run.answers().filter(({ outcome }) => outcome !== "expired" && outcome !== "cancelled")
    const texts = resultTexts(reached, (answer, id) => resultLine(script, endpoint, answer, id))
    if (texts.length > 0) job.outputFile = addFile(`${texts.join("\n")}\n`)
  }

  const list = (call: VendorCall, query: URLSearchParams): Promise<void> => {
    const [page, size] = [Number(query.get("page") ?? 0), Number(query.get("page_size") ?? mostPage)]
    if (!(page >= 0 && size >= 1 && size <= mostPage)) return refuse(call, 422, "Invalid page.")
    const all = [...jobs.values()].reverse()
    const data = all.slice(page * size, (page + 1) * size).map(jobObject)
    return sendJson(call, 200, { object: "list", data, total: all.length })
  }

  const serve = (call: VendorCall): Promise<void> | undefined => {
    const { pathname, searchParams } = placeOf(call)
    const [, file, rest] = /^\/v1\/files(?:\/([^/]+))?(?:\/(\w+))?$/.exec(pathname) ?? []
    if (pathname === "/v1/files") return upload(call)
    if (file !== undefined) return serveFile(call, file, rest)
    const [, id, verb] = /^\/v1\/batch\/jobs(?:\/([^/]+))?(?:\/(cancel))?$/.exec(pathname) ?? []
    if (!pathname.startsWith("/v1/batch/")) return undefined
    if (id === undefined) return call.method === "POST" ? create(call) : list(call, searchParams)
    const job = jobs.get(id)
    if (job === undefined) return refuse(call, 404, "No job matches the given query.")
    if (verb === undefined) poll(job)
    else job.run.cancel()
    return sendJson(call, 200, jobObject(job))
  }

  return { serve, plan: book.change, batches: () => [...jobs.keys()], files: () => [...files.keys()] }
}

const refuse = (call: VendorCall, status: number, message: string): Promise<void> =>
  sendJson(call, status, { object: "error", message, type: "invalid_request_error", param: null, code: null })

const readLine = (text: string): TwinLine => {
  const { custom_id: id = "", body } = parseObject(text) ?? {}
  return { id: String(id), body: isObject(body) ? JSON.parse(JSON.stringify(body)) : {} }
}

const ends = { completed: "SUCCESS", expired: "TIMEOUT_EXCEEDED", failed: "FAILED", cancelled: "CANCELLED" } as const

const jobObject = ({ id, endpoint, model, inputFile, metadata, createdS, run, outputFile }: Job): object => {
  const { end, isCancelling, lines } = run
  const answers = end === undefined || end === "failed" ? [] : run.answers()
  const succeeded = answers.filter(({ outcome }) => outcome === "answered" || outcome === "twice").length
  return {
    ...{ id, object: "batch", input_files: [inputFile], metadata: metadata ?? null, endpoint, model, agent_id: null },
    output_file: outputFile,
    error_file: null,
    errors: end === "failed" ? [{ message: "The file could not be read", count: 1 }] : [],
    status: end === undefined ? (isCancelling ? "CANCELLATION_REQUESTED" : "RUNNING") : ends[end],
    created_at: createdS,
    total_requests: lines.length,
    completed_requests: answers.length,
    succeeded_requests: succeeded,
    failed_requests: answers.length - succeeded,
    started_at: createdS,
    completed_at: end === undefined ? null : createdS,
  }
}

const resultLine = (script: TwinScript, endpoint: string, answer: LineAnswer, id: string | undefined): object => {
  const { status, body } = replyTo(script, endpoint, answer)
  const name = { id: `batch-${answer.line.id}`, ...(id !== undefined && { custom_id: id }) }
  return { ...name, response: { status_code: status, body }, error: null }
}

const replyTo = (script: TwinScript, endpoint: string, { line, outcome }: LineAnswer): WholeAnswer => {
  if (outcome === "refused") {
    const error = {
      object: "error",
      message: "Invalid content.",
      type: "invalid_request_error",
      param: null,
      code: null,
    }
    return { status: 400, body: error }
  }
  const call: TwinCall = { path: endpoint, body: line.body, headers: {}, streaming: false }
  if (endpoint.endsWith("/chat/completions")) return answerOf(openaiTwin, script, call)
  const data = [{ object: "embedding", index: 0, embedding: [0.5] }]
  const usage = { prompt_tokens: 1, total_tokens: 1 }
  return { status: 200, body: { object: "list", data, model: String(line.body["model"]), usage } }
}
