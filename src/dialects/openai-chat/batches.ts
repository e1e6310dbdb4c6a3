/** Batches in OpenAI's format: a file of lines, then a batch of it. Source: https://platform.openai.com/docs/api-reference/batch */
import { Result } from "effect"
import { entryOf } from "../../protocol/values/entry.ts"
import type {
  BatchDialect,
  BatchResult,
  BatchStatus,
  BatchWire,
  FoundBatch,
  ResultPlace,
  Submission,
  SubmitStep,
} from "../batch-dialect.ts"
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
  malformedResult,
  notInBatches,
  parseLine,
  resultOf,
  unknownState,
} from "../vendor/batch-lines.ts"
import { malformedReply, type VendorFault } from "../vendor/faults.ts"
import { formRequest } from "../vendor/form-body.ts"
import { jsonRequest } from "../whole-dialect.ts"
import { type BatchEndpoint, type BatchProfile, batchEndpoints } from "./batch-profiles.ts"
import { faultOf, openaiRefusal } from "./faults.ts"

/** The name of the submission's id in a batch's metadata. */
export const ownKey = "weir_batch"

/** An id of the vendor that the books can store, and that fits into a path. */
const vendorId = /^[\x21-\x7e]{1,512}$/

/** @param place the location of the API's paths below the vendor's address */
export const makeBatches = (profile: BatchProfile, place: (path: string) => string = (path) => path): BatchDialect => {
  const at = (batch: string, rest = "") => place(`/batches/${encodeURIComponent(batch)}${rest}`)
  const fileAt = (file: string, rest = "") => place(`/files/${encodeURIComponent(file)}${rest}`)

  const create = ({ id, group }: Submission, file: string): SubmitStep =>
    askStep(
      openaiRefusal,
      {
        request: jsonRequest(place("/batches"), {
          input_file_id: file,
          endpoint: `${profile.prefix}${group}`,
          completion_window: "24h",
          metadata: { [ownKey]: id },
          ...(profile.fileSeconds !== undefined && {
            output_expires_after: { anchor: "created_at", seconds: profile.fileSeconds },
          }),
        }),
        creates: true,
      },
      (body) => {
        const batch = idAt(body, "id")
        return batch === undefined ? undefined : madeStep(batch, file)
      },
    )

  /** The step after a file was uploaded, or asked for: Azure reads it before a batch may name it. */
  const afterFile = (submission: Submission, body: JsonObject): Result.Result<SubmitStep, VendorFault> | undefined => {
    const file = idAt(body, "id")
    if (file === undefined) return undefined
    const status = stringAt(body, "status")
    if (status === "error") return Result.fail({ ...malformedReply, status: 400, code: "file_error", blame: "request" })
    if (status !== "pending" && status !== "running") return Result.succeed(create(submission, file))
    const again = { request: getRequest(fileAt(file)), afterMs: filePollMs }
    return Result.succeed(askStep(openaiRefusal, again, (body) => afterFile(submission, body)))
  }

  return {
    kinds: [...new Set(profile.endpoints.map((endpoint) => batchEndpoints[endpoint]))],
    bounds: profile.bounds,
    between: "\n",
    line: (wire, id) => {
      const endpoint = endpointOf(wire, profile)
      if (endpoint === undefined) return notInBatches
      return Result.map(lineBody(wire, id), (body) => ({
        text: `{"custom_id":"${id}","method":"POST","url":"${profile.prefix}${endpoint}","body":${body}}`,
        group: endpoint,
        items: endpoint === "/embeddings" ? textsIn(body) : 1,
      }))
    },
    submit: (submission, content) => {
      const { fileSeconds } = profile
      const request = formRequest(place("/files"), [
        ["purpose", "batch"],
        ["expires_after[anchor]", fileSeconds && "created_at"],
        ["expires_after[seconds]", fileSeconds],
        ["file", { file: content, mime: "application/jsonl", name: `${submission.id}.jsonl` }],
      ])
      return askStep(openaiRefusal, { request }, (body) => afterFile(submission, body))
    },
    find: (_submission, page) =>
      getRequest(place(`/batches?limit=100${page === undefined ? "" : `&after=${encodeURIComponent(page)}`}`)),
    found: (text, { id }, sinceMs) => {
      const body = parseLongObject(text)
      if (!Array.isArray(body?.["data"])) return undefined
      const listed = objectsAt(body, "data")
      const last = listed.at(-1)
      const isOver = body["has_more"] !== true || (numberAt(last, "created_at") ?? 0) * 1000 < sinceMs - clockSkewMs
      return {
        batches: listed.filter((each) => stringAt(objectAt(each, "metadata"), ownKey) === id).flatMap(foundIn),
        next: isOver ? undefined : idAt(last, "id"),
      }
    },
    poll: ({ id }) => getRequest(at(id)),
    status: (text) => {
      // A batch that failed may name each of its lines.
      const body = parseLongObject(text)
      const status = stringAt(body, "status")
      if (body === undefined || status === undefined) return undefined
      const state = entryOf(states, status)
      if (state === undefined) return { ...unknownState(status), results: [], badLines: [], files: [] }
      const errors = state === "failed" ? objectsAt(objectAt(body, "errors"), "data") : []
      const made = [idAt(body, "output_file_id"), idAt(body, "error_file_id")].filter((file) => file !== undefined)
      return {
        state,
        ...countsOf(objectAt(body, "request_counts"), ["completed"], ["failed"]),
        results:
          state === "running"
            ? []
            : made.map((file): ResultPlace => ({ t: "file", request: contentRequest(fileAt(file, "/content")) })),
        ...(state === "failed" && { fault: faultOfLine(errors[0]) }),
        badLines: errors.flatMap((error) => {
          const line = numberAt(error, "line")
          return line === undefined ? [] : [{ line, fault: faultOfLine(error) }]
        }),
        files: [idAt(body, "input_file_id"), ...made].filter((file) => file !== undefined),
      }
    },
    result: readResult,
    cancel: ({ id }) => ({ headers: { accept: "application/json" }, body: "", path: at(id, "/cancel") }),
    removals: ({ inputFile }, { files }) => filesOfBatch(inputFile, files).map((file) => deleteRequest(fileAt(file))),
  }
}

