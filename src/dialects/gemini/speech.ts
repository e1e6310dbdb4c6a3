/** Speech in Gemini's format: 24 kHz samples without a head. Source: https://ai.google.dev/gemini-api/docs/speech-generation */
import { Result } from "effect"
import { voiceName } from "../../protocol/kinds/speech.ts"
import type { SpeechDialect } from "../media-dialect.ts"
import { type JsonObject, objectAt, objectsAt, reportedCountAt, stringAt } from "../parse/json.ts"
import { EventSound, type SoundEvent, WavSound } from "../vendor/sound.ts"
import { jsonRequest } from "../whole-dialect.ts"
import { geminiFault, geminiFilter } from "./faults.ts"

export const geminiSpeech: SpeechDialect = {
  encode: ({ input, voice, format, speed, instructions }, model) => {
    if (format !== undefined && format !== "wav" && format !== "pcm") {
      return Result.fail({ capability: "format", message: "this model makes wav and pcm" })
    }
    if (speed !== undefined && speed !== 1) {
      return Result.fail({ capability: "speed", message: "this model has one speed" })
    }
    return Result.succeed(
      jsonRequest(`/v1beta/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`, {
        contents: [
          { role: "user", parts: [{ text: instructions === undefined ? input : `${instructions}: ${input}` }] },
        ],
        generationConfig: {
          responseModalities: ["AUDIO"],
          speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: voiceName(voice) } } },
        },
      }),
    )
  },
  reader: ({ format }) => {
    const samples = new EventSound("pcm", readEvent)
    return format === "pcm" ? samples : new WavSound(samples)
  },
}

const readEvent = (event: JsonObject): SoundEvent => {
  const error = objectAt(event, "error")
  if (error !== undefined) return { fault: geminiFault(error) }
  const [candidate] = objectsAt(event, "candidates")
  const [part] = objectsAt(objectAt(candidate, "content"), "parts")
  const usage = objectAt(event, "usageMetadata")
  const audio = stringAt(objectAt(part, "inlineData"), "data")
  return {
    audio,
    ...(audio === undefined && { fault: geminiFilter(event) }),
    isLast: stringAt(candidate, "finishReason") !== undefined,
    usage: usage && {
      inTokens: reportedCountAt(usage, "promptTokenCount"),
      outTokens: reportedCountAt(usage, "candidatesTokenCount"),
    },
  }
}
