/**
 * The transcripts of the client's speech under inbound policies. The vendor has heard the sound when its transcript comes: a
 * denial ends the responses that run, and takes the speech out of the conversation. Masks cannot change sound: values that an
 * engine would mask are denied.
 */
import { Effect } from "effect"
import { type JsonObject, parseObject, stringAt } from "../../dialects/parse/json.ts"
import { onlyWords } from "../../policies/parts.ts"
import { contentBlocked, type Denial, unavailable } from "../../policies/review.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { toServiceError } from "../../store/unavailable.ts"
import { withoutMasks } from "./inbound-policies.ts"
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
    const { mailbox, options, money, noteDenial, about } = this.#parts
    const { services, caller } = options
    const policies = withoutMasks(caller.policies.inbound)
    const judged = Effect.suspend(() => {
      // The settlement of a session that has ended does not wait for engines.
      const asked = mailbox.ending === undefined ? policies : policies.filter(({ check }) => check.kind === "rules")
      const words = onlyWords(() => transcript)
      return services.review.judge(asked, "request", words, about)
    })
    mailbox.add(
      Effect.map(judged, ({ denial, hits, refusal }) => {
        money.found.push(...hits)
        if (refusal !== undefined) {
          // Its engine was not asked: the speech is treated as if it had been denied.
          const { policy = "" } = hits.at(-1) ?? {}
          this.#takeOut({ policy, reason: unavailable }, toServiceError(refusal), event)
        } else if (denial !== undefined) {
          noteDenial(denial, "request")
          this.#takeOut(denial, contentBlocked(denial), event)
        }
      }),
    )
  }

  /** Takes the speech out of the conversation, and ends the responses that run. */
  #takeOut(denial: Denial, error: ServiceError, event: JsonObject): void {
    const { events, sockets } = this.#parts
    events.error(error)
    this.#denied(denial)
    const item = stringAt(event, "item_id")
    if (item !== undefined) sockets.toVendor(JSON.stringify({ type: "conversation.item.delete", item_id: item }))
  }
}
