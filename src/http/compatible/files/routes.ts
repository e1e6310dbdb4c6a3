/** The files of clients: `/openai/v1/files`, `/anthropic/v1/files`, `/gemini/v1beta/files`. */
import { basename } from "node:path"
import { Effect, Result, Stream } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Gate } from "../../../admission/gate.ts"
import { plainRequest } from "../../../admission/rates/caller-limits.ts"
import { ClientFiles } from "../../../client-files/client-files.ts"
import { readFileId } from "../../../client-files/file-id.ts"
import { Uploads } from "../../../client-files/uploads.ts"
import { WeirConfig } from "../../../config.ts"
import { ownerOf } from "../../../kept-responses/kept-response.ts"
import { serviceError } from "../../../protocol/error.ts"
import { invalidInput } from "../../../protocol/json/issues.ts"
import { type Authenticated, fromRouter, makeForCaller, type UploadRequest } from "../../caller-request.ts"
import { type Content, isForm, readContent } from "../../content.ts"
import type { DirectHandler } from "../../hot-routes.ts"
import { originOf } from "../../request.ts"
import { withCredential } from "../credential.ts"
import { makeAnswerIn } from "../reply.ts"
import { makeAnswerUpload } from "./answer-upload.ts"
import { anthropicFiles } from "./anthropic-files.ts"
import type { FileDoor } from "./file-door.ts"
import { geminiFiles } from "./gemini-files.ts"
import { makeGeminiUploads } from "./gemini-uploads.ts"
import { openaiFiles } from "./openai-files.ts"
import { makeFindUpload, partObject } from "./openai-uploads.ts"
import { typeOfFile } from "./type-of-file.ts"
import { makeUploadShare } from "./upload-share.ts"

/** The APIs that take a file in a form. */
const formDoors: ReadonlyArray<FileDoor> = [openaiFiles, anthropicFiles]
const doors: ReadonlyArray<FileDoor> = [...formDoors, geminiFiles]

/** Bytes of a form beside its file. */
const formBytes = 1024 * 1024

/** The handlers of requests with files, by their paths: they read the body as it arrives. */
export const makeUploads = Effect.gen(function* () {
  const files = yield* ClientFiles
  const { identifyUpload } = yield* makeForCaller
  const share = yield* makeUploadShare
  const answerUpload = yield* makeAnswerUpload
  const uploads = yield* Uploads
  const findUpload = yield* makeFindUpload
  const resumable = yield* makeGeminiUploads(share)

  /** Reads a form of at most so many bytes beside its fields, once its caller is known and may upload. */
  const readForm = (sent: UploadRequest, mostBytes: number) => {
    const request = withCredential(sent)
    const limits = { form: mostBytes + formBytes, json: 0 }
    return identifyUpload(request, (caller) =>
      Effect.gen(function* () {
        yield* files.isKept
        if (!isForm(request)) return yield* noForm
        const spool = yield* share({ ...plainRequest(caller), by: ownerOf(caller) })
        return yield* readContent(spool, request, limits, undefined)
      }),
    )
  }

  const upload = (door: FileDoor): DirectHandler =>
    answerUpload(
      door.api,
      Effect.fnUntraced(function* (request) {
        const { caller, content } = yield* readForm(request, files.mostBytes())
        const file = yield* Effect.fromResult(fileIn(content))
        const fields = yield* Effect.fromResult(
          Result.flatMap(content.fields, (fields) => door.upload(fields, file.name)),
        )
        const typed = { ...file, mime: yield* typeOfFile(file) }
        const made = yield* files.create(caller.org.id, ownerOf(caller), { ...fields, content: typed })
        return HttpServerResponse.jsonUnsafe(door.object(made, ""))
      }),
    )

  /** A part of an upload of OpenAI's API. */
  const addPart = (id: string): DirectHandler =>
    answerUpload(
      openaiFiles.api,
      Effect.fnUntraced(function* (request) {
        const { caller, content } = yield* readForm(request, mostPartBytes)
        const file = yield* Effect.fromResult(fileIn(content, "data"))
        const found = yield* findUpload(caller, id)
        const part = yield* uploads.add(found, ownerOf(caller), file.file)
        return HttpServerResponse.jsonUnsafe(partObject(found, part))
      }),
    )

  const whole = new Map<string, DirectHandler>(
    formDoors.flatMap((door) => door.paths.map((path) => [path, upload(door)] as const)),
  )
  return (path: string): DirectHandler | undefined => {
    const [, id] = partPath.exec(path) ?? []
    return id === undefined ? (whole.get(path) ?? resumable(path)) : addPart(id)
  }
})

