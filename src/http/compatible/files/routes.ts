/** The files of clients: `/openai/v1/files`, `/anthropic/v1/files`. */
import { basename } from "node:path"
import { Effect, Result, Stream } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { newRequestId } from "../../../calls/calls.ts"
import { ClientFiles } from "../../../client-files/client-files.ts"
import { readFileId } from "../../../client-files/file-id.ts"
import { ownerOf } from "../../../kept-responses/kept-response.ts"
import type { NamedFile } from "../../../media/media-file.ts"
import { Spool } from "../../../media/spool.ts"
import { serviceError } from "../../../protocol/error.ts"
import { invalidInput } from "../../../protocol/json/issues.ts"
import {
  type Authenticated,
  fromRouter,
  makeForCaller,
  recordStatus,
  type UploadRequest,
} from "../../caller-request.ts"
import { type Content, isForm, readContent } from "../../content.ts"
import { type DirectHandler, replying } from "../../hot-routes.ts"
import { respond } from "../../respond.ts"
import { withCredential } from "../credential.ts"
import { failureIn, makeAnswerIn } from "../reply.ts"
import { anthropicFiles } from "./anthropic-files.ts"
import type { FileDoor } from "./file-door.ts"
import { openaiFiles } from "./openai-files.ts"
import { typeOfFile } from "./type-of-file.ts"

export const doors: ReadonlyArray<FileDoor> = [openaiFiles, anthropicFiles]

/** Bytes of a form beside its file. */
const formBytes = 1024 * 1024

/** The handlers of uploads, by their paths: they read the body as it arrives. */
export const makeUploads = Effect.gen(function* () {
  const files = yield* ClientFiles
  const spool = yield* Spool
  const { identifyUpload, traced } = yield* makeForCaller

  const upload = (door: FileDoor): DirectHandler => {
    const answer = (request: UploadRequest) => {
      const requestId = newRequestId()
      const limits = { form: files.mostBytes() + formBytes, json: 0 }
      const read = isForm(request)
        ? readContent(spool, request, limits, undefined)
        : Effect.fail(serviceError("bad_request", "A file is sent as multipart/form-data"))
      const kept = Effect.gen(function* () {
        const { caller, content } = yield* identifyUpload(withCredential(request), read)
        const file = yield* Effect.fromResult(fileIn(content))
        const fields = yield* Effect.fromResult(Result.flatMap(content.fields, door.upload))
        const typed = { ...file, mime: yield* typeOfFile(file) }
        const made = yield* files.create(caller.org.id, ownerOf(caller), { ...fields, content: typed })
        return HttpServerResponse.jsonUnsafe(door.object(made), { headers: idHeaders(door, requestId) })
      })
      const recorded = Effect.tap(respond(requestId, Effect.scoped(kept), failureIn(door.api)), ({ status }) =>
        recordStatus(status),
      )
      return traced(request, requestId)(recorded)
    }
    return replying(answer)
  }
  return new Map(doors.map((door) => [door.path, upload(door)]))
})

const idHeaders = ({ api }: FileDoor, requestId: string) => ({
  "x-svc-request-id": requestId,
  [api.requestIdHeader]: requestId,
})

/** The only file of a form, with the last part of its name. */
const fileIn = ({ files }: Content) => {
  const given = files.get("file") ?? []
  const [file] = given
  const other = [...files.keys()].find((name) => name !== "file")
  if (other !== undefined) return refuse(other, "is not a file of this request")
  if (file === undefined) return refuse("file", "a file is required")
  if (given.length > 1) return refuse("file", "one file is sent at a time")
  const name = basename((file.name ?? "").replaceAll("\\", "/"))
  const named: NamedFile = { ...file, name: name === "" ? "unnamed" : name }
  return Result.succeed(named)
}

const refuse = (path: string, message: string) => Result.fail(invalidInput([{ path, message }]))

export const fileRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const files = yield* ClientFiles
    const answerIn = yield* makeAnswerIn

    const find = Effect.fnUntraced(function* (door: FileDoor, { caller }: Authenticated, written: string) {
      const id = readFileId(written)
      const file = id === undefined ? undefined : yield* files.find(caller.org.id, ownerOf(caller), id)
      return file ?? (yield* door.notFound(written))
    })

    const retrieve = (door: FileDoor, call: Authenticated, id: string) =>
      Effect.map(find(door, call, id), (file) => HttpServerResponse.jsonUnsafe(door.object(file)))

    /** Bytes of clients have no type here that a browser would show. */
    const content = Effect.fnUntraced(function* (door: FileDoor, call: Authenticated, id: string) {
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
      return HttpServerResponse.jsonUnsafe(door.list(found, hasMore))
    })

    for (const door of doors) {
      const add = (
        method: "GET" | "DELETE",
        path: `/${string}`,
        answer: typeof retrieve | typeof content | typeof remove,
      ) =>
        router.add(method, path, (request) =>
          Effect.flatMap(HttpRouter.params, ({ id = "" }) =>
            answerIn(door.api, fromRouter(request), (call) => answer(door, call, id)),
          ),
        )
      yield* router.add("GET", door.path, (request) =>
        answerIn(door.api, fromRouter(request), (call) => list(door, call)),
      )
      yield* add("GET", `${door.path}/:id`, retrieve)
      yield* add("GET", `${door.path}/:id/content`, content)
      yield* add("DELETE", `${door.path}/:id`, remove)
    }
  }),
)
