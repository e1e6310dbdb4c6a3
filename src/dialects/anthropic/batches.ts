/** Batches of Anthropic's messages: all lines in one request. Source: https://platform.claude.com/docs/en/build-with-claude/batch-processing */
import { Result } from "effect"
import type { BatchDialect, BatchResult, FoundBatch, Submission } from "../batch-dialect.ts"
import { countAt, type JsonObject, objectAt, objectsAt, parseLongObject, parseObject, stringAt } from "../parse/json.ts"
import {
  askStep,
  clockSkewMs,
  contentRequest,
  countsOf,
  deleteRequest,
  getRequest,
  lineBody,
  madeStep,
  malformedResult,
  notInBatches,
  parseLine,
  resultOf,
  unknownState,
} from "../vendor/batch-lines.ts"
import { malformedReply } from "../vendor/faults.ts"
import { anthropicRefusal, statusOfType } from "./faults.ts"

const root = "/v1/messages/batches"
const vendorId = /^[\w.-]{1,256}$/

const at = (batch: string, rest = ""): string => `${root}/${encodeURIComponent(batch)}${rest}`

/** The results would be gone: https://platform.claude.com/docs/en/api/messages-batches, `archived_at` */
const archived = { ...malformedReply, code: "results_archived" }

export const anthropicBatches: BatchDialect = {
  kinds: ["chat"],
  // 256 MB, of which the list around the lines has a few bytes.
  bounds: { items: 100_000, bytes: 255_000_000 },
  between: ",\n",
  line: (wire, id) => {
    if (wire.path !== "/v1/messages") return notInBatches
    return Result.map(lineBody(wire, id), (body) => ({
      text: `{"custom_id":"${id}","params":${body}}`,
      // Features that must be asked for, in a header, hold for all lines.
      group: wire.headers["anthropic-beta"] ?? "",
      items: 1,
    }))
  },
  submit: ({ group }, content) =>
    askStep(
      anthropicRefusal,
      {
        request: {
          path: root,
          headers: { accept: "application/json", ...(group !== "" && { "anthropic-beta": group }) },
          body: ['{"requests":[', content, "]}"],
        },
        creates: true,
      },
      (body) => {
        const id = idIn(body)
        return id === undefined ? undefined : madeStep(id)
      },
    ),
  find: (_submission, page) =>
    getRequest(`${root}?limit=1000${page === undefined ? "" : `&after_id=${encodeURIComponent(page)}`}`),
  found: (text, submission, sinceMs) => {
    const body = parseLongObject(text)
    if (!Array.isArray(body?.["data"])) return undefined
    const listed = objectsAt(body, "data")
    const recent = listed.filter((each) => createdMs(each) >= sinceMs - clockSkewMs)
    const last = listed.at(-1)
    return {
      batches: recent.flatMap((each) => candidate(each, submission)),
      next: body["has_more"] === true && recent.length === listed.length && last !== undefined ? idIn(last) : undefined,
    }
  },
  poll: ({ id }) => getRequest(at(id)),
  status: (text, { id }) => {
    const body = parseObject(text)
    const status = stringAt(body, "processing_status")
    if (body === undefined || status === undefined) return undefined
    const counts = objectAt(body, "request_counts")
    const none = { results: [], badLines: [], files: [] }
    if (status === "in_progress" || status === "canceling") return { state: "running", ...none }
    if (status !== "ended") return { ...unknownState(status), ...none }
    const isArchived = stringAt(body, "archived_at") !== undefined
    const state = countAt(counts, "canceled") > 0 ? "cancelled" : countAt(counts, "expired") > 0 ? "expired" : "ended"
    return {
      ...none,
      state,
      // Before the end, all lines are counted as those that are processed.
      ...countsOf(counts, ["succeeded"], ["errored", "canceled", "expired"]),
      // The vendor's own address of the results may be elsewhere; the key is sent to no other host.
      results: isArchived ? [] : [{ t: "file", request: contentRequest(at(id, "/results")) }],
      ...(isArchived && { fault: archived }),
    }
  },
  result: (line) => {
    const parsed = parseLine(line)
    if (parsed === undefined) return { t: "unreadable" }
    return resultOf(parsed.json["custom_id"], (id): BatchResult => {
      const result = objectAt(parsed.json, "result")
      switch (stringAt(result, "type")) {
        case "succeeded": {
          const body = parsed.source.textAt(["result", "message"])
          return objectAt(result, "message") === undefined || body === undefined
            ? malformedResult(id)
            : { t: "answered", id, status: 200, body }
        }
        case "errored": {
          const body = parsed.source.textAt(["result", "error"])
          const type = stringAt(objectAt(objectAt(result, "error"), "error"), "type")
          return body === undefined || type === undefined
            ? malformedResult(id)
            : { t: "answered", id, status: statusOfType(type), body }
        }
        case "canceled":
          return { t: "cancelled", id }
        case "expired":
          return { t: "expired", id }
        default:
          return malformedResult(id)
      }
    })
  },
  cancel: ({ id }) => ({ headers: { accept: "application/json" }, body: "", path: at(id, "/cancel") }),
  removals: ({ id }) => [deleteRequest(at(id))],
}

const idIn = (body: JsonObject): string | undefined => {
  const id = stringAt(body, "id")
  return id !== undefined && vendorId.test(id) ? id : undefined
}

const createdMs = (body: JsonObject): number => Date.parse(stringAt(body, "created_at") ?? "") || 0

/** The counts of a batch, whose sum is the number of its lines at any time. */
const buckets = ["processing", "succeeded", "errored", "canceled", "expired"] as const

/** The vendor stores no ids of a submission: a batch of its size may be it. */
const candidate = (body: JsonObject, { lines }: Submission): ReadonlyArray<FoundBatch> => {
  const id = idIn(body)
  const counts = objectAt(body, "request_counts")
  const sum = buckets.reduce((total, name) => total + countAt(counts, name), 0)
  return id === undefined || sum !== lines ? [] : [{ batch: { id }, isSure: false }]
}
