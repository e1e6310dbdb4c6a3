/** The files of OpenAI's twin. Source: https://platform.openai.com/docs/api-reference/files */
import { parseObject } from "../../../dialects/parse/json.ts"
import type { VendorCall } from "../../scripted-vendor.ts"
import { linesOf, type PlanBook, pageAfter, sendJson, sendLines } from "../batch-twin.ts"
import { openaiRefusal } from "./faults.ts"

export interface TwinFile {
  readonly id: string
  readonly name: string
  readonly purpose: string
  readonly content: string
  readonly createdS: number
  readonly expiresS: number | undefined
  /** Reads of its object that report it as pending. */
  pending: number
}

const purposes = new Set(["assistants", "batch", "fine-tune", "vision", "user_data", "evals"])
const downloadable = new Set(["batch", "batch_output", "fine-tune-results"])
const fields = new Set(["file", "purpose", "expires_after[anchor]", "expires_after[seconds]"])

const mostBytes = 200 * 1024 * 1024
const day = 86_400

export class OpenaiFiles {
  readonly #files = new Map<string, TwinFile>()
  readonly #nowS: () => number
  readonly #pending: number
  #made = 0

  /** @param pending reads after which a file is processed, as at Azure */
  constructor(nowS: () => number, pending: number) {
    this.#nowS = nowS
    this.#pending = pending
  }

  get ids(): ReadonlyArray<string> {
    return [...this.#files.keys()]
  }

  add(name: string, purpose: string, content: string, seconds: number | undefined = 30 * day): TwinFile {
    const createdS = this.#nowS()
    const pending = purpose === "batch" ? this.#pending : 0
    const id = `file-twin${++this.#made}`
    const file = { id, name, purpose, content, createdS, expiresS: createdS + seconds, pending }
    this.#files.set(id, file)
    return file
  }

  /** A file that has not expired. */
  find(id: string): TwinFile | undefined {
    const file = this.#files.get(id)
    return file?.expiresS !== undefined && file.expiresS <= this.#nowS() ? undefined : file
  }

  async serve(call: VendorCall, path: string, query: URLSearchParams, book: PlanBook): Promise<void> {
    const [, , id = "", rest] = path.split("/")
    if (id === "") return call.method === "POST" ? this.#upload(call) : this.#list(call, query)
    const file = this.find(id)
    if (file === undefined) return refuse(call, `No such File object: ${id}`, "id", 404)
    if (call.method === "DELETE") {
      this.#files.delete(id)
      return sendJson(call, 200, { id, object: "file", deleted: true })
    }
    if (rest === undefined) {
      if (file.pending > 0) file.pending--
      return sendJson(call, 200, fileObject(file))
    }
    if (!downloadable.has(file.purpose))
      return refuse(call, `Not allowed to download files of purpose: ${file.purpose}`)
    return sendLines(call, "application/octet-stream", file.content, book)
  }

  async #upload(call: VendorCall): Promise<void> {
    const type = String(call.headers["content-type"])
    const form = await new Response(new Uint8Array(call.sent), { headers: { "content-type": type } })
      .formData()
      .catch(() => undefined)
    if (form === undefined) return refuse(call, "Could not parse multipart form")
    const unknown = [...form.keys()].find((name) => !fields.has(name))
    if (unknown !== undefined)
      return refuse(call, `Additional properties are not allowed ('${unknown}' was unexpected)`)
    const file = form.get("file")
    const purpose = form.get("purpose")
    if (file === null || typeof file === "string") return refuse(call, "'file' is a required property")
    if (typeof purpose !== "string") return refuse(call, "'purpose' is a required property")
    if (!purposes.has(purpose))
      return refuse(call, `'${purpose}' is not one of ${JSON.stringify([...purposes])} - 'purpose'`)
    const anchor = form.get("expires_after[anchor]")
    const seconds = form.get("expires_after[seconds]")
    const isTimed = anchor !== null || seconds !== null
    if (isTimed && (anchor !== "created_at" || !(Number(seconds) >= 3600 && Number(seconds) <= 2_592_000))) {
      return refuse(call, "Invalid 'expires_after'.", "expires_after")
    }
    if (file.size > mostBytes) return refuse(call, "File is too large.")
    const content = await file.text()
    const [first] = linesOf(content)
    const isLines = file.name.endsWith(".jsonl") && first !== undefined && parseObject(first) !== undefined
    if (purpose === "batch" && !isLines) return refuse(call, "Invalid file format for Batch API. Must be .jsonl")
    return sendJson(call, 200, fileObject(this.add(file.name, purpose, content, isTimed ? Number(seconds) : undefined)))
  }

  #list(call: VendorCall, query: URLSearchParams): Promise<void> {
    const purpose = query.get("purpose")
    const all = [...this.#files.values()].reverse().filter((file) => purpose === null || file.purpose === purpose)
    const { page, hasMore } = pageAfter(all, query.get("after"), Number(query.get("limit") ?? 10_000))
    return sendJson(call, 200, {
      object: "list",
      data: page.map(fileObject),
      first_id: page[0]?.id ?? null,
      last_id: page.at(-1)?.id ?? null,
      has_more: hasMore,
    })
  }
}

const fileObject = ({ id, name, purpose, content, createdS, expiresS, pending }: TwinFile): object => ({
  id,
  object: "file",
  bytes: Buffer.byteLength(content),
  created_at: createdS,
  expires_at: expiresS,
  filename: name,
  purpose,
  status: pending > 0 ? "pending" : "processed",
  status_details: null,
})

const refuse = (call: VendorCall, message: string, param: string | null = null, status = 400): Promise<void> =>
  sendJson(call, status, openaiRefusal("files", message, param).body)
