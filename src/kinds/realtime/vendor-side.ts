/** The vendor's side of a session: its events go to the client unchanged, and their usage is counted and settled. */

import { readVendorEvent, type VendorEvent } from "../../dialects/openai-realtime/vendor-events.ts"
import { objectAt, parseObject, stringAt } from "../../dialects/parse/json.ts"
import { machineCode } from "../../dialects/vendor/faults.ts"
import { Marks, markKey } from "../../policies/masks/marks.ts"
import type { ReviewPolicy } from "../../policies/policy.ts"
import { ReplyReview } from "../../policies/reply/reply-review.ts"
import { contentBlocked } from "../../policies/review.ts"
import { closing } from "../../protocol/closing-code.ts"
import { serviceError } from "../../protocol/error.ts"
import { HeardSpeech } from "./heard-speech.ts"
import { withoutMasks } from "./inbound-policies.ts"
import type { Responses } from "./responses.ts"
import { ReviewedFrames } from "./reviewed-frames.ts"
import type { SessionParts } from "./session-parts.ts"

/** Parts of the spoken text that are kept for policies. */
const mostWords = 20_000

export class VendorSide {
  readonly #parts: SessionParts
  readonly #responses: Responses
  /** The vendor's text, for policies that read it. */
  /** The text of each item, as its deltas bring it. */
  readonly #said = new Map<string, string>()
  #words = 0
  /** Policies that review the text at the end of the session, at the sample rate. */
  readonly sampled: ReadonlyArray<ReviewPolicy>
  /** Undefined if no policy reads the client's speech. */
  readonly #speech: HeardSpeech | undefined
  /** Undefined if nothing is enforced on the vendor's events, which end if the client's speech is denied. */
  readonly #reviewed: ReviewedFrames | undefined

  /** @param marks of the client's events, which are put back; undefined if nothing is masked */
  constructor(parts: SessionParts, responses: Responses, marks: Marks | undefined) {
    const { options, sockets, events } = parts
    const { caller, services } = options
    this.#parts = parts
    this.#responses = responses
    const { inbound, outbound } = caller.policies
    // Engines are not asked while a session runs, also if they are enforced on streams.
    this.sampled = outbound.filter(({ isEnforced, check }) => !isEnforced || check.kind === "engine")
    const hears = withoutMasks(inbound).length > 0
    if (hears) this.#speech = new HeardSpeech(parts, (denial) => this.#reviewed?.denyAll(denial))
    if (marks === undefined && !hears && !outbound.some(({ isEnforced }) => isEnforced)) return
    const own = new Marks(markKey(services.config.masterKey, caller.org.id))
    const review = () =>
      new ReplyReview({
        policies: outbound,
        restored: marks,
        marks: () => own,
        onDenied: (denial) => {
          parts.noteDenial(denial, "reply")
          events.error(contentBlocked(denial))
        },
      })
    const cancel = (responseId: string) =>
      sockets.toVendor(JSON.stringify({ type: "response.cancel", response_id: responseId }))
    this.#reviewed = new ReviewedFrames(
      review,
      (bytes) => sockets.toClient(bytes),
      cancel,
      (hits) => void parts.money.found.push(...hits),
    )
  }

  get said(): string {
    return [...this.#said.values()].join("\n")
  }

  /** The vendor has sent an event. */
  take(bytes: Buffer): void {
    const { mailbox, deadlines, sockets } = this.#parts
    if (mailbox.ending !== undefined) return
    deadlines.heardVendor()
    const event = readVendorEvent(bytes)
    if (event.is === "malformed") {
      this.closed(1007)
      return
    }
    if (event.is === "error" && event.ofAccount) sockets.toClient(withoutText(event.event))
    else if (this.#reviewed === undefined) sockets.toClient(bytes)
    else this.#reviewed.take(bytes)
    this.#heed(event, bytes)
  }

  /** The vendor has closed its socket. */
  closed(code: number): void {
    const { mailbox, money } = this.#parts
    const isEnd = code === 1000 && money.isIdle
    mailbox.end({
      reason: "upstream_disconnected",
      code: isEnd ? closing.normal : closing.internalError,
      ...(!isEnd && { error: serviceError("upstream_disconnected", "The upstream closed the connection") }),
    })
  }

  #heed(event: VendorEvent, bytes: Buffer): void {
    const { meter, money } = this.#parts
    switch (event.is) {
      case "delta":
        money.output(event.responseId, event.audioBytes, event.textBytes)
        if (event.textBytes > 0 && this.sampled.length > 0) this.#keepWords(bytes)
        return
      case "created":
        this.#responses.begun(event.responseId)
        return
      case "done":
        this.#responses.ended(event)
        return
      case "session":
        if (event.inBytesPerSecond !== undefined) meter.inBytesPerSecond = event.inBytesPerSecond
        if (event.outBytesPerSecond !== undefined) meter.outBytesPerSecond = event.outBytesPerSecond
        return
      case "transcribed":
        meter.transcribed(event.usage)
        this.#speech?.take(bytes)
        this.#responses.transcribed()
        return
      case "error":
        this.#responses.refused()
        return
      case "other":
      case "malformed":
    }
  }

  #keepWords(bytes: Buffer): void {
    if (this.#words++ >= mostWords) return
    const event = parseObject(bytes.toString("utf8"))
    const item = `${stringAt(event, "item_id") ?? ""} ${stringAt(event, "type") ?? ""}`
    this.#said.set(item, (this.#said.get(item) ?? "") + (stringAt(event, "delta") ?? ""))
  }
}

/** An error of the vendor's account: its text is for operators. */
const withoutText = (event: Extract<VendorEvent, { readonly is: "error" }>["event"]): string => {
  const error = objectAt(event, "error")
  return JSON.stringify({
    type: "error",
    event_id: stringAt(event, "event_id"),
    error: {
      type: machineCode(stringAt(error, "type")),
      code: machineCode(stringAt(error, "code")),
      message: "The upstream could not complete the request",
      param: null,
      event_id: stringAt(error, "event_id") ?? null,
    },
  })
}
