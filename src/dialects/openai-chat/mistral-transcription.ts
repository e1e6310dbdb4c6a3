/** Transcription at Mistral, which has a form of its own. Source: https://docs.mistral.ai/api/endpoint/audio/transcriptions */
import { Result } from "effect"
import { type FormPart, formRequest } from "../form-body.ts"
import type { TranscriptionAsked, TranscriptionDialect } from "../media.ts"
import { refusalOf } from "../segments.ts"
import type { EncodeRefusal } from "../wire.ts"

export const encodeMistralTranscription: TranscriptionDialect["encode"] = (asked, model) => {
  const refusal = refusalHere(asked)
  if (refusal !== undefined) return Result.fail(refusal)
  const { file, language, temperature, times, diarize, stream } = asked
  const told = times.length === 0 && diarize ? (["segment"] as const) : times
  return Result.succeed(
    formRequest("/audio/transcriptions", [
      ["model", model],
      // A language and times exclude each other there.
      ["language", told.length > 0 ? undefined : language],
      ["temperature", temperature],
      ...told.map((time): FormPart => ["timestamp_granularities", time]),
      ["diarize", diarize ? "true" : undefined],
      ["stream", stream && told.length === 0 ? "true" : undefined],
      ["file", file],
    ]),
  )
}

const refusalHere = (asked: TranscriptionAsked): EncodeRefusal | undefined => {
  const refusal = refusalOf(asked)
  if (refusal !== undefined) return refusal
  return asked.times.length > 1
    ? { capability: "timestamps", message: "this vendor tells the times of words or of segments" }
    : undefined
}
