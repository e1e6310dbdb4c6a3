/**
 * Speech in OpenAI's format, which many vendors share. Source:
 * https://platform.openai.com/docs/api-reference/audio/createSpeech
 */

import { Result } from "effect"
import { voiceName } from "../../protocol/kinds/speech.ts"
import type { SpeechDialect } from "../media-dialect.ts"
import { type JsonObject, objectAt, reportedCountAt, stringAt } from "../parse/json.ts"
import { EventSound, JsonSound, PlainSound, type SoundEvent } from "../vendor/sound.ts"
import { jsonRequest } from "../whole-dialect.ts"
import { eventFault } from "./faults.ts"
import type { SpeechProfile } from "./kind-profiles.ts"

export const makeSpeech = ({ form }: SpeechProfile = {}): SpeechDialect => ({
  encode: form === "mistral" ? encodeMistral : encodeOpenai,
  reader: ({ format = "mp3" }, contentType) => {
    if (contentType.startsWith("text/event-stream")) return new EventSound(format, readEvent)
    return form === "mistral" && contentType.startsWith("application/json")
      ? new JsonSound(format, soundIn)
      : new PlainSound(format, contentType)
  },
})

const encodeOpenai: SpeechDialect["encode"] = (
  { input, voice, format = "mp3", speed, instructions, needsTokens },
  model,
) =>
  Result.succeed({
    ...jsonRequest("/audio/speech", {
      model,
      input,
      voice,
      response_format: format,
      ...(speed !== undefined && { speed }),
      ...(instructions !== undefined && { instructions }),
      // A reply of bytes does not report its cost.
      ...(needsTokens && { stream_format: "sse" }),
    }),
    headers: { accept: needsTokens ? "text/event-stream" : "*/*" },
  })

/** Its samples have 32 bits. Source: https://docs.mistral.ai/api/endpoint/audio/speech */
const mistralFormats = ["mp3", "wav", "opus", "flac"]

const encodeMistral: SpeechDialect["encode"] = ({ input, voice, format = "mp3", speed, instructions }, model) => {
  if (!mistralFormats.includes(format)) {
    return Result.fail({ capability: "format", message: "this vendor makes mp3, opus, flac and wav" })
  }
  if (speed !== undefined && speed !== 1) {
    return Result.fail({ capability: "speed", message: "this vendor speaks at one speed" })
  }
  if (instructions !== undefined) {
    return Result.fail({ capability: "instructions", message: "this vendor takes no instructions" })
  }
  const body = { model, input, voice_id: voiceName(voice), response_format: format, stream: true }
  return Result.succeed({ ...jsonRequest("/audio/speech", body), headers: { accept: "text/event-stream" } })
}

const readEvent = (event: JsonObject): SoundEvent => {
  switch (stringAt(event, "type")) {
    case "speech.audio.delta":
      return soundIn(event)
    case "speech.audio.done":
      return { isLast: true, usage: usageOf(objectAt(event, "usage")) }
    default:
      return event["error"] === undefined ? {} : { fault: eventFault(event) }
  }
}

const soundIn = (json: JsonObject): SoundEvent => ({
  audio: stringAt(json, "audio") ?? stringAt(json, "audio_data"),
  usage: usageOf(objectAt(json, "usage")),
})

const usageOf = (usage: JsonObject | undefined) =>
  usage && {
    inTokens: reportedCountAt(usage, "input_tokens") ?? reportedCountAt(usage, "prompt_tokens"),
    outTokens: reportedCountAt(usage, "output_tokens") ?? reportedCountAt(usage, "completion_tokens"),
  }
