/**
 * Resumable uploads of Gemini's API: a request that begins one, and requests with its bytes, at the address that the first one
 * got. Bytes that come again are not kept twice. Source: https://ai.google.dev/api/files, "media.upload"
 */
import { Effect, Option, Result, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { Gate } from "../../../admission/gate.ts"
import { plainRequest } from "../../../admission/rates/caller-limits.ts"
import type { ClientFile } from "../../../client-files/client-file.ts"
import { ClientFiles } from "../../../client-files/client-files.ts"
import { isGoing, Uploads } from "../../../client-files/uploads.ts"
import { WeirConfig } from "../../../config.ts"
import type { Caller } from "../../../identity/caller.ts"
import { ownerOf } from "../../../kept-responses/kept-response.ts"
import { serviceError } from "../../../protocol/error.ts"
import { invalidInput } from "../../../protocol/json/issues.ts"
import { decodeJson, parseBody } from "../../../protocol/json/json-body.ts"
import { Sealing } from "../../../store/seal.ts"
import type { UploadRequest } from "../../caller-request.ts"
import { type DirectHandler, replying } from "../../hot-routes.ts"
import { originOf } from "../../request.ts"
import { makeAnswerIn } from "../reply.ts"
import { makeAnswerUpload } from "./answer-upload.ts"
import { geminiFileMs, geminiFiles } from "./gemini-files.ts"
import { readRaw } from "./upload-content.ts"
import type { makeUploadShare } from "./upload-share.ts"

const path = /^\/gemini\/upload\/v1(?:alpha|beta)?\/files(?:\/([a-z2-7]{26})\/([\w.~-]+))?$/

const Name = Schema.String.check(Schema.isMaxLength(512))
/** Clients write names in both ways. */
const Begin = Schema.Struct({
  file: Schema.optionalKey(
    Schema.Struct({
      displayName: Schema.optionalKey(Name),
      display_name: Schema.optionalKey(Name),
      mimeType: Schema.optionalKey(Name),
      mime_type: Schema.optionalKey(Name),
      /** The header counts. */
      sizeBytes: Schema.optionalKey(Name),
      size_bytes: Schema.optionalKey(Name),
    }),
  ),
})

/** The owner of an upload, sealed in its address. */
const Grant = Schema.Struct({
  orgId: Schema.String,
  owner: Schema.Struct({ app: Schema.String, person: Schema.String, endUser: Schema.String }),
})
const GrantJson = Schema.fromJsonString(Grant)
const encodeGrant = Schema.encodeSync(GrantJson)
const decodeGrant = Schema.decodeUnknownOption(GrantJson)

const Length = Schema.FiniteFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(0))
const decodeLength = Schema.decodeUnknownEffect(Length)

/** A length in a header. */
const lengthIn = ({ headers }: Pick<UploadRequest, "headers">, name: string) => {
  const text = headers[name]
  return text === undefined
    ? Effect.undefined
    : Effect.mapError(decodeLength(text), () => invalidInput([{ path: name, message: "must be a number of bytes" }]))
}

const bytesOf = (parts: ReadonlyArray<ClientFile>): number => parts.reduce((sum, { bytes }) => sum + bytes, 0)

