/**
 * The transcripts of the client's speech under inbound policies. The vendor has heard the sound when its transcript comes: a
 * denial ends the responses that run, and takes the speech out of the conversation. Masks cannot change sound.
 */
import { Effect } from "effect"
import { type JsonObject, parseObject, stringAt } from "../../dialects/parse/json.ts"
import { onlyWords } from "../../policies/parts.ts"
import { contentBlocked, type Denial } from "../../policies/review.ts"
import type { SessionParts } from "./session-parts.ts"

const completed = "conversation.item.input_audio_transcription.completed"
/** Part of each event with a transcript of the client's speech. */
const transcripts = "conversation.item.input_audio_transcription."

export const isOfSpeech = (type: string): boolean => type.startsWith(transcripts)

export class HeardSpeech {
  readonly #parts: SessionParts
  readonly #denied: (denial: Denial) => void

  /** @param denied ends the responses that run */
  constructor(parts: SessionParts, denied: (denial: Denial) => void) {
    this.#parts = parts
    this.#denied = denied
  }

  /** An event of the vendor with a transcript. */
  take(bytes: Buffer): void {
    const event = parseObject(bytes.toString("utf8"))
    const transcript = stringAt(event, "transcript") ?? ""
    if (event === undefined || event["type"] !== completed || transcript === "") return
    const { mailbox, options, money } = this.#parts
    const { services, caller } = options
    const policies = caller.policies.inbound.filter(({ action }) => action !== "mask")
    const judged = services.review.judge(
      policies,
      "request",
      onlyWords(() => transcript),
    )
    mailbox.add(
      Effect.map(judged, ({ denial, hits }) => {
        money.found.push(...hits)
        if (denial !== undefined) this.#deny(denial, event)
      }),
    )
  }

  #deny(denial: Denial, event: JsonObject): void {
    const { noteDenial, events, sockets } = this.#parts
    noteDenial(denial, "request")
    events.error(contentBlocked(denial))
    this.#denied(denial)
    const item = stringAt(event, "item_id")
    if (item !== undefined) sockets.toVendor(JSON.stringify({ type: "conversation.item.delete", item_id: item }))
  }
}
