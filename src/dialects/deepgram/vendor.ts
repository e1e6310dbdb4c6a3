/** Deepgram: transcription. Source: https://developers.deepgram.com/reference/speech-to-text/listen-pre-recorded */
import { Result } from "effect"
import type { Dialect } from "../dialect.ts"
import type { TranscriptionDialect } from "../media-dialect.ts"
import { type JsonObject, numberAt, objectAt, objectsAt, parseObject, stringAt } from "../parse/json.ts"
import { type FaultTable, faultBy } from "../vendor/faults.ts"
import { refusalOf, spokenOf } from "../vendor/segments.ts"

const transcription: TranscriptionDialect = {
  encode: (asked, model) => {
    const {
      file: { file, mime },
      language,
      diarize,
      temperature,
    } = asked
    const refusal = refusalOf(asked)
    if (refusal !== undefined) return Result.fail(refusal)
    // The vendor has only one way to read a recording.
    if (temperature !== undefined && temperature > 0) {
      return Result.fail({ capability: "temperature", message: "this vendor has no temperature" })
    }
    const query = new URLSearchParams({
      model,
      smart_format: "true",
      ...(language === undefined ? { detect_language: "true" } : { language }),
      ...(diarize && { diarize: "true" }),
    })
    return Result.succeed({
      path: `/listen?${query}`,
      headers: { accept: "application/json", "content-type": mime },
      body: [file],
    })
  },
  decode: (body) => {
    const [channel] = objectsAt(objectAt(body, "results"), "channels")
    const [best] = objectsAt(channel, "alternatives")
    const text = stringAt(best, "transcript")
    if (text === undefined) return undefined
    const words = objectsAt(best, "words").flatMap(wordOf)
    return {
      text,
      language: stringAt(channel, "detected_language"),
      seconds: numberAt(objectAt(body, "metadata"), "duration"),
      ...spokenOf(words),
    }
  },
}

const wordOf = (word: JsonObject) => {
  const said = stringAt(word, "punctuated_word") ?? stringAt(word, "word")
  const [start, end] = [numberAt(word, "start"), numberAt(word, "end")]
  const speaker = numberAt(word, "speaker")
  return said === undefined || start === undefined || end === undefined
    ? []
    : [{ word: said, start, end, speaker: speaker === undefined ? undefined : String(speaker) }]
}

/** The status of an error says everything. Source: https://developers.deepgram.com/docs/errors */
const faults: FaultTable = { codes: {} }

export const deepgram: Dialect = {
  authorize: (credential) => ({ authorization: `Token ${credential}` }),
  decodeError: (status, body) => faultBy(faults, { status, codes: [stringAt(parseObject(body), "err_code")] }),
  transcription,
}
