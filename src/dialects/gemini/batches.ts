/** Batches in Gemini's format: an uploaded file of lines, then a batch of it. Source: https://ai.google.dev/api/batch-api */
import { Result } from "effect"
import type { MediaFile } from "../../media/media-file.ts"
import { JsonSource } from "../../protocol/json/json-source.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import type { BatchDialect, BatchStatus, ResultPlace, Submission, SubmitStep } from "../batch-dialect.ts"
import {
  isObject,
  type JsonObject,
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
import { malformedReply, type VendorFault } from "../vendor/faults.ts"
import { jsonRequest } from "../whole-dialect.ts"
import { geminiResult } from "./batch-results.ts"
import { geminiFault, geminiRefusal } from "./faults.ts"

const jsonl = "application/jsonl"

const batchName = /^batches\/[\w-]{1,256}$/
const fileName = /^files\/[\w-]{1,256}$/

/** A request for content, or for the vector of one text, by the model's path. */
const ofModel = /^(\/v1beta\/models\/[^/:?]+):(generateContent|batchEmbedContents)$/

export const geminiBatches: BatchDialect = {
  kinds: ["chat", "embedding"],
  // A file has 2 GB. Google documents no number of lines.
  bounds: { items: 100_000, bytes: 2_000_000_000 },
  between: "\n",
  line: (wire, id) => {
    const [, , method] = ofModel.exec(wire.path) ?? []
    if (method === undefined) return notInBatches
    return Result.flatMap(lineBody(wire, id), (body) => {
      const request = method === "generateContent" ? body : onlyText(body)
      return request === undefined
        ? notInBatches
        : Result.succeed({ text: `{"key":"${id}","request":${request}}`, group: wire.path, items: 1 })
    })
  },
  submit: (submission, content) =>
    askStep(
      geminiRefusal,
      {
        request: {
          ...jsonRequest("/upload/v1beta/files", { file: { displayName: submission.id, mimeType: jsonl } }),
          headers: {
            accept: "application/json",
            "x-goog-upload-protocol": "resumable",
            "x-goog-upload-command": "start",
            "x-goog-upload-header-content-length": String(content.bytes),
            "x-goog-upload-header-content-type": jsonl,
          },
        },
      },
      (_body, headers) => {
        const path = uploadPath(headers["x-goog-upload-url"])
        return path === undefined ? undefined : Result.succeed(upload(submission, content, path))
      },
    ),
  find: (_submission, page) =>
    getRequest(`/v1beta/batches?pageSize=100${page === undefined ? "" : `&pageToken=${encodeURIComponent(page)}`}`),
  found: (text, { id }, sinceMs) => {
    // A list may contain results.
    const body = parseLongObject(text)
    if (body === undefined || "error" in body) return undefined
    const listed = objectsAt(body, "operations")
    const isOlder = createdMs(listed.at(-1)) < sinceMs - clockSkewMs
    return {
      batches: listed.flatMap((each) => {
        const name = nameIn(each, batchName)
        const isOwn = stringAt(objectAt(each, "metadata"), "displayName") === id
        return name === undefined || !isOwn ? [] : [{ batch: { id: name, inputFile: inputOf(each) }, isSure: true }]
      }),
      next: isOlder ? undefined : stringAt(body, "nextPageToken") || undefined,
    }
  },
  poll: ({ id }) => getRequest(`/v1beta/${id}`),
  status: readStatus,
  result: geminiResult,
  cancel: ({ id }) => ({ headers: { accept: "application/json" }, body: "{}", path: `/v1beta/${id}:cancel` }),
  removals: ({ id, inputFile }, { files }) =>
    [id, ...filesOfBatch(inputFile, files)].map((name) => deleteRequest(`/v1beta/${name}`)),
}

/** The step that sends the content, at the path that the start has returned. */
const upload = (submission: Submission, content: MediaFile, path: string): SubmitStep =>
  askStep(
    geminiRefusal,
    {
      request: {
        path,
        headers: {
          accept: "application/json",
          "content-type": jsonl,
          "x-goog-upload-command": "upload, finalize",
          "x-goog-upload-offset": "0",
        },
        body: [content],
      },
    },
    (body) => afterFile(submission, objectAt(body, "file") ?? {}),
  )

/** The step after a file was uploaded, or asked for. */
const afterFile = (submission: Submission, file: JsonObject): Result.Result<SubmitStep, VendorFault> | undefined => {
  const name = nameIn(file, fileName)
  if (name === undefined) return undefined
  if (file["state"] === "FAILED") return Result.fail(geminiFault(objectAt(file, "error"), 400))
  if (file["state"] !== "PROCESSING") return Result.succeed(create(submission, name))
  const again = { request: getRequest(`/v1beta/${name}`), afterMs: filePollMs }
  return Result.succeed(askStep(geminiRefusal, again, (body) => afterFile(submission, body)))
}

const filePollMs = 2000

const create = ({ id, group }: Submission, file: string): SubmitStep => {
  const [, model = "", method] = ofModel.exec(group) ?? []
  const isContent = method === "generateContent"
  const inputConfig = isContent ? { fileName: file } : { file_name: file }
  return askStep(
    geminiRefusal,
    {
      request: jsonRequest(`${model}:${isContent ? "batchGenerateContent" : "asyncBatchEmbedContent"}`, {
        batch: { displayName: id, inputConfig },
      }),
      creates: true,
    },
    (body) => {
      const name = nameIn(body, batchName)
      return name === undefined ? undefined : madeStep(name, file)
    },
  )
}

/** The path of an address, at the vendor's own: the key is sent to no other host. */
const uploadPath = (address = ""): string | undefined => {
  if (!URL.canParse(address)) return undefined
  const { pathname, search } = new URL(address)
  const at = pathname.indexOf("/upload/")
  return at === -1 ? undefined : `${pathname.slice(at)}${search}`
}

/** The request of a call for one vector; undefined for one that asks for several. */
const onlyText = (body: string): string | undefined =>
  objectsAt(parseObject(body), "requests").length === 1 ? new JsonSource(body).textAt(["requests", 0]) : undefined

const nameIn = (body: JsonObject | undefined, form: RegExp): string | undefined => {
  const name = stringAt(body, "name")
  return name !== undefined && form.test(name) ? name : undefined
}

const inputOf = (operation: JsonObject): string | undefined => {
  const file = stringAt(objectAt(objectAt(operation, "metadata"), "inputConfig"), "fileName")
  return file !== undefined && fileName.test(file) ? file : undefined
}

const createdMs = (operation: JsonObject | undefined): number =>
  Date.parse(stringAt(objectAt(operation, "metadata"), "createTime") ?? "") || 0

const states: Readonly<Record<string, BatchStatus["state"]>> = {
  UNSPECIFIED: "running",
  PENDING: "running",
  QUEUED: "running",
  RUNNING: "running",
  CANCELLING: "running",
  SUCCEEDED: "ended",
  FAILED: "failed",
  CANCELLED: "cancelled",
  EXPIRED: "expired",
}

/** The code of an operation that was cancelled: https://cloud.google.com/apis/design/errors#error_codes */
const cancelledCode = 1

function readStatus(text: string): BatchStatus | undefined {
  const body = parseLongObject(text)
  const metadata = objectAt(body, "metadata")
  if (body === undefined || stringAt(body, "name") === undefined) return undefined
  const named = stringAt(metadata, "state")?.replace(/^(BATCH|JOB)_STATE_/, "")
  const error = objectAt(body, "error")
  const state = named === undefined ? undefined : entryOf(states, named)
  if (named !== undefined && state === undefined)
    return { ...unknownState(named), results: [], badLines: [], files: [] }
  const isDone = body["done"] === true
  const ended = error === undefined ? "ended" : error["code"] === cancelledCode ? "cancelled" : "failed"
  const reported = state ?? (isDone ? ended : "running")
  const { places, files } = resultsIn(text, body)
  return {
    state: reported,
    ...countsOf(objectAt(metadata, "batchStats"), ["successfulRequestCount"], ["failedRequestCount"]),
    results: reported === "running" ? [] : places,
    ...(reported === "failed" && { fault: error === undefined ? malformedReply : geminiFault(error) }),
    badLines: [],
    files: [inputOf(body), ...files].filter((file) => file !== undefined),
  }
}

/** The positions of the output, which is written at one or several of them. */
const outputs = [["response"], ["response", "output"], ["metadata", "output"]] as const

/** A small batch has its results with it, even if its lines came in a file. */
const inline = ["inlinedResponses", "inlinedEmbedContentResponses"] as const

const resultsIn = (
  text: string,
  body: JsonObject,
): { readonly places: ReadonlyArray<ResultPlace>; readonly files: ReadonlyArray<string> } => {
  for (const path of outputs) {
    const output = path.reduce<JsonObject | undefined>(objectAt, body)
    const file = stringAt(output, "responsesFile")
    if (file !== undefined && fileName.test(file)) {
      return { places: [{ t: "file", request: contentRequest(`/v1beta/${file}:download?alt=media`) }], files: [file] }
    }
    for (const name of inline) {
      const items = objectAt(output, name)?.["inlinedResponses"]
      if (!Array.isArray(items)) continue
      const source = new JsonSource(text)
      const lines = items.flatMap((item: unknown, at) =>
        isObject(item) ? (source.textAt([...path, name, "inlinedResponses", at]) ?? []) : [],
      )
      return { places: [{ t: "lines", lines }], files: [] }
    }
  }
  return { places: [], files: [] }
}
