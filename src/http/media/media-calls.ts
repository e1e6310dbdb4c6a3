/** Requests of media calls: their fields by schema, and their files, which come in a form or as blocks of JSON. */
import { Effect, Result, Schema } from "effect"
import type { DecodedCall } from "../../calls/held-call.ts"
import type { JsonObject } from "../../dialects/parse/json.ts"
import type { Job } from "../../jobs/job-store.ts"
import type { ImageCall } from "../../kinds/image/image.ts"
import type { TranscriptionCall } from "../../kinds/transcription/transcription.ts"
import type { VideoCall } from "../../kinds/video/video.ts"
import type { NamedFile } from "../../media/media-file.ts"
import { soundLength } from "../../media/sound-length.ts"
import { fileOf } from "../../media/spool.ts"
import { typeOfBytes } from "../../media/type-of-bytes.ts"
import { FileBlock, ImageBlock } from "../../protocol/block.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { type Decoded, decodeJson } from "../../protocol/json/json-body.ts"
import { ImageFields, maxSourceImages } from "../../protocol/kinds/image.ts"
import { TranscriptionFields } from "../../protocol/kinds/transcription.ts"
import { VideoFields } from "../../protocol/kinds/video.ts"
import { fingerprint } from "../../protocol/values/canonical.ts"
import type { Content } from "../content.ts"

type Files = Content["files"]

/** A request in twp/1, from JSON or from a form. */
export interface MediaAsked {
  readonly fields: JsonObject
  readonly files: Files
  /** The fields that a second call with the same idempotency key must repeat, beside the files. */
  readonly sent: Schema.Json
}

export const decodeImage = (asked: MediaAsked): Effect.Effect<Decoded<DecodedCall<ImageCall>>> =>
  Effect.gen(function* () {
    const { images: blocks, mask: maskBlock, ...rest } = asked.fields
    const fields = decodeJson(ImageFields, rest)
    if (Result.isFailure(fields)) return Result.fail(fields.failure)
    const images = yield* filesAt(asked.files, "images", blocks, ImageBlock)
    if (Result.isFailure(images)) return Result.fail(images.failure)
    const masks = yield* filesAt(asked.files, "mask", listed(maskBlock), ImageBlock)
    if (Result.isFailure(masks)) return Result.fail(masks.failure)
    const unknown = unknownFile(asked.files, ["images", "mask"])
    if (unknown !== undefined) return refuse(unknown, "is not a file of this call")
    if (images.success.length > maxSourceImages) return refuse("images", `at most ${maxSourceImages} pictures`)
    if (masks.success.length > 1) return refuse("mask", "one mask")
    const [mask] = masks.success
    if (mask !== undefined && images.success.length === 0) return refuse("mask", "a mask needs a picture")
    const all = mask === undefined ? images.success : [...images.success, mask]
    for (const [at, picture] of all.entries()) {
      const wrong = yield* pictureFault(picture)
      if (wrong !== undefined) return refuse(picture === mask ? "mask" : `images.${at}`, wrong)
    }
    return Result.succeed(callOf(asked, { ...fields.success, images: images.success, mask }, all))
  })

/** The reason why a file is not the picture that it claims to be. */
const pictureFault = ({ file, mime }: NamedFile): Effect.Effect<string | undefined> =>
  Effect.map(typeOfBytes(file), (type) => {
    if (type === undefined || !pictureTypes.has(type.mime)) return "is not a picture in png, jpeg, webp or gif"
    return type.mime === mime ? undefined : `is ${type.mime} and not ${mime}`
  })

const pictureTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"])

