/** Transcription at Mistral, which has a form of its own. Source: https://docs.mistral.ai/api/endpoint/audio/transcriptions */
import { Result } from "effect"
import type { TranscriptionAsked, TranscriptionDialect } from "../media-dialect.ts"
import { type FormPart, formRequest } from "../vendor/form-body.ts"
import { refusalOf } from "../vendor/segments.ts"
import type { EncodeRefusal } from "../wire.ts"

export const encodeMistralTranscription: TranscriptionDialect["encode"] = (asked, model) => {
  const refusal = refusalHere(asked)
  if (refusal !== undefined) return Result.fail(refusal)
  const { file, language, temperature, diarize, stream } = asked
  const told = toldBy(asked)
  return Result.succeed(
    formRequest("/audio/transcriptions", [
      ["model", model],
      ["language", language],
      ["temperature", temperature],
      ...told.map((time): FormPart => ["timestamp_granularities", time]),
      ["diarize", diarize ? "true" : undefined],
      ["stream", stream && told.length === 0 ? "true" : undefined],
      ["file", file],
    ]),
  )
}

/** Speakers come with segments. */
const toldBy = ({ times, diarize }: TranscriptionAsked): TranscriptionAsked["times"] =>
  times.length === 0 && diarize ? ["segment"] : times

const refusalHere = (asked: TranscriptionAsked): EncodeRefusal | undefined => {
  const refusal = refusalOf(asked)
  if (refusal !== undefined) return refusal
  if (asked.language !== undefined && toldBy(asked).length > 0) {
    return { capability: "language", message: "this vendor reports no times if the language is set" }
  }
  return asked.times.length > 1
    ? { capability: "timestamps", message: "this vendor reports the times of words or of segments, not of both" }
    : undefined
}
