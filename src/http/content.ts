/** The content of a request that may have files: JSON, or a form whose files are in the spool. */
import { createHash } from "node:crypto"
import { Effect, Result, type Schema, type Scope } from "effect"
import { type Form, type FormError, readForm } from "../media/form.ts"
import type { NamedFile } from "../media/media-file.ts"
import type { Spool } from "../media/spool.ts"
import { bodyTooLarge, serviceError } from "../protocol/error.ts"
import { invalidInput } from "../protocol/json/issues.ts"
import { type Decoded, parseBody } from "../protocol/json/json-body.ts"
import { isJsonObject } from "../protocol/json/json-strings.ts"
import type { BodyError, RuntimeRequest, UploadRequest } from "./caller-request.ts"
import { decodeContent } from "./content-encoding.ts"
import { grown, type Room } from "./large/room.ts"

export interface Content {
  /** The SHA-256 of the body as it was sent. */
  readonly sha256: string
  /**
   * The fields of JSON, or those of a form as text. If a form names a field twice, or as `name[]`, it is a list;
   * `name[member]` is a member of an object, and `name[0]` an element of a list.
   */
  readonly fields: Decoded<Schema.JsonObject>
  readonly isForm: boolean
  readonly files: ReadonlyMap<string, ReadonlyArray<NamedFile>>
}

interface Limits {
  readonly form: number
  readonly json: number
}

/** Whether a body is a form. @see RFC 7578 */
export const isForm = ({ headers }: RuntimeRequest): boolean =>
  /^multipart\/form-data\b/i.test(headers["content-type"] ?? "")

export const readContent = (
  spool: Spool["Service"],
  request: UploadRequest,
  limits: Limits,
  room: Room | undefined,
): Effect.Effect<Content, FormError | BodyError, Scope.Scope> => {
  const { "content-type": type = "", "content-length": length = "0", "content-encoding": encoding } = request.headers
  const form = isForm(request)
  const limit = form ? limits.form : limits.json
  if (Number(length) > limit) return Effect.fail(bodyTooLarge(limit))
  if (!form) return readJson(request, limit, encoding, room)
  if (encoding !== undefined && encoding !== "identity") {
    return Effect.fail(serviceError("bad_request", "A form must not have a Content-Encoding"))
  }
  const hash = createHash("sha256")
  return Effect.map(readForm(spool, type, hashed(request.chunks(), hash), limit), (form) => ({
    sha256: hash.digest("hex"),
    fields: Result.succeed(fieldsOf(form)),
    isForm: true,
    files: form.files,
  }))
}

async function* hashed(chunks: AsyncIterable<Uint8Array>, hash: ReturnType<typeof createHash>) {
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
  }
}

const readJson = (
  { body }: UploadRequest,
  maxBytes: number,
  encoding: string | undefined,
  room: Room | undefined,
): Effect.Effect<Content, BodyError> =>
  Effect.flatMap(body(maxBytes, room), (sent) =>
    Effect.map(
      Effect.flatMap(decodeContent(encoding, sent, maxBytes), (bytes) => grown(room, bytes)),
      (bytes) => ({
        sha256: createHash("sha256").update(sent).digest("hex"),
        fields: Result.flatMap(parseBody(bytes), objectOf),
        isForm: false,
        files: new Map(),
      }),
    ),
  )

const objectOf = (json: Schema.Json): Decoded<Schema.JsonObject> =>
  isJsonObject(json)
    ? Result.succeed(json)
    : Result.fail(invalidInput([{ path: "", message: "The body must be a JSON object" }]))

const fieldsOf = ({ fields }: Form): Schema.JsonObject => {
  const read = new Map<string, Schema.Json>()
  const members = new Map<string, Map<string, Schema.Json>>()
  for (const [name, values] of fields) {
    const isList = name.endsWith("[]")
    const value = isList || values.length > 1 ? values : (values[0] ?? "")
    const [, object, member] = memberName.exec(name) ?? []
    if (object === undefined || member === undefined) read.set(isList ? name.slice(0, -2) : name, value)
    else members.set(object, (members.get(object) ?? new Map()).set(member, value))
  }
  for (const [name, object] of members) {
    const isList = [...object.keys()].every((member) => /^\d{1,3}$/.test(member))
    read.set(name, isList ? [...object.values()] : Object.fromEntries(object))
  }
  return Object.fromEntries(read)
}

/** A member of an object, as SDKs write it: `chunking_strategy[type]`. */
const memberName = /^([^[\]]+)\[([^[\]]+)\]$/
