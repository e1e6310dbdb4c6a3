/** Transcription by ElevenLabs. Source: https://elevenlabs.io/docs/api-reference/speech-to-text/convert */
import { Result } from "effect"
import { formRequest } from "../form-body.ts"
import { numberAt, objectsAt, stringAt } from "../json.ts"
import type { TranscriptionDialect } from "../media.ts"
import { segmentsOf } from "../segments.ts"

export const elevenlabsTranscription: TranscriptionDialect = {
  encode: ({ file, language, translate, temperature }, model) =>
    translate
      ? Result.fail({ capability: "translate", message: "this vendor does not translate" })
      : Result.succeed(
          formRequest("/speech-to-text", [
            ["model_id", model],
            ["language_code", language],
            ["temperature", temperature],
            ["timestamps_granularity", "word"],
            ["file", file],
          ]),
        ),
  decode: (body) => {
    const text = stringAt(body, "text")
    if (text === undefined) return undefined
    const words = objectsAt(body, "words").flatMap((word) => {
      const [said, start, end] = [stringAt(word, "text"), numberAt(word, "start"), numberAt(word, "end")]
      const isWord = said !== undefined && start !== undefined && end !== undefined && word["type"] === "word"
      return isWord ? [{ word: said, start, end }] : []
    })
    return {
      text,
      language: stringAt(body, "language_code"),
      seconds: numberAt(body, "audio_duration_secs"),
      ...(words.length > 0 && { words, segments: segmentsOf(words) }),
    }
  },
}
