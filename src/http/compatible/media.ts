/** Pictures, speech and transcription for clients of OpenAI's and Cohere's APIs. */
import { Effect, Option, Result, Schema } from "effect"
import { newRequestId } from "../../calls/calls.ts"
import type { Call, DecodedCall } from "../../calls/held-call.ts"
import type { CallRequest, Kind } from "../../calls/kind.ts"
import type { EventEncoder } from "../../dialects/client/client-api.ts"
import type { SaidByPath } from "../../dialects/client/said-by-path.ts"
import { cohereTranscriptions } from "../../dialects/cohere/transcription-client.ts"
import { generateImage, generateSpeech, mediaAskedOf, predictImages } from "../../dialects/gemini/media-client.ts"
import { predictsTexts } from "../../dialects/gemini/predict-client.ts"
import type { MediaAsked as ApiAsked, MediaClient } from "../../dialects/openai-chat/media-client.ts"
import { openaiEdits, openaiGenerations, openaiSpeechClient } from "../../dialects/openai-chat/media-client.ts"
import { openaiTranscriptions, openaiTranslations } from "../../dialects/openai-chat/transcription-client.ts"
import { openaiRemixes, openaiVideos } from "../../dialects/openai-chat/video-client.ts"
import type { Caller } from "../../identity/caller.ts"
import type { JobStore } from "../../jobs/job-store.ts"
import { checkCall } from "../../kinds/decode.ts"
import { image } from "../../kinds/image/image.ts"
import { speech } from "../../kinds/speech/speech.ts"
import { transcription } from "../../kinds/transcription/transcription.ts"
import { video } from "../../kinds/video/video.ts"
import type { NamedFile } from "../../media/media-file.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import type { Decoded } from "../../protocol/json/json-body.ts"
import { ImageResponse } from "../../protocol/kinds/image.ts"
import { SpeechRequest } from "../../protocol/kinds/speech.ts"
import { TranscriptionResponse } from "../../protocol/kinds/transcription.ts"
import { VideoJob } from "../../protocol/kinds/video.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import type { CallRunner } from "../call-runner.ts"
import type { RuntimeRequest } from "../caller-request.ts"
import type { Content } from "../content.ts"
import type { DirectHandler } from "../hot-routes.ts"
import type { Room } from "../large/room.ts"
import {
  decodeImage,
  decodeRemix,
  decodeTranscription,
  decodeVideo,
  type MediaAsked,
  typedFields,
} from "../media/media-calls.ts"
import { SoundStream } from "../sound-stream.ts"
import { ApiConnection } from "./api-connection.ts"
import { withCredential } from "./credential.ts"
import { handlersAt } from "./doors/handlers-at.ts"
import { handleInPath, modelPattern } from "./model-path.ts"
import { handleOf, inWordsOf, metaOf, namingCapability } from "./request.ts"

/** The way in which a kind reads a request in twp/1, and a stored reply. */
interface Served<Request extends CallRequest, Body extends object> {
  readonly kind: Kind<Request, Body>
  readonly decode: (asked: MediaAsked, caller: Caller) => Effect.Effect<Decoded<DecodedCall<Request>>, StoreUnavailable>
  readonly readKept: (text: string) => Option.Option<Body>
  /** The encoder of a reply that is a stream of bytes; absent if such a reply is whole. */
  readonly bytes?: () => EventEncoder
}

const pictures = {
  kind: image,
  decode: decodeImage,
  readKept: Schema.decodeUnknownOption(Schema.fromJsonString(ImageResponse)),
}
const transcripts = {
  kind: transcription,
  decode: decodeTranscription,
  readKept: Schema.decodeUnknownOption(Schema.fromJsonString(TranscriptionResponse)),
}
const videos = {
  kind: video,
  decode: decodeVideo,
  readKept: Schema.decodeUnknownOption(Schema.fromJsonString(VideoJob)),
}
/** @param id the id of the video that is changed */
const remixes = (store: JobStore["Service"], id: string) => ({
  ...videos,
  decode: (asked: MediaAsked, { org, endUserId }: Caller) =>
    Effect.map(store.find(org.id, id), (job) =>
      decodeRemix(
        { ...asked, sent: [id, asked.sent] },
        endUserId === undefined || job?.endUserId === endUserId ? job : undefined,
      ),
    ),
})
const sound = {
  kind: speech,
  decode: ({ fields, sent }: MediaAsked) => Effect.succeed(checkCall(SpeechRequest, fields, sent)),
  readKept: () => Option.none(),
  bytes: () => new SoundStream(),
}

