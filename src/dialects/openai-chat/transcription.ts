/** Transcription in OpenAI's words, which many vendors share. Source: https://platform.openai.com/docs/api-reference/audio */

import { Result } from "effect"
import { type FormPart, formRequest } from "../form-body.ts"
import { type JsonObject, numberAt, objectAt, objectsAt, reportedCountAt, stringAt } from "../json.ts"
import type { ReportedUsage, Transcribed, TranscriptionDialect } from "../media.ts"
import { eventFault } from "./faults.ts"

/** These tell tokens and no times; all others are asked for times, because these tell the duration. */
const tellsTokens = (model: string): boolean => /^gpt-/.test(model)

export const openaiTranscription: TranscriptionDialect = {
  encode: ({ file, language, prompt, temperature, translate, times, stream }, model) => {
    const isByTokens = tellsTokens(model)
    if (isByTokens && times !== undefined) {
      return Result.fail({ capability: "timestamps", message: "this model tells no times" })
    }
    if (isByTokens && translate)
      return Result.fail({ capability: "translate", message: "this model does not translate" })
    const parts: ReadonlyArray<FormPart> = [
      ["model", model],
      ["response_format", isByTokens ? "json" : "verbose_json"],
      ["language", translate ? undefined : language],
      ["prompt", prompt],
      ["temperature", temperature],
      ["timestamp_granularities[]", isByTokens || translate ? undefined : (times ?? "segment")],
      ["stream", isByTokens && stream ? "true" : undefined],
      ["file", file],
    ]
    return Result.succeed(formRequest(translate ? "/audio/translations" : "/audio/transcriptions", parts))
  },
  decode: (body) => {
    const text = stringAt(body, "text")
    if (text === undefined) return undefined
    const usage = objectAt(body, "usage")
    const [segments, words] = [spansOf(body, "segments", "text"), spansOf(body, "words", "word")]
    return {
      text,
      language: stringAt(body, "language"),
      seconds: numberAt(body, "duration") ?? numberAt(usage, "seconds"),
      ...(segments.length > 0 && { segments: segments.map(({ name, ...times }) => ({ text: name.trim(), ...times })) }),
      ...(words.length > 0 && { words: words.map(({ name, ...times }) => ({ word: name, ...times })) }),
      usage: usageOf(usage),
    }
  },
  event: (event) => {
    switch (stringAt(event, "type")) {
      case "transcript.text.delta":
        return { text: stringAt(event, "delta") ?? "" }
      case "transcript.text.done":
        return {
          whole: {
            text: stringAt(event, "text") ?? "",
            usage: usageOf(objectAt(event, "usage")),
          } satisfies Transcribed,
        }
      default:
        return event["error"] === undefined ? undefined : { fault: eventFault(event) }
    }
  },
}

/** What was said from when to when. */
const spansOf = (body: JsonObject, key: string, named: string) =>
  objectsAt(body, key).flatMap((span) => {
    const [name, start, end] = [stringAt(span, named), numberAt(span, "start"), numberAt(span, "end")]
    return name === undefined || start === undefined || end === undefined ? [] : [{ name, start, end }]
  })

const usageOf = (usage: JsonObject | undefined): ReportedUsage | undefined =>
  stringAt(usage, "type") === "duration" || usage === undefined
    ? undefined
    : {
        inTokens: reportedCountAt(usage, "input_tokens"),
        outTokens: reportedCountAt(usage, "output_tokens"),
        audioIn: reportedCountAt(objectAt(usage, "input_token_details"), "audio_tokens"),
      }
