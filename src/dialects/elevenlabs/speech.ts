/** Speech by ElevenLabs. Source: https://elevenlabs.io/docs/api-reference/text-to-speech/stream */
import { Result } from "effect"
import { type SpeechFormat, voiceName } from "../../protocol/kinds/speech.ts"
import type { SpeechDialect } from "../media-dialect.ts"
import { PlainSound, WavSound } from "../vendor/sound.ts"
import { jsonRequest } from "../whole-dialect.ts"

const formats: Readonly<Partial<Record<SpeechFormat, string>>> = {
  mp3: "mp3_44100_128",
  opus: "opus_48000_64",
  pcm: "pcm_24000",
  // The gateway writes the head of the WAV file: the vendor's own has no known length either.
  wav: "pcm_24000",
}

/** The voice is in the path, so other characters could change the path. */
const voiceId = /^[A-Za-z0-9_-]{1,128}$/

export const elevenlabsSpeech: SpeechDialect = {
  encode: ({ input, voice, format = "mp3", speed, instructions }, model) => {
    const made = formats[format]
    if (made === undefined) {
      return Result.fail({ capability: "format", message: "this vendor makes mp3, opus, wav and pcm" })
    }
    if (speed !== undefined && (speed < 0.7 || speed > 1.2)) {
      return Result.fail({ capability: "speed", message: "this vendor speaks at 0.7 to 1.2 of its speed" })
    }
    if (instructions !== undefined) {
      return Result.fail({ capability: "instructions", message: "this vendor takes no instructions" })
    }
    const name = voiceName(voice)
    if (!voiceId.test(name)) return Result.fail({ capability: "voice", message: "voices of this vendor are ids" })
    return Result.succeed({
      ...jsonRequest(`/text-to-speech/${name}/stream?output_format=${made}`, {
        text: input,
        model_id: model,
        ...(speed !== undefined && { voice_settings: { speed } }),
      }),
      headers: { accept: "*/*" },
    })
  },
  reader: ({ format = "mp3" }, contentType) =>
    format === "wav" ? new WavSound(new PlainSound("pcm", contentType)) : new PlainSound(format, contentType),
}
