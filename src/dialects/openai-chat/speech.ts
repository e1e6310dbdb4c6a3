/** Speech in OpenAI's words, which many vendors share. Source: https://platform.openai.com/docs/api-reference/audio/createSpeech */

import { Result } from "effect"
import { objectAt, reportedCountAt, stringAt } from "../json.ts"
import type { SpeechDialect } from "../media.ts"
import { EventSound, PlainSound, type SoundEvent } from "../sound.ts"
import { jsonRequest } from "../whole.ts"
import { eventFault } from "./faults.ts"

export const openaiSpeech: SpeechDialect = {
  encode: ({ input, voice, format = "mp3", speed, instructions, needsTokens }, model) =>
    Result.succeed({
      ...jsonRequest("/audio/speech", {
        model,
        input,
        voice,
        response_format: format,
        ...(speed !== undefined && { speed }),
        ...(instructions !== undefined && { instructions }),
        // Bytes alone do not tell what they cost.
        ...(needsTokens && { stream_format: "sse" }),
      }),
      headers: { accept: needsTokens ? "text/event-stream" : "*/*" },
    }),
  reader: ({ format = "mp3" }, contentType) =>
    contentType.startsWith("text/event-stream")
      ? new EventSound(format, readEvent)
      : new PlainSound(format, contentType),
}

const readEvent = (event: Parameters<typeof objectAt>[0]): SoundEvent => {
  switch (stringAt(event, "type")) {
    case "speech.audio.delta":
      return { audio: stringAt(event, "audio") }
    case "speech.audio.done": {
      const usage = objectAt(event, "usage")
      return {
        isLast: true,
        usage: usage && {
          inTokens: reportedCountAt(usage, "input_tokens"),
          outTokens: reportedCountAt(usage, "output_tokens"),
        },
      }
    }
    default:
      return event?.["error"] === undefined ? {} : { fault: eventFault(event) }
  }
}