/**
 * The handlers of media calls on compatible routes.
 * @param predictTexts the handler of embeddings by the path of predictions
 */
export const mediaRoutes = (
  { upload, hasCredential, takeRoom }: CallRunner,
  store: JobStore["Service"],
  bodyMaxBytes: number,
  predictTexts: (model: string) => DirectHandler,
) => {
  const route =
    <Request extends CallRequest, Body extends object>(
      { kind, decode, readKept, bytes }: Served<Request, Body>,
      client: MediaClient<Body>,
      said?: SaidByPath,
    ): DirectHandler =>
    (request, response) => {
      const requestId = newRequestId()
      const connect = (asked?: ApiAsked<Body>, stream = false) =>
        new ApiConnection<Body>(
          response,
          requestId,
          {
            errors: client.errors,
            readKept: (text) => Option.getOrUndefined(readKept(text)),
            reply: asked?.reply,
            named: (error) => namingCapability(client, error),
            omitted: asked?.omitted,
          },
          stream ? asked?.events?.() : bytes?.(),
        )
      return upload(kind, withCredential(request), requestId, {
        read: (caller, content) =>
          Effect.map(
            readMedia(client, decode, request, caller, withSaidFields(content, said)),
            ({ decoded, asked }) => ({
              decoded,
              connection: connect(asked, isStreamed(decoded)),
            }),
          ),
        refusedAt: () => connect(),
        status: () => response.statusCode,
      })
    }

  /** The handler that a body asks for, or the other one, which gets the body too. */
  const byBody = (pick: (body: Uint8Array) => DirectHandler | undefined, other: DirectHandler): DirectHandler => {
    const picked: DirectHandler = Effect.fnUntraced(function* (request, response) {
      const sent = Effect.flatMap(takeRoom(request), (room) =>
        Effect.map(request.body(bodyMaxBytes, room), (bytes) => ({ bytes, room })),
      )
      const result = yield* Effect.result(sent)
      const body = Result.map(result, ({ bytes }) => bytes)
      const read = {
        ...request,
        room: Result.isSuccess(result) ? result.success.room : noRoom,
        body: () => Effect.fromResult(body),
        chunks: () => partsOf(body),
      }
      const handler = (Result.isSuccess(body) ? pick(body.success) : undefined) ?? other
      return yield* handler(read, response)
    }, Effect.scoped)
    // A caller without a valid credential is refused there, and its body is not read.
    return (request, response) =>
      Effect.flatMap(hasCredential(withCredential(request)), (isKnown) =>
        isKnown ? picked(request, response) : other(request, response),
      )
  }

  const exact = handlersAt([
    ["/openai/v1/images/generations", (said) => route(pictures, openaiGenerations, said)],
    ["/openai/v1/images/edits", (said) => route(pictures, openaiEdits, said)],
    ["/openai/v1/videos", (said) => route(videos, openaiVideos, said)],
    ["/openai/v1/audio/speech", (said) => route(sound, openaiSpeechClient, said)],
    ["/openai/v1/audio/transcriptions", (said) => route(transcripts, openaiTranscriptions, said)],
    ["/openai/v1/audio/translations", (said) => route(transcripts, openaiTranslations, said)],
    ["/cohere/v2/audio/transcriptions", (said) => route(transcripts, cohereTranscriptions, said)],
  ])
  return {
    exactly: (path: string, said?: SaidByPath): DirectHandler | undefined => {
      const [, video] = remixPath.exec(path) ?? []
      if (video !== undefined) return route(remixes(store, video), openaiRemixes)
      const model = handleInPath(predictPath.exec(path)?.[1])
      if (model === undefined) return exact(path, said)
      return byBody(
        (body) => (predictsTexts(body) ? undefined : route(pictures, predictImages(model))),
        predictTexts(model),
      )
    },

    /** Gemini's one path for text, pictures and sound: the body says which of them is asked for. */
    orMedia: (model: string, isStream: boolean, chat: DirectHandler): DirectHandler =>
      byBody((body) => {
        const asked = mediaAskedOf(body)
        if (asked === undefined) return undefined
        return asked === "image" ? route(pictures, generateImage(model)) : route(sound, generateSpeech(model, isStream))
      }, chat),
  }
}