const partPath = /^\/openai\/v1\/uploads\/([^/]+)\/parts$/
/** Source: https://platform.openai.com/docs/api-reference/uploads/add-part */
const mostPartBytes = 64 * 1024 * 1024
const noForm = serviceError("bad_request", "A file is sent as multipart/form-data")

const download = ":download"

/** The only file of a form, with the last part of its name. */
const fileIn = ({ files }: Content, field = "file") => {
  const given = files.get(field) ?? []
  const [file] = given
  const other = [...files.keys()].find((name) => name !== field)
  if (other !== undefined) return refuse(other, "is not a file of this request")
  if (file === undefined) return refuse(field, "a file is required")
  if (given.length > 1) return refuse(field, "one file is sent at a time")
  const name = basename((file.name ?? "").replaceAll("\\", "/"))
  return Result.succeed({ ...file, name: name === "" ? "unnamed" : name })
}

const refuse = (path: string, message: string) => Result.fail(invalidInput([{ path, message }]))

export const fileRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const files = yield* ClientFiles
    const config = yield* WeirConfig
    const answerIn = yield* makeAnswerIn
    const gate = yield* Gate

    const find = Effect.fnUntraced(function* (door: FileDoor, { caller }: Authenticated, written: string) {
      const id = readFileId(written)
      const file = id === undefined ? undefined : yield* files.find(caller.org.id, ownerOf(caller), id)
      return file ?? (yield* door.notFound(written))
    })

    const retrieve = (door: FileDoor, call: Authenticated, id: string) => {
      // Gemini's way to ask for the content.
      if (id.endsWith(download)) return content(door, call, id.slice(0, -download.length))
      return Effect.map(find(door, call, id), (file) =>
        HttpServerResponse.jsonUnsafe(door.object(file, originOf(config, call.request))),
      )
    }

    /** Bytes of clients have no type here that a browser would show. */
    const content = Effect.fnUntraced(function* (door: FileDoor, call: Authenticated, id: string) {
      yield* gate.admit(plainRequest(call.caller))
      const file = yield* find(door, call, id)
      const bytes = yield* files.content(file)
      return HttpServerResponse.stream(Stream.orDie(bytes), {
        contentType: "application/octet-stream",
        contentLength: file.bytes,
        headers: { "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(file.name)}` },
      })
    })

    const remove = Effect.fnUntraced(function* (door: FileDoor, { caller }: Authenticated, written: string) {
      const id = readFileId(written)
      const isRemoved = id !== undefined && (yield* files.remove(caller.org.id, ownerOf(caller), id))
      return isRemoved ? HttpServerResponse.jsonUnsafe(door.deleted(written)) : yield* door.notFound(written)
    })

    const list = Effect.fnUntraced(function* (door: FileDoor, call: Authenticated) {
      const { org } = call.caller
      const page = yield* door.query(call)
      const { files: found, hasMore } = yield* files.list(org.id, ownerOf(call.caller), page)
      return HttpServerResponse.jsonUnsafe(door.list(found, hasMore, originOf(config, call.request)))
    })

    for (const door of doors) {
      const add = (
        method: "GET" | "DELETE",
        path: `/${string}`,
        answer: typeof retrieve | typeof content | typeof remove,
      ) =>
        router.add(method, path, (request) =>
          Effect.flatMap(HttpRouter.params, ({ id = "" }) =>
            answerIn(door.api, fromRouter(request), (call) => answer(door, call, door.written(id))),
          ),
        )
      for (const path of door.paths) {
        yield* router.add("GET", path, (request) => answerIn(door.api, fromRouter(request), (call) => list(door, call)))
        yield* add("GET", `${path}/:id`, retrieve)
        yield* add("GET", `${path}/:id/content`, content)
        yield* add("DELETE", `${path}/:id`, remove)
      }
      for (const path of door.downloadPaths ?? []) yield* add("GET", `${path}/:id`, retrieve)
    }
  }),
)