export const makeGeminiUploads = Effect.fnUntraced(function* (share: Effect.Success<typeof makeUploadShare>) {
  const files = yield* ClientFiles
  const uploads = yield* Uploads
  const gate = yield* Gate
  const config = yield* WeirConfig
  const answerIn = yield* makeAnswerIn
  const { sealer } = yield* Sealing
  const answerUpload = yield* makeAnswerUpload

  const begin: DirectHandler = replying((request) =>
    answerIn(
      geminiFiles.api,
      request,
      Effect.fnUntraced(function* ({ caller, body }) {
        yield* gate.admit(plainRequest(caller))
        const command = request.headers["x-goog-upload-command"]
        if (request.headers["x-goog-upload-protocol"] !== "resumable" || command !== "start") return yield* notResumable
        const json = yield* Effect.fromResult(parseBody(body.length === 0 ? Buffer.from("{}") : body))
        const { file = {} } = yield* Effect.fromResult(decodeJson(Begin, json))
        const bytes = yield* lengthIn(request, "x-goog-upload-header-content-length")
        const named = {
          name: file.displayName ?? file.display_name ?? request.headers["x-goog-upload-file-name"] ?? "unnamed",
          mime:
            file.mimeType ??
            file.mime_type ??
            request.headers["x-goog-upload-header-content-type"] ??
            "application/octet-stream",
        }
        const upload = yield* uploads.begin(caller.org.id, ownerOf(caller), {
          ...named,
          purpose: "user_data",
          keptMs: geminiFileMs,
          bytes,
        })
        const url = `${originOf(config, request)}${request.url.split("?", 1)[0] ?? ""}/${upload.id}/${grantOf(caller, upload.id)}`
        return HttpServerResponse.jsonUnsafe(
          {},
          { headers: { "x-goog-upload-url": url, "x-goog-upload-status": "active" } },
        )
      }),
      config.bodyMaxBytes,
    ),
  )

  const contextOf = (id: string) => `gemini upload ${id}`
  const grantOf = (caller: Caller, id: string): string =>
    sealer
      .sealBytes(Buffer.from(encodeGrant({ orgId: caller.org.id, owner: ownerOf(caller) })), contextOf(id))
      .toString("base64url")
  const grantIn = (id: string, grant: string): typeof Grant.Type | undefined => {
    const opened = sealer.openBytes(Buffer.from(grant, "base64url"), contextOf(id))
    return opened && Option.getOrUndefined(decodeGrant(opened.toString("utf8")))
  }

  const goOn = (id: string, grant: string): DirectHandler =>
    answerUpload(
      geminiFiles.api,
      Effect.fnUntraced(function* (request) {
        // Clients send no credential to this address: who has it, has the upload.
        const { orgId, owner } = grantIn(id, grant) ?? (yield* geminiFiles.notFound(id))
        const spool = yield* share({ owner: orgId, keyId: id, rates: [], by: owner })
        const find = Effect.flatMap(uploads.find(orgId, owner, id), (upload) =>
          upload === undefined ? Effect.fail(geminiFiles.notFound(id)) : Effect.succeed(upload),
        )
        yield* find
        const file = yield* readRaw(spool, request, files.mostBytes())
        // Another request may have completed it meanwhile.
        const upload = yield* find
        const commands = (request.headers["x-goog-upload-command"] ?? "").split(",").map((each) => each.trim())
        if (commands.includes("cancel")) {
          yield* uploads.cancel(upload, owner)
          return HttpServerResponse.jsonUnsafe({}, { headers: { "x-goog-upload-status": "cancelled" } })
        }
        if (commands.includes("upload") && isGoing(upload) && file.bytes > 0) {
          const before = yield* uploads.parts(upload, owner)
          const received = bytesOf(before)
          const offset = (yield* lengthIn(request, "x-goog-upload-offset")) ?? received
          const isThere = before.some((part) => part.offset === offset && part.bytes === file.bytes)
          if (!isThere && offset !== received) return yield* otherOffset(received)
          if (!isThere) yield* uploads.add(upload, owner, file, offset)
        }
        const parts = yield* uploads.parts(upload, owner)
        if (!commands.includes("finalize")) {
          const status = isGoing(upload) ? "active" : "final"
          const told = { "x-goog-upload-status": status, "x-goog-upload-size-received": String(bytesOf(parts)) }
          return HttpServerResponse.jsonUnsafe({}, { headers: told })
        }
        const pieces = isGoing(upload) ? yield* Effect.fromResult(joined(parts)) : parts
        const made = yield* uploads.complete(upload, owner, pieces)
        const object = geminiFiles.object(made, originOf(config, request))
        return HttpServerResponse.jsonUnsafe({ file: object }, { headers: { "x-goog-upload-status": "final" } })
      }),
    )

  return (asked: string): DirectHandler | undefined => {
    const [found, id, grant] = path.exec(asked) ?? []
    if (found === undefined) return undefined
    return id === undefined || grant === undefined ? begin : goOn(id, grant)
  }
})

/** The pieces in their order. A piece that came twice at once is there twice. */
const joined = (parts: ReadonlyArray<ClientFile>) => {
  const pieces: Array<ClientFile> = []
  let end = 0
  for (const part of parts.toSorted((a, b) => (a.offset ?? 0) - (b.offset ?? 0))) {
    const { offset = 0, bytes } = part
    if (offset === end) {
      pieces.push(part)
      end += bytes
    } else if (offset + bytes !== end) return Result.fail(otherOffset(end))
  }
  return Result.succeed(pieces)
}

const notResumable = serviceError(
  "bad_request",
  "Files are uploaded with X-Goog-Upload-Protocol: resumable, and X-Goog-Upload-Command: start",
)
const otherOffset = (received: number) =>
  serviceError("bad_request", `The upload goes on at ${received} bytes`, { detail: { received } })