const filePollMs = 2000

export const idAt = (body: JsonObject | undefined, name: string): string | undefined => {
  const id = stringAt(body, name)
  return id !== undefined && vendorId.test(id) ? id : undefined
}

/** The endpoint of a request, at any address. */
export const endpointOf = (
  { path }: BatchWire,
  { endpoints }: Pick<BatchProfile, "endpoints">,
): BatchEndpoint | undefined => {
  const [place = ""] = path.split("?")
  return endpoints.find((endpoint) => place.endsWith(endpoint))
}

/** Texts to embed: a list of numbers is one text in tokens. */
export const textsIn = (body: string): number => {
  const input = parseObject(body)?.["input"]
  return Array.isArray(input) && typeof input[0] !== "number" ? Math.max(1, input.length) : 1
}

const foundIn = (body: JsonObject): ReadonlyArray<FoundBatch> => {
  const id = idAt(body, "id")
  const inputFile = idAt(body, "input_file_id")
  return id === undefined ? [] : [{ batch: { id, inputFile }, isSure: true }]
}

const states: Readonly<Record<string, BatchStatus["state"]>> = {
  validating: "running",
  in_progress: "running",
  finalizing: "running",
  cancelling: "running",
  completed: "ended",
  failed: "failed",
  expired: "expired",
  cancelled: "cancelled",
}

/** Codes of batches that are no fault of a line. */
const statuses: Readonly<Record<string, number>> = { token_limit_exceeded: 429, request_timeout: 408 }

const faultOfLine = (error: JsonObject = {}): VendorFault =>
  faultOf(entryOf(statuses, stringAt(error, "code") ?? "") ?? 400, { error })

export const readResult = (line: string): BatchResult => {
  const parsed = parseLine(line)
  if (parsed === undefined) return { t: "unreadable" }
  const { json, source } = parsed
  return resultOf(json["custom_id"], (id) => {
    const error = objectAt(json, "error")
    if (error !== undefined) {
      const code = stringAt(error, "code")
      if (code === "batch_expired") return { t: "expired", id }
      if (code === "batch_cancelled") return { t: "cancelled", id }
      return { t: "errored", id, fault: faultOfLine(error) }
    }
    const status = numberAt(objectAt(json, "response"), "status_code")
    const body = source.textAt(["response", "body"])
    return status === undefined || body === undefined ? malformedResult(id) : { t: "answered", id, status, body }
  })
}
