/** Uploads of OpenAI's API: files in parts. Source: https://platform.openai.com/docs/api-reference/uploads */
import { createHash } from "node:crypto"
import { Effect, Schema, Stream } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Gate } from "../../../admission/gate.ts"
import { plainRequest } from "../../../admission/rates/caller-limits.ts"
import type { ClientFile } from "../../../client-files/client-file.ts"
import { ClientFiles } from "../../../client-files/client-files.ts"
import { isGoing, type Upload, Uploads, uploadMs } from "../../../client-files/uploads.ts"
import { WeirConfig } from "../../../config.ts"
import type { Caller } from "../../../identity/caller.ts"
import { ownerOf } from "../../../kept-responses/kept-response.ts"
import { serviceError } from "../../../protocol/error.ts"
import { invalidInput } from "../../../protocol/json/issues.ts"
import { decodeJson, parseBody } from "../../../protocol/json/json-body.ts"
import { type Authenticated, fromRouter } from "../../caller-request.ts"
import { makeAnswerIn } from "../reply.ts"
import { secondsOf } from "./file-door.ts"
import { batchMs, ExpiresAfter, fitsPurpose, noLines, openaiFiles, purposes } from "./openai-files.ts"
import { makeUploadShare } from "./upload-share.ts"

const Begin = Schema.Struct({
  filename: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(255)),
  purpose: Schema.Literals(purposes),
  bytes: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  mime_type: Schema.String.check(Schema.isMaxLength(255)),
  expires_after: Schema.optionalKey(ExpiresAfter),
})

const Complete = Schema.Struct({
  part_ids: Schema.Array(Schema.String.check(Schema.isMaxLength(64))).check(
    Schema.isMaxLength(10_000),
    Schema.isUnique(),
  ),
  md5: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(64))),
})

const api = openaiFiles.api

export const uploadIdOf = (written: string): string | undefined => /^upload_([a-z2-7]{26})$/.exec(written)?.[1]

const uploadNotFound = (id: string) => serviceError("not_found", `No such Upload object: ${id.slice(0, 128)}`)

export const partObject = (upload: Upload, part: ClientFile) => ({
  id: `part_${part.id}`,
  object: "upload.part",
  created_at: secondsOf(part.createdAt),
  upload_id: `upload_${upload.id}`,
})

const uploadObject = (upload: Upload, status: "pending" | "completed" | "cancelled", file?: ClientFile) => ({
  id: `upload_${upload.id}`,
  object: "upload",
  bytes: upload.makes?.bytes ?? 0,
  created_at: secondsOf(upload.createdAt),
  expires_at: secondsOf(upload.eraseAt ?? new Date(upload.createdAt.getTime() + uploadMs)),
  filename: upload.name,
  purpose: upload.makes?.purpose ?? "",
  status,
  file: file === undefined ? null : openaiFiles.object(file, ""),
})

export const makeFindUpload = Effect.map(Uploads, (uploads) =>
  Effect.fnUntraced(function* (caller: Caller, written: string) {
    const id = uploadIdOf(written)
    const upload = id === undefined ? undefined : yield* uploads.find(caller.org.id, ownerOf(caller), id)
    return upload ?? (yield* uploadNotFound(written))
  }),
)

export const uploadRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const uploads = yield* Uploads
    const files = yield* ClientFiles
    const { bodyMaxBytes } = yield* WeirConfig
    const answerIn = yield* makeAnswerIn
    const gate = yield* Gate
    const share = yield* makeUploadShare
    const find = yield* makeFindUpload

    const begin = Effect.fnUntraced(function* ({ caller, body }: Authenticated) {
      yield* gate.admit(plainRequest(caller))
      const json = yield* Effect.fromResult(parseBody(body))
      const asked = yield* Effect.fromResult(decodeJson(Begin, json))
      const { filename, purpose, bytes, mime_type, expires_after: expires } = asked
      if (!fitsPurpose(purpose, filename)) return yield* noLines
      const keptMs = expires === undefined ? (purpose === "batch" ? batchMs : undefined) : expires.seconds * 1000
      const named = { name: filename, mime: mime_type, purpose, keptMs, bytes }
      const upload = yield* uploads.begin(caller.org.id, ownerOf(caller), named)
      return HttpServerResponse.jsonUnsafe(uploadObject(upload, "pending"))
    })

    const complete = Effect.fnUntraced(function* ({ caller, body }: Authenticated, id: string) {
      const owner = ownerOf(caller)
      // Its content is copied, as that of a file that is sent.
      yield* share({ ...plainRequest(caller), by: owner })
      const upload = yield* find(caller, id)
      const json = yield* Effect.fromResult(parseBody(body))
      const { part_ids: ids, md5 } = yield* Effect.fromResult(decodeJson(Complete, json))
      const byId = new Map((yield* uploads.parts(upload, owner)).map((part) => [`part_${part.id}`, part]))
      const parts = ids.flatMap((part) => byId.get(part) ?? [])
      // An upload that is complete has no parts any more: it is the same file again.
      if (parts.length !== ids.length && isGoing(upload)) return yield* unknownPart
      if (isGoing(upload) && md5 !== undefined && (yield* md5Of(parts)) !== md5.toLowerCase()) return yield* otherMd5
      const file = yield* uploads.complete(upload, owner, parts)
      return HttpServerResponse.jsonUnsafe(uploadObject(upload, "completed", file))
    })

    const md5Of = Effect.fnUntraced(function* (parts: ReadonlyArray<ClientFile>) {
      const hash = createHash("md5")
      for (const part of parts) {
        const bytes = yield* files.content(part)
        yield* Effect.orDie(Stream.runForEach(bytes, (chunk) => Effect.sync(() => hash.update(chunk))))
      }
      return hash.digest("hex")
    })

    const cancel = Effect.fnUntraced(function* ({ caller }: Authenticated, id: string) {
      yield* gate.admit(plainRequest(caller))
      const upload = yield* find(caller, id)
      if (!isGoing(upload)) return yield* notCancellable
      yield* uploads.cancel(upload, ownerOf(caller))
      return HttpServerResponse.jsonUnsafe(uploadObject(upload, "cancelled"))
    })

    const add = (path: `/${string}`, answer: typeof complete | typeof cancel) =>
      router.add("POST", path, (request) =>
        Effect.flatMap(HttpRouter.params, ({ id = "" }) =>
          Effect.scoped(answerIn(api, fromRouter(request), (call) => answer(call, id), bodyMaxBytes)),
        ),
      )
    yield* router.add("POST", "/openai/v1/uploads", (request) =>
      answerIn(api, fromRouter(request), begin, bodyMaxBytes),
    )
    yield* add("/openai/v1/uploads/:id/complete", complete)
    yield* add("/openai/v1/uploads/:id/cancel", cancel)
  }),
)

const unknownPart = invalidInput([{ path: "part_ids", message: "names a part that is not one of this upload" }])
const otherMd5 = invalidInput([{ path: "md5", message: "is not that of the parts together" }])
const notCancellable = serviceError("bad_request", "The upload is completed")
