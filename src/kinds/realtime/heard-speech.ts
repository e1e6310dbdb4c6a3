/**
 * The transcripts of the client's speech under inbound policies. The vendor has heard the sound when its transcript comes: a
 * denial ends the responses that run, and takes the speech out of the conversation. Masks cannot change sound: values that an
 * engine would mask are denied.
 */
import { Effect } from "effect"
import type { Speech } from "../../dialects/realtime-dialect.ts"
import { onlyWords } from "../../policies/parts.ts"
import { contentBlocked, type Denial, unavailable } from "../../policies/review.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { toServiceError } from "../../store/unavailable.ts"
import { withoutMasks } from "./inbound-policies.ts"
import type { SessionParts } from "./session-parts.ts"

export class HeardSpeech {
  readonly #parts: SessionParts
  readonly #denied: (denial: Denial, turn: number) => void

  /** @param denied ends the responses to a speech */
  constructor(parts: SessionParts, denied: (denial: Denial, turn: number) => void) {
    this.#parts = parts
    this.#denied = denied
  }

  /** The vendor has sent a transcript. @param turn in which it was heard */
  take(speech: Speech, turn: number): void {
    if (speech.words === "") return
    const { mailbox, options, money, noteDenial, about } = this.#parts
    const { services, caller } = options
    const policies = withoutMasks(caller.policies.inbound)
    const judged = Effect.suspend(() => {
      // The settlement of a session that has ended does not wait for engines.
      const asked = mailbox.ending === undefined ? policies : policies.filter(({ check }) => check.kind === "rules")
      const words = onlyWords(() => speech.words)
      return services.review.judge(asked, "request", words, about)
    })
    mailbox.add(
      Effect.map(judged, ({ denial, hits, refusal }) => {
        money.found.push(...hits)
        if (refusal !== undefined) {
          // Its engine was not asked: the speech is treated as if it had been denied.
          const { policy = "" } = hits.at(-1) ?? {}
          this.#takeOut({ policy, reason: unavailable }, toServiceError(refusal), speech, turn)
        } else if (denial !== undefined) {
          noteDenial(denial, "request")
          this.#takeOut(denial, contentBlocked(denial), speech, turn)
        }
      }),
    )
  }

  /** Takes the speech out of the conversation, and ends the responses that run. */
  #takeOut(denial: Denial, error: ServiceError, { takeOut }: Speech, turn: number): void {
    const { own, sockets } = this.#parts
    own.replyDenied(error)
    this.#denied(denial, turn)
    if (takeOut !== undefined) sockets.toVendor(takeOut)
  }
}
