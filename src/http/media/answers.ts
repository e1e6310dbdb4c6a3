/** The media routes of twp/1: pictures, speech, transcriptions. */
import type { ServerResponse } from "node:http"
import { Effect, Option, Result, Schema } from "effect"
import { newRequestId } from "../../calls/calls.ts"
import type { WholeReply } from "../../calls/connection.ts"
import type { DecodedCall } from "../../calls/held-call.ts"
import type { CallRequest, Kind } from "../../calls/kind.ts"
import { plainTranscript } from "../../dialects/openai-chat/transcription-client.ts"
import { decodeCall } from "../../kinds/decode.ts"
import { image } from "../../kinds/image/image.ts"
import { type NoBody, speech } from "../../kinds/speech/speech.ts"
import { transcription } from "../../kinds/transcription/transcription.ts"
import { video } from "../../kinds/video/video.ts"
import type { Decoded } from "../../protocol/json/json-body.ts"
import { SpeechRequest } from "../../protocol/kinds/speech.ts"
import { type TranscriptFormat, TranscriptionResponse } from "../../protocol/kinds/transcription.ts"
import type { CallRunner } from "../call-runner.ts"
import type { Content } from "../content.ts"
import type { DirectHandler } from "../hot-routes.ts"
import { NodeConnection } from "../node-connection.ts"
import { SoundStream } from "../sound-stream.ts"
import {
  decodeImage,
  decodeTranscription,
  decodeVideo,
  type FieldTypes,
  type MediaAsked,
  typedFields,
} from "./media-calls.ts"

/** The handlers by their paths. */
export const mediaAnswers = ({ run, upload }: CallRunner): ReadonlyArray<readonly [string, DirectHandler]> => {
  /** @param connect returns the connection of the reply, for the kind of the request */
  const uploaded =
    <Request extends CallRequest, Body extends object>(
      kind: Kind<Request, Body>,
      types: FieldTypes,
      decode: (asked: MediaAsked) => Effect.Effect<Decoded<DecodedCall<Request>>>,
      connect: (response: ServerResponse, requestId: string, request?: Request) => NodeConnection<Body>,
    ): DirectHandler =>
    (request, response) => {
      const requestId = newRequestId()
      return upload(kind, request, requestId, {
        read: (_caller, content) =>
          Effect.map(decodeAs(content, types, decode), (decoded) => ({
            decoded,
            connection: connect(response, requestId, requestOf(decoded)),
          })),
        refusedAt: () => connect(response, requestId),
        status: () => response.statusCode,
      })
    }

  const speak: DirectHandler = (request, response) => {
    const requestId = newRequestId()
    return run(speech, request, requestId, {
      read: ({ body }) => {
        const decoded = decodeCall(SpeechRequest, body)
        const events = requestOf(decoded)?.stream === true ? undefined : new SoundStream()
        return { decoded, connection: new NodeConnection<NoBody>(response, requestId, events) }
      },
      refusedAt: () => new NodeConnection<NoBody>(response, requestId),
      status: () => response.statusCode,
    })
  }

  return [
    [
      "/t1/images",
      uploaded(image, imageTypes, decodeImage, (response, requestId) => new NodeConnection(response, requestId)),
    ],
    ["/t1/speech", speak],
    [
      "/t1/transcriptions",
      uploaded(
        transcription,
        transcriptionTypes,
        decodeTranscription,
        (response, requestId, asked) => new TranscriptConnection(response, requestId, asked?.format),
      ),
    ],
    [
      "/t1/videos",
      uploaded(video, videoTypes, decodeVideo, (response, requestId) => new NodeConnection(response, requestId)),
    ],
  ]
}

const requestOf = <Request extends CallRequest>(decoded: Decoded<DecodedCall<Request>>): Request | undefined =>
  Result.isSuccess(decoded) ? decoded.success.request : undefined

const videoTypes: FieldTypes = { numbers: ["seconds"], json: ["meta"] }
const imageTypes: FieldTypes = {
  numbers: ["n", "compression", "seed", "partialImages"],
  flags: ["stream"],
  json: ["meta"],
}
const transcriptionTypes: FieldTypes = {
  numbers: ["temperature"],
  flags: ["translate", "stream", "logprobs"],
  json: ["meta", "chunking", "speakers"],
}

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
        sent: fields.success,
      })

const readKept = Schema.decodeUnknownOption(Schema.fromJsonString(TranscriptionResponse))

/** A transcript, new or stored for a repeated request id. */
const readTranscript = (body: TranscriptionResponse | string): TranscriptionResponse | undefined =>
  typeof body === "string" ? Option.getOrUndefined(readKept(body)) : body

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