/** The fields of a body or a form, with those that its path says. */
const withSaidFields = (content: Content, said: SaidByPath | undefined): Content =>
  said === undefined ? content : { ...content, fields: Result.map(content.fields, (sent) => ({ ...sent, ...said })) }

/** The room of a body that was refused. */
const noRoom: Room = { grow: () => undefined }

async function* partsOf(body: Result.Result<Uint8Array, ServiceError>): AsyncGenerator<Uint8Array> {
  if (Result.isFailure(body)) throw body.failure
  yield body.success
}

/** `/gemini/v1beta/models/imagen:predict` */
const predictPath = new RegExp(`^/gemini/v1(?:alpha|beta)?/models/${modelPattern}:predict$`)

const remixPath = /^\/openai\/v1\/videos\/(job_[\w-]{1,64})\/remix$/

const isStreamed = <Request extends CallRequest, Body extends object>(decoded: Call<Request, Body>["decoded"]) =>
  Result.isSuccess(decoded) && decoded.success.request.stream === true

const readMedia = <Request extends CallRequest, Body>(
  client: MediaClient<Body>,
  decode: (asked: MediaAsked, caller: Caller) => Effect.Effect<Decoded<DecodedCall<Request>>, StoreUnavailable>,
  { headers }: RuntimeRequest,
  caller: Caller,
  { fields, isForm, files }: Content,
) =>
  Effect.gen(function* () {
    if (Result.isFailure(fields)) return { decoded: Result.fail(fields.failure), asked: undefined }
    const typed = isForm ? typedFields(fields.success, client.types) : fields.success
    const read = client.decode(typed)
    const own = filesOf(client, files)
    if (Result.isFailure(read)) return { decoded: Result.fail(invalidInput([read.failure])), asked: undefined }
    if (Result.isFailure(own)) return { decoded: Result.fail(own.failure), asked: undefined }
    const asked = read.success
    const { requires } = client
    if (requires !== undefined && !own.success.has(requires) && asked.request[requires] === undefined) {
      const missing = inWordsOf(client, invalidInput([{ path: requires, message: "is required" }]))
      return { decoded: Result.fail(missing), asked: undefined }
    }
    const meta = metaOf(headers)
    const candidate = {
      ...asked.request,
      model: handleOf(asked.model, caller.org.aliases),
      ...(meta !== undefined && { meta }),
    }
    // The same idempotency key under another API is another call.
    const sent = [client.name, fields.success]
    const decoded = yield* decode({ fields: candidate, files: own.success, sent }, caller)
    return { decoded: Result.mapError(decoded, (error) => inWordsOf(client, error)), asked }
  })

/** The parts with files, by the names of twp/1. */
const filesOf = (
  { files: names }: Pick<MediaClient<unknown>, "files">,
  files: Content["files"],
): Decoded<Content["files"]> => {
  const renamed = new Map<string, ReadonlyArray<NamedFile>>()
  for (const [name, own] of files) {
    // Several of one name come as `image[]`, or as `image[0]`, `image[1]`.
    const plain = name.replace(/\[\d{0,3}\]$/, "")
    const ours = Object.hasOwn(names, plain) ? names[plain] : undefined
    if (ours === undefined) return Result.fail(invalidInput([{ path: name, message: "is not a file of this call" }]))
    renamed.set(ours, [...(renamed.get(ours) ?? []), ...own])
  }
  return Result.succeed(renamed)
}
