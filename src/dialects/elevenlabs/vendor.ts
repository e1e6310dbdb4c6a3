/** ElevenLabs: speech and transcription. Source: https://elevenlabs.io/docs/api-reference/introduction */
import { objectAt, parseObject, stringAt } from "../json.ts"
import type { VendorDialect } from "../vendor-dialect.ts"
import { elevenlabsSpeech } from "./speech.ts"
import { elevenlabsTranscription } from "./transcription.ts"

export const elevenlabs: VendorDialect = {
  authorize: (credential) => ({ "xi-api-key": credential }),
  decodeError: (status, body) => {
    const detail = objectAt(parseObject(body), "detail")
    return { status, code: stringAt(detail, "status") ?? stringAt(detail, "code") ?? "unknown" }
  },
  speech: elevenlabsSpeech,
  transcription: elevenlabsTranscription,
}
