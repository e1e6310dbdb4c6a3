/**
 * Batches of Mistral: a file of lines, then a job of it for one model. Sources: https://docs.mistral.ai/capabilities/batch,
 * https://docs.mistral.ai/resources/known-limitations
 *
 * **Gotchas**: requests that the job did not reach in its time, or before it was cancelled, have no line in its files.
 */
import { Result } from "effect"
import { entryOf } from "../../protocol/values/entry.ts"
import type { BatchDialect, BatchStatus, ResultPlace, Submission, SubmitStep } from "../batch-dialect.ts"
import {
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  parseLongObject,
  parseObject,
  stringAt,
} from "../parse/json.ts"
import {
  askStep,
  clockSkewMs,
  contentRequest,
  countsOf,
  deleteRequest,
  filesOfBatch,
  getRequest,
  lineBody,
  madeStep,
  notInBatches,
  unknownState,
} from "../vendor/batch-lines.ts"
import { formRequest } from "../vendor/form-body.ts"
import { jsonRequest } from "../whole-dialect.ts"
import { endpointOf, idAt, ownKey, readResult, textsIn } from "./batches.ts"
import { faultOf, openaiRefusal } from "./faults.ts"

const endpoints = ["/chat/completions", "/embeddings"] as const
const pageSize = 100

const jobs = "/batch/jobs"
const jobAt = (id: string, rest = "") => `${jobs}/${encodeURIComponent(id)}${rest}`
const fileAt = (id: string, rest = "") => `/files/${encodeURIComponent(id)}${rest}`

/** The lines of a job share an endpoint and a model. */
const groupOf = (endpoint: string, model: string): string => `${endpoint} ${model}`
const placesOf = (group: string) => {
  const end = group.indexOf(" ")
  return { endpoint: `/v1${group.slice(0, end)}`, model: group.slice(end + 1) }
}

const create = ({ id, group }: Submission, file: string): SubmitStep =>
  askStep(
    openaiRefusal,
    {
      request: jsonRequest(jobs, {
        input_files: [file],
        ...placesOf(group),
        metadata: { [ownKey]: id },
        timeout_hours: 24,
      }),
      creates: true,
    },
    (body) => {
      const job = idAt(body, "id")
      return job === undefined ? undefined : madeStep(job, file)
    },
  )

export const mistralBatches: BatchDialect = {
  kinds: ["chat", "embedding"],
  bounds: { items: 100_000, bytes: 512_000_000 },
  between: "\n",
  line: (wire, id) => {
    const endpoint = endpointOf(wire, { endpoints })
    if (endpoint === undefined) return notInBatches
    return Result.flatMap(lineBody(wire, id), (body) => {
      const model = stringAt(parseObject(body), "model")
      if (model === undefined) return notInBatches
      const items = endpoint === "/embeddings" ? textsIn(body) : 1
      return Result.succeed({ text: `{"custom_id":"${id}","body":${body}}`, group: groupOf(endpoint, model), items })
    })
  },
  submit: (submission, content) => {
    const name = `${submission.id}.jsonl`
    const request = formRequest("/files", [
      ["purpose", "batch"],
      ["file", { file: content, mime: "application/jsonl", name }],
    ])
    return askStep(openaiRefusal, { request }, (body) => {
      const file = idAt(body, "id")
      return file === undefined ? undefined : Result.succeed(create(submission, file))
    })
  },
  find: (_submission, page = "0") => getRequest(`${jobs}?page=${encodeURIComponent(page)}&page_size=${pageSize}`),
  found: (text, { id }, sinceMs, page = "0") => {
    const body = parseLongObject(text)
    if (!Array.isArray(body?.["data"])) return undefined
    const listed = objectsAt(body, "data")
    const oldestMs = (numberAt(listed.at(-1), "created_at") ?? 0) * 1000
    const isOver = listed.length < pageSize || oldestMs < sinceMs - clockSkewMs
    return {
      batches: listed
        .filter((each) => stringAt(objectAt(each, "metadata"), ownKey) === id)
        .flatMap((each) => {
          const job = idAt(each, "id")
          return job === undefined ? [] : [{ batch: { id: job, inputFile: inputFileOf(each) }, isSure: true }]
        }),
      next: isOver ? undefined : String(Number(page) + 1),
    }
  },
  poll: ({ id }) => getRequest(jobAt(id)),
  status: (text) => {
    const body = parseLongObject(text)
    const status = stringAt(body, "status")
    if (body === undefined || status === undefined) return undefined
    const state = entryOf(states, status)
    if (state === undefined) return { ...unknownState(status), results: [], badLines: [], files: [] }
    const made = [idAt(body, "output_file"), idAt(body, "error_file")].filter((file) => file !== undefined)
    const [error] = objectsAt(body, "errors")
    return {
      state,
      ...countsOf(body, ["succeeded_requests"], ["failed_requests"]),
      results:
        state === "running"
          ? []
          : made.map((file): ResultPlace => ({ t: "file", request: contentRequest(fileAt(file, "/content")) })),
      ...(state === "failed" && { fault: faultOf(400, { error: error ?? { message: "The job failed" } }) }),
      badLines: [],
      files: [inputFileOf(body), ...made].filter((file) => file !== undefined),
    }
  },
  result: readResult,
  cancel: ({ id }) => ({ headers: { accept: "application/json" }, body: "", path: jobAt(id, "/cancel") }),
  removals: ({ inputFile }, { files }) => filesOfBatch(inputFile, files).map((file) => deleteRequest(fileAt(file))),
}

const inputFileOf = (job: JsonObject): string | undefined => {
  const files = job["input_files"]
  return Array.isArray(files) ? idAt({ file: files[0] }, "file") : undefined
}

const states: Readonly<Record<string, BatchStatus["state"]>> = {
  QUEUED: "running",
  RUNNING: "running",
  CANCELLATION_REQUESTED: "running",
  SUCCESS: "ended",
  FAILED: "failed",
  TIMEOUT_EXCEEDED: "expired",
  CANCELLED: "cancelled",
}
