/**
 * The files of vendors' APIs: how one is uploaded and removed. Sources: https://platform.openai.com/docs/api-reference/files,
 * https://docs.anthropic.com/en/api/files-create, https://ai.google.dev/api/files
 */
import { Data, Effect } from "effect"
import { type JsonObject, objectAt, parseObject, stringAt } from "../dialects/parse/json.ts"
import { formRequest } from "../dialects/vendor/form-body.ts"
import type { WireRequest } from "../dialects/wire.ts"
import type { MediaBody, NamedFile } from "../media/media-file.ts"
import type { WholeReply } from "../upstream/client.ts"

/** A file could not be uploaded to a vendor, or removed there; a sentence for operators. */
export class CopyFailed extends Data.TaggedError("CopyFailed")<{ readonly problem: string }> {}

/** A file that a vendor keeps. */
export interface KeptAtVendor {
  readonly reference: string
  /** The time at which the vendor erases it, in milliseconds since the epoch; undefined if it names none. */
  readonly expiresAtMs: number | undefined
}

type Send = (request: WireRequest<string | MediaBody>) => Effect.Effect<WholeReply, CopyFailed>

export interface VendorFileApi {
  readonly upload: (send: Send, file: NamedFile) => Effect.Effect<KeptAtVendor, CopyFailed>
  readonly remove: (reference: string) => WireRequest
}

/** The time for which vendors are asked to keep a copy, in seconds: one that is not removed ends by itself. */
const keptS = 30 * 86_400

export const fileApiOf = (dialect: string): VendorFileApi | undefined => apis.get(dialect)

/** @returns the reply, if it is a good one */
const readReply = ({ status, body }: WholeReply): Effect.Effect<JsonObject, CopyFailed> => {
  const json = status === 200 ? parseObject(body) : undefined
  return json === undefined
    ? Effect.fail(new CopyFailed({ problem: `the vendor answered HTTP ${status} to an upload` }))
    : Effect.succeed(json)
}

const kept = (
  reference: string | undefined,
  expiresAtMs: number | undefined,
): Effect.Effect<KeptAtVendor, CopyFailed> =>
  reference === undefined
    ? Effect.fail(new CopyFailed({ problem: "the vendor named no file in its reply to an upload" }))
    : Effect.succeed({ reference, expiresAtMs })

const timeOf = (text: string | undefined): number | undefined => {
  const ms = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}

const removal = (path: string): WireRequest => ({ method: "DELETE", path, headers: {}, body: "" })

const openai: VendorFileApi = {
  upload: (send, file) =>
    send(
      formRequest("/files", [
        ["purpose", "user_data"],
        ["expires_after[anchor]", "created_at"],
        ["expires_after[seconds]", keptS],
        ["file", file],
      ]),
    ).pipe(
      Effect.flatMap(readReply),
      Effect.flatMap((reply) => {
        const { expires_at: expiresS } = reply
        return kept(stringAt(reply, "id"), typeof expiresS === "number" ? expiresS * 1000 : undefined)
      }),
    ),
  remove: (id) => removal(`/files/${encodeURIComponent(id)}`),
}

/** Files need this where they are not in the API for all. */
export const anthropicFilesBeta = "files-api-2025-04-14"
/** Characters that names of files must not have. */
const refusedInNames = /[<>:"|?*\\/\p{Cc}]/gu
const anthropicHeaders = { "anthropic-beta": anthropicFilesBeta }

const anthropic: VendorFileApi = {
  upload: (send, file) => {
    const form = formRequest("/v1/files", [
      ["expires_in_seconds", keptS],
      ["file", { ...file, name: file.name?.replaceAll(refusedInNames, "_") }],
    ])
    return send({ ...form, headers: { ...form.headers, ...anthropicHeaders } }).pipe(
      Effect.flatMap(readReply),
      Effect.flatMap((reply) => kept(stringAt(reply, "id"), timeOf(stringAt(reply, "expires_at")))),
    )
  },
  remove: (id) => ({ ...removal(`/v1/files/${encodeURIComponent(id)}`), headers: anthropicHeaders }),
}

const gemini: VendorFileApi = {
  upload: Effect.fnUntraced(function* (send, { file, mime, name }) {
    const begun = yield* send({
      path: "/upload/v1beta/files",
      headers: {
        "x-goog-upload-protocol": "resumable",
        "x-goog-upload-command": "start",
        "x-goog-upload-header-content-length": String(file.bytes),
        "x-goog-upload-header-content-type": mime,
      },
      body: JSON.stringify({ file: { displayName: name ?? "file" } }),
    })
    const path = pathIn(begun.headers["x-goog-upload-url"])
    if (begun.status !== 200 || path === undefined) {
      return yield* new CopyFailed({
        problem: `the vendor answered HTTP ${begun.status} to the beginning of an upload`,
      })
    }
    const reply = yield* send({
      path,
      headers: {
        "content-type": "application/octet-stream",
        "x-goog-upload-command": "upload, finalize",
        "x-goog-upload-offset": "0",
      },
      body: [file],
    })
    const made = objectAt(yield* readReply(reply), "file")
    // A file that is being read cannot be named yet; it is erased after two days.
    if (stringAt(made, "state") !== "ACTIVE") {
      return yield* new CopyFailed({ problem: "the vendor has not read the file yet" })
    }
    return yield* kept(stringAt(made, "uri"), timeOf(stringAt(made, "expirationTime")))
  }),
  remove: (uri) => removal(`/v1beta/${/files\/[a-z0-9-]+$/.exec(uri)?.[0] ?? "files/unknown"}`),
}

/** The path of an address of the vendor, below its base URL: requests with its key go to the address that the catalogue has. */
const pathIn = (url: string | undefined): string | undefined => {
  if (url === undefined || !URL.canParse(url)) return undefined
  const { pathname, search } = new URL(url)
  const start = pathname.indexOf("/upload/")
  return start < 0 ? undefined : pathname.slice(start) + search
}

const apis: ReadonlyMap<string, VendorFileApi> = new Map([
  ["openai-chat", openai],
  ["openai-responses", openai],
  ["anthropic", anthropic],
  ["gemini", gemini],
])
