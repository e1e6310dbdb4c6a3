/** A transcript as it was made, or as it was kept for a repeated request id. */
import { Option, Schema } from "effect"
import { TranscriptionResponse } from "../../protocol/transcription.ts"

const read = Schema.decodeUnknownOption(Schema.fromJsonString(TranscriptionResponse))

export const readTranscript = (body: TranscriptionResponse | string): TranscriptionResponse | undefined =>
  typeof body === "string" ? Option.getOrUndefined(read(body)) : body
