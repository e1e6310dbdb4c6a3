/** ElevenLabs: speech and transcription. Source: https://elevenlabs.io/docs/api-reference/introduction */

import type { Dialect } from "../dialect.ts"
import { objectAt, parseObject, stringAt } from "../parse/json.ts"
import { type FaultTable, faultBy } from "../vendor/faults.ts"
import { elevenlabsSpeech } from "./speech.ts"
import { elevenlabsTranscription } from "./transcription.ts"

/** Source: https://elevenlabs.io/docs/developers/resources/error-messages */
const faults: FaultTable = {
  codes: {
    quota_exceeded: "credit",
    missing_permissions: "permission",
    detected_unusual_activity: "credential",
    voice_not_found: "request",
    content_against_policy: "filter",
  },
}

export const elevenlabs: Dialect = {
  authorize: (credential) => ({ "xi-api-key": credential }),
  decodeError: (status, body) => {
    const detail = objectAt(parseObject(body), "detail")
    return faultBy(faults, { status, codes: [stringAt(detail, "status"), stringAt(detail, "code")] })
  },
  speech: elevenlabsSpeech,
  transcription: elevenlabsTranscription,
}
