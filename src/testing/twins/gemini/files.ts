/** The files of Gemini's twin: resumable uploads. Source: https://ai.google.dev/gemini-api/docs/files */
import { Schema } from "effect"
import { objectAt, stringAt } from "../../../dialects/parse/json.ts"
import type { VendorCall } from "../../scripted-vendor.ts"
import { type PlanBook, pageAfter, sendJson, sendLines } from "../batch-twin.ts"
import { maybe, shapeFault } from "../shape.ts"
import { inCamelCase } from "./request.ts"

export interface TwinFile {
  /** `files/ID`. */
  readonly id: string
  readonly displayName: string
  readonly mimeType: string
  readonly content: Buffer
  readonly createdMs: number
  readonly isGenerated: boolean
}

interface Upload {
  readonly bytes: number
  readonly displayName: string
  readonly mimeType: string
  content: Buffer
}

const StartBody = Schema.Struct({
  file: maybe(
    Schema.Struct({
      name: maybe(Schema.String),
      displayName: maybe(Schema.String.check(Schema.isMaxLength(512))),
      mimeType: maybe(Schema.String),
      sizeBytes: maybe(Schema.Union([Schema.String, Schema.Finite])),
    }),
  ),
})

const keptMs = 48 * 3_600_000
const mostBytes = 2_000_000_000

export class GeminiFiles {
  readonly #files = new Map<string, TwinFile>()
  readonly #uploads = new Map<string, Upload>()
  readonly #nowMs: () => number
  #made = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  get ids(): ReadonlyArray<string> {
    return [...this.#files.keys()]
  }

  add(file: Omit<TwinFile, "id" | "createdMs">): TwinFile {
    const made = { ...file, id: `files/twin${++this.#made}`, createdMs: this.#nowMs() }
    this.#files.set(made.id, made)
    return made
  }

  /** A file that has not expired. */
  find(id: string): TwinFile | undefined {
    const file = this.#files.get(id)
    return file === undefined || file.createdMs + keptMs <= this.#nowMs() ? undefined : file
  }

  async serve(call: VendorCall, path: string, query: URLSearchParams, book: PlanBook): Promise<void> {
    if (path === "/upload/v1beta/files") return query.has("upload_id") ? this.#receive(call, query) : this.#start(call)
    const id = path.replace(/^\/v1beta\//, "").replace(/:download$/, "")
    if (id === "files") return this.#list(call, query)
    const file = this.find(id)
    if (file === undefined) {
      const message = `You do not have permission to access the File ${id.slice(6)} or it may not exist.`
      return refuse(call, 403, "PERMISSION_DENIED", message)
    }
    if (call.method === "DELETE") {
      this.#files.delete(id)
      return sendJson(call, 200, {})
    }
    if (!path.endsWith(":download")) return sendJson(call, 200, fileObject(file))
    if (!file.isGenerated || query.get("alt") !== "media") {
      return refuse(call, 400, "INVALID_ARGUMENT", "Only generated files can be downloaded")
    }
    return sendLines(call, "application/octet-stream", file.content.toString(), book)
  }

  #start(call: VendorCall): Promise<void> {
    const { headers } = call
    const body = inCamelCase(call.body)
    const bytes = Number(headers["x-goog-upload-header-content-length"])
    const isStart = headers["x-goog-upload-protocol"] === "resumable" && headers["x-goog-upload-command"] === "start"
    if (!isStart || !(bytes > 0 && bytes <= mostBytes)) {
      return refuse(call, 400, "INVALID_ARGUMENT", "Invalid upload request")
    }
    const fault = shapeFault(StartBody, body)
    if (fault !== undefined) {
      return refuse(call, 400, "INVALID_ARGUMENT", `Invalid JSON payload received. Unknown name "${fault.path.at(-1)}"`)
    }
    const file = objectAt(call.body, "file")
    const mimeType = String(headers["x-goog-upload-header-content-type"] ?? stringAt(file, "mimeType"))
    if (!mimeType.includes("/")) return refuse(call, 400, "INVALID_ARGUMENT", `Unsupported MIME type: ${mimeType}`)
    const id = `u${this.#uploads.size + 1}`
    const displayName = stringAt(file, "displayName") ?? stringAt(file, "display_name") ?? ""
    this.#uploads.set(id, { bytes, displayName, mimeType, content: Buffer.alloc(0) })
    const url = `http://${headers["host"]}/upload/v1beta/files?upload_id=${id}&upload_protocol=resumable`
    call.head(200, { "x-goog-upload-url": url, "x-goog-upload-status": "active" })
    call.end()
    return Promise.resolve()
  }

  #receive(call: VendorCall, query: URLSearchParams): Promise<void> {
    const id = query.get("upload_id") ?? ""
    const upload = this.#uploads.get(id)
    if (upload === undefined) return refuse(call, 404, "NOT_FOUND", "Upload not found")
    const command = String(call.headers["x-goog-upload-command"]).split(", ")
    const offset = Number(call.headers["x-goog-upload-offset"])
    if (!command.includes("upload") || !(offset <= upload.content.length)) {
      return refuse(call, 400, "INVALID_ARGUMENT", "Invalid upload request")
    }
    // The same offset twice is the same piece again.
    upload.content = Buffer.concat([upload.content.subarray(0, offset), call.sent])
    if (!command.includes("finalize")) return sendJson(call, 200, {}, { "x-goog-upload-status": "active" })
    if (upload.content.length !== upload.bytes) return refuse(call, 400, "INVALID_ARGUMENT", "Size mismatch")
    this.#uploads.delete(id)
    const { displayName, mimeType, content } = upload
    const file = this.add({ displayName, mimeType, content, isGenerated: false })
    return sendJson(call, 200, { file: fileObject(file) }, { "x-goog-upload-status": "final" })
  }

  #list(call: VendorCall, query: URLSearchParams): Promise<void> {
    const all = [...this.#files.values()].reverse()
    const { page, hasMore } = pageAfter(all, query.get("pageToken"), Number(query.get("pageSize") ?? 10))
    const files = page.map(fileObject)
    return sendJson(call, 200, { files, ...(hasMore && { nextPageToken: page.at(-1)?.id }) })
  }
}

const fileObject = ({ id, displayName, mimeType, content, createdMs, isGenerated }: TwinFile): object => ({
  name: id,
  displayName,
  mimeType,
  sizeBytes: String(content.length),
  createTime: new Date(createdMs).toISOString(),
  updateTime: new Date(createdMs).toISOString(),
  expirationTime: new Date(createdMs + keptMs).toISOString(),
  uri: `https://generativelanguage.googleapis.com/v1beta/${id}`,
  state: "ACTIVE",
  source: isGenerated ? "GENERATED" : "UPLOADED",
})

/** Refuses in Google's form. */
export const refuse = (call: VendorCall, code: number, status: string, message: string): Promise<void> =>
  sendJson(call, code, { error: { code, message, status } })