export const decodeTranscription = (asked: MediaAsked): Effect.Effect<Decoded<DecodedCall<TranscriptionCall>>> =>
  Effect.gen(function* () {
    const { file: block, ...rest } = asked.fields
    const fields = decodeJson(TranscriptionFields, rest)
    if (Result.isFailure(fields)) return Result.fail(fields.failure)
    const files = yield* filesAt(asked.files, "file", listed(block), FileBlock)
    if (Result.isFailure(files)) return Result.fail(files.failure)
    const unknown = unknownFile(asked.files, ["file"])
    if (unknown !== undefined) return refuse(unknown, "is not a file of this call")
    const [found] = files.success
    if (found === undefined || files.success.length > 1) return refuse("file", "one recording is required")
    if (found.file.bytes === 0) return refuse("file", "is empty")
    const type = yield* typeOfBytes(found.file)
    const mime = type?.mime ?? found.mime
    // Frames without a head are identified by the file name that the client sends.
    if (!/^(audio|video)\//.test(mime) && mime !== "application/ogg") return refuse("file", "is not a recording")
    const length = yield* Effect.promise(() => soundLength(found.file, mime))
    const file: NamedFile = { ...found, mime }
    return Result.succeed(callOf(asked, { ...fields.success, file, length }, [file]))
  })

export const decodeVideo = (asked: MediaAsked): Effect.Effect<Decoded<DecodedCall<VideoCall>>> =>
  Effect.gen(function* () {
    const { image: block, ...rest } = asked.fields
    const fields = decodeJson(VideoFields, rest)
    if (Result.isFailure(fields)) return Result.fail(fields.failure)
    const images = yield* filesAt(asked.files, "image", listed(block), ImageBlock)
    if (Result.isFailure(images)) return Result.fail(images.failure)
    const unknown = unknownFile(asked.files, ["image"])
    if (unknown !== undefined) return refuse(unknown, "is not a file of this call")
    const [image] = images.success
    if (images.success.length > 1) return refuse("image", "one picture")
    const wrong = image && (yield* pictureFault(image))
    if (wrong !== undefined) return refuse("image", wrong)
    return Result.succeed(callOf(asked, { ...fields.success, image }, images.success))
  })

/** A request for a finished video with another prompt. @param job undefined if the caller has no such video */
export const decodeRemix = (asked: MediaAsked, job: Job | undefined): Decoded<DecodedCall<VideoCall>> => {
  if (job === undefined) return refuse("source", "there is no such video")
  if (job.state !== "done") return refuse("source", "is not completed")
  const { seconds, size } = job.view
  const fields = decodeJson(VideoFields, {
    ...asked.fields,
    model: job.model,
    seconds,
    ...(size !== undefined && { size }),
  })
  return Result.map(fields, (fields) => callOf(asked, { ...fields, image: undefined, source: job }, []))
}

const refuse = (path: string, message: string) => Result.fail(invalidInput([{ path, message }]))

/** The block of a field that holds at most one, as a list. */
const listed = (block: unknown) => (block === undefined ? undefined : [block])

/** The files of a name: parts of a form, or blocks of JSON with their content. */
const filesAt = (
  files: Files,
  name: string,
  blocks: unknown,
  block: Schema.Decoder<typeof ImageBlock.Type | typeof FileBlock.Type>,
): Effect.Effect<Decoded<ReadonlyArray<NamedFile>>> =>
  Effect.sync(() => {
    const own = files.get(name) ?? []
    if (blocks === undefined) return Result.succeed(own)
    const named = decodeJson(Schema.Struct({ [name]: Schema.Array(block) }), { [name]: blocks })
    return Result.flatMap(named, ({ [name]: decoded = [] }): Decoded<ReadonlyArray<NamedFile>> => {
      const given: Array<NamedFile> = [...own]
      for (const each of decoded) {
        if (each.data === undefined) return refuse(`${name}.url`, "an address is not read: send the data")
        const file = fileOf(Buffer.from(each.data, "base64"))
        given.push({ file, mime: each.mime, ...("name" in each && { name: each.name }) })
      }
      return Result.succeed(given)
    })
  })

const unknownFile = (files: Files, known: ReadonlyArray<string>): string | undefined =>
  [...files.keys()].find((name) => !known.includes(name))

const callOf = <Request extends { readonly meta?: { readonly requestId?: string | undefined } | undefined }>(
  { sent, files }: MediaAsked,
  request: Request,
  used: ReadonlyArray<NamedFile>,
): DecodedCall<Request> => ({
  request,
  payloadHash:
    request.meta?.requestId === undefined
      ? undefined
      : fingerprint(files.size === 0 ? sent : [sent, used.map(({ file, mime }) => [file.sha256, mime])]),
})

/** Fields of a form are text: numbers, truth values and JSON among them are parsed here; other text stays text. */
export const typedFields = (fields: JsonObject, { numbers = [], flags = [], json = [] }: FieldTypes): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      if (typeof value !== "string") return [name, value]
      if (numbers.includes(name)) return [name, /^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : value]
      if (flags.includes(name)) return [name, value === "true" ? true : value === "false" ? false : value]
      return [name, json.includes(name) ? Result.getOrElse(decodeText(value), () => value) : value]
    }),
  )

export interface FieldTypes {
  readonly numbers?: ReadonlyArray<string>
  readonly flags?: ReadonlyArray<string>
  readonly json?: ReadonlyArray<string>
}

const decodeText = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Json))
