/** The media routes of twp/1: pictures, speech, transcriptions. */
import type { ServerResponse } from "node:http"
import { Effect, Result } from "effect"
import { newRequestId } from "../../calls/calls.ts"
import type { WholeReply } from "../../calls/reply.ts"
import { plainTranscript } from "../../dialects/openai-chat/media-client.ts"
import { decodeCall } from "../../kinds/decode.ts"
import { image } from "../../kinds/image/image.ts"
import { type NoBody, speech } from "../../kinds/speech/speech.ts"
import { transcription } from "../../kinds/transcription/transcription.ts"
import { video } from "../../kinds/video/video.ts"
import type { ImageResponse } from "../../protocol/image.ts"
import { SpeechRequest } from "../../protocol/speech.ts"
import type { TranscriptFormat, TranscriptionResponse } from "../../protocol/transcription.ts"
import type { VideoJob } from "../../protocol/video.ts"
import { ByteEvents } from "../byte-events.ts"
import type { CallRunner } from "../call-runner.ts"
import type { Content } from "../content.ts"
import type { DirectHandler } from "../hot-routes.ts"
import { NodeConnection } from "../node-connection.ts"
import { readTranscript } from "./kept-transcript.ts"
import {
  decodeImage,
  decodeTranscription,
  decodeVideo,
  type FieldTypes,
  type MediaAsked,
  typedFields,
} from "./media-calls.ts"

/** The handlers by their paths. */
export const mediaAnswers = ({ run, upload }: CallRunner): ReadonlyArray<readonly [string, DirectHandler]> => [
  [
    "/t1/images",
    (request, response) => {
      const requestId = newRequestId()
      const connection = new NodeConnection<ImageResponse>(response, requestId)
      return upload(image, request, requestId, {
        read: (_caller, content) =>
          Effect.map(decodeAs(content, imageTypes, decodeImage), (decoded) => ({ decoded, connection })),
        refusedAt: () => connection,
        status: () => response.statusCode,
      })
    },
  ],
  [
    "/t1/speech",
    (request, response) => {
      const requestId = newRequestId()
      return run(speech, request, requestId, {
        read: ({ body }) => {
          const decoded = decodeCall(SpeechRequest, body)
          const isEvents = Result.isSuccess(decoded) && decoded.success.request.stream === true
          const connection = new NodeConnection<NoBody>(response, requestId, isEvents ? undefined : new ByteEvents())
          return { decoded, connection }
        },
        refusedAt: () => new NodeConnection<NoBody>(response, requestId),
        status: () => response.statusCode,
      })
    },
  ],
  [
    "/t1/videos",
    (request, response) => {
      const requestId = newRequestId()
      const connection = new NodeConnection<VideoJob>(response, requestId)
      return upload(video, request, requestId, {
        read: (_caller, content) =>
          Effect.map(decodeAs(content, videoTypes, decodeVideo), (decoded) => ({ decoded, connection })),
        refusedAt: () => connection,
        status: () => response.statusCode,
      })
    },
  ],
  [
    "/t1/transcriptions",
    (request, response) => {
      const requestId = newRequestId()
      return upload(transcription, request, requestId, {
        read: (_caller, content) =>
          Effect.map(decodeAs(content, transcriptionTypes, decodeTranscription), (decoded) => {
            const format = Result.isSuccess(decoded) ? decoded.success.request.format : undefined
            return { decoded, connection: new TranscriptConnection(response, requestId, format) }
          }),
        refusedAt: () => new NodeConnection<TranscriptionResponse>(response, requestId),
        status: () => response.statusCode,
      })
    },
  ],
]

const videoTypes: FieldTypes = { numbers: ["seconds"], json: ["meta"] }
const imageTypes: FieldTypes = { numbers: ["n"], flags: ["stream"], json: ["meta"] }
const transcriptionTypes: FieldTypes = { numbers: ["temperature"], flags: ["translate", "stream"], json: ["meta"] }

const decodeAs = <A, E>(
  { fields, isForm, files }: Content,
  types: FieldTypes,
  decode: (asked: MediaAsked) => Effect.Effect<Result.Result<A, E>>,
) =>
  Result.isFailure(fields)
    ? Effect.succeed(Result.fail(fields.failure))
    : decode({
        fields: isForm ? typedFields(fields.success, types) : fields.success,
        files,
        sent: sentOf(fields.success),
      })

/** JSON came in as JSON, and text is JSON too. */
const sentOf = (fields: object) => JSON.parse(JSON.stringify(fields))

/** Sends the formats that are text as text. */
class TranscriptConnection extends NodeConnection<TranscriptionResponse> {
  readonly #format: TranscriptFormat | undefined

  constructor(response: ServerResponse, requestId: string, format: TranscriptFormat | undefined) {
    super(response, requestId)
    this.#format = format
  }

  override send({ status, headers, body }: WholeReply<TranscriptionResponse>): void {
    const response = status === 200 ? readTranscript(body) : undefined
    const plain = response && plainTranscript(this.#format, response.text)
    if (plain === undefined) super.send({ status, headers, body })
    else super.send({ status, headers: { ...headers, "content-type": plain.contentType }, body: plain.text })
  }
}
