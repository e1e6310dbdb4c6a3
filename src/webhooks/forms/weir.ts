/** The form that Weir's own receivers read: signed, as Standard Webhooks has it. */

import { signedHeaders } from "../../upstream/webhook-signing.ts"
import { bodyOf, outcomeOf } from "../attempt.ts"
import type { Form } from "./form.ts"

export const weir: Form = {
  requestOf: (event, { secrets, seconds }) => {
    const body = bodyOf(event)
    return { headers: signedHeaders(secrets, event.event_id, seconds, body), body }
  },
  maxReplyBytes: 0,
  judge: (status) => ({ outcome: outcomeOf(status) }),
}
