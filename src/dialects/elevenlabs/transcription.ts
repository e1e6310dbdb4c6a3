/** Transcription by ElevenLabs. Source: https://elevenlabs.io/docs/api-reference/speech-to-text/convert */
import { Result } from "effect"
import type { TranscriptionDialect } from "../media-dialect.ts"
import { numberAt, objectsAt, stringAt } from "../parse/json.ts"
import { formRequest } from "../vendor/form-body.ts"
import { refusalOf, spokenOf } from "../vendor/segments.ts"

export const elevenlabsTranscription: TranscriptionDialect = {
  encode: (asked, model) => {
    const refusal = refusalOf(asked)
    if (refusal !== undefined) return Result.fail(refusal)
    const { file, language, temperature, diarize } = asked
    return Result.succeed(
      formRequest("/speech-to-text", [
        ["model_id", model],
        ["language_code", language],
        ["temperature", temperature],
        ["timestamps_granularity", "word"],
        ["diarize", diarize ? "true" : undefined],
        ["file", file],
      ]),
    )
  },
  decode: (body) => {
    const text = stringAt(body, "text")
    if (text === undefined) return undefined
    const words = objectsAt(body, "words").flatMap((word) => {
      const [said, start, end] = [stringAt(word, "text"), numberAt(word, "start"), numberAt(word, "end")]
      const isWord = said !== undefined && start !== undefined && end !== undefined && word["type"] === "word"
      return isWord ? [{ word: said, start, end, speaker: stringAt(word, "speaker_id") }] : []
    })
    return {
      text,
      language: stringAt(body, "language_code"),
      seconds: numberAt(body, "audio_duration_secs"),
      ...spokenOf(words),
    }
  },
}
