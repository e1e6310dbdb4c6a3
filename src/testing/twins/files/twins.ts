/** The twins of OpenAI's, Anthropic's and Gemini's files. */
import { type FilesTwin, makeFilesTwin, newTwinId, partsOfForm, type TwinUpload } from "./file-twin.ts"

const isForm = (headers: Readonly<Record<string, unknown>>): boolean =>
  String(headers["content-type"]).startsWith("multipart/form-data")

const openaiError = (status: number, message: string, param: string | null) => ({
  status,
  body: { error: { message, type: "invalid_request_error", param, code: null } },
})

const purposes = ["assistants", "batch", "fine-tune", "vision", "user_data", "evals"]

/** Below `/v1`. Source: https://platform.openai.com/docs/api-reference/files/create */
export const openaiFilesTwin = (): FilesTwin =>
  makeFilesTwin({
    upload: (call): TwinUpload | undefined => {
      const { method, path, headers } = call
      if (method !== "POST" || !path.endsWith("/v1/files")) return undefined
      if (!isForm(headers)) return { refused: openaiError(400, "'file' is a required property", null) }
      const parts = partsOfForm(call)
      const file = parts.get("file")
      if (file?.name === undefined) return { refused: openaiError(400, "'file' is a required property", null) }
      const purpose = parts.get("purpose")?.content.toString("utf8") ?? ""
      if (!purposes.includes(purpose)) {
        return { refused: openaiError(400, `'${purpose}' is not one of ['${purposes.join("', '")}']`, "purpose") }
      }
      const seconds = parts.get("expires_after[seconds]")?.content.toString("utf8")
      const anchor = parts.get("expires_after[anchor]")?.content.toString("utf8")
      const isInTime = seconds === undefined || (Number(seconds) >= 3600 && Number(seconds) <= 2_592_000)
      if (!isInTime || (anchor ?? "created_at") !== "created_at") {
        return { refused: openaiError(400, "Invalid 'expires_after'", "expires_after") }
      }
      return { file: { name: file.name, mime: file.mime, content: file.content } }
    },
    erased: ({ method, path }) => (method === "DELETE" ? /\/v1\/files\/([^/?]+)$/.exec(path)?.[1] : undefined),
    newId: () => `file-${newTwinId()}`,
    object: ({ id, name, content }) => {
      const createdS = Math.floor(Date.now() / 1000)
      const times = { created_at: createdS, expires_at: createdS + 2_592_000 }
      const facts = { bytes: content.length, filename: name, purpose: "user_data", status: "processed" }
      return { id, object: "file", ...facts, ...times }
    },
    deleted: (id) => ({ id, object: "file", deleted: true }),
    notFound: (id) => openaiError(404, `No such File object: ${id}`, "id"),
  })

const anthropicError = (status: number, type: string, message: string) => ({
  status,
  body: { type: "error", error: { type, message }, request_id: "req_011twin" },
})

/** Source: https://docs.anthropic.com/en/api/files-create */
export const anthropicFilesTwin = (): FilesTwin =>
  makeFilesTwin({
    upload: (call): TwinUpload | undefined => {
      const { method, path, headers } = call
      if (method !== "POST" || !path.endsWith("/v1/files")) return undefined
      const refuse = (message: string) => ({ refused: anthropicError(400, "invalid_request_error", message) })
      if (headers["anthropic-version"] === undefined) return refuse("anthropic-version: header is required")
      const file = isForm(headers) ? partsOfForm(call).get("file") : undefined
      if (file?.name === undefined) return refuse("file: Field required")
      if (/[<>:"|?*\\/]/.test(file.name)) return refuse("file: Invalid filename")
      return { file: { name: file.name, mime: file.mime, content: file.content } }
    },
    erased: ({ method, path }) => (method === "DELETE" ? /\/v1\/files\/([^/?]+)$/.exec(path)?.[1] : undefined),
    newId: () => `file_${newTwinId()}`,
    object: ({ id, name, mime, content }) => ({
      id,
      type: "file",
      filename: name,
      mime_type: mime,
      size_bytes: content.length,
      created_at: new Date().toISOString(),
      expires_at: null,
      downloadable: false,
    }),
    deleted: (id) => ({ id, type: "file_deleted" }),
    notFound: (id) => anthropicError(404, "not_found_error", `File not found: ${id}`),
  })

const googleError = (code: number, status: string, message: string) => ({
  status: code,
  body: { error: { code, message, status } },
})

const origin = "https://generativelanguage.googleapis.com"

/** Source: https://ai.google.dev/api/files */
export const geminiFilesTwin = (): FilesTwin =>
  makeFilesTwin({
    upload: ({ method, path, headers, sent }): TwinUpload | undefined => {
      const before = /^(.*)\/upload\/v1beta\/files(\?.*)?$/.exec(path)
      if (method !== "POST" || before === null) return undefined
      const command = headers["x-goog-upload-command"]
      const mime = String(headers["x-goog-upload-header-content-type"] ?? "")
      if (command === "start") {
        if (headers["x-goog-upload-protocol"] !== "resumable" || mime === "") {
          return { refused: googleError(400, "INVALID_ARGUMENT", "Invalid upload") }
        }
        const url = `${origin}/upload/v1beta/files?upload_id=${newTwinId()}&mime=${encodeURIComponent(mime)}`
        return { headers: { "x-goog-upload-url": url, "x-goog-upload-status": "active" } }
      }
      const asked = new URLSearchParams(before[2])
      if (command !== "upload, finalize" || headers["x-goog-upload-offset"] !== "0" || !asked.has("upload_id")) {
        return { refused: googleError(400, "INVALID_ARGUMENT", "Invalid upload") }
      }
      return { file: { name: "file", mime: asked.get("mime") ?? "", content: sent } }
    },
    erased: ({ method, path }) => (method === "DELETE" ? /\/v1beta\/(files\/[a-z0-9-]+)$/.exec(path)?.[1] : undefined),
    newId: () => `files/${newTwinId()}`,
    object: ({ id, mime, content }) => ({
      file: {
        name: id,
        mimeType: mime,
        sizeBytes: String(content.length),
        expirationTime: new Date(Date.now() + 48 * 3_600_000).toISOString(),
        uri: `${origin}/v1beta/${id}`,
        state: "ACTIVE",
        source: "UPLOADED",
      },
    }),
    deleted: () => ({}),
    notFound: (id) =>
      googleError(
        403,
        "PERMISSION_DENIED",
        `You do not have permission to access the File ${id.replace("files/", "")} or it may not exist.`,
      ),
  })
