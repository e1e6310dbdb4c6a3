/** The vendor's side of a session: its events go to the client unchanged, and their usage is counted and settled. */
import type { SealHandle, VendorEvent, VendorReader } from "../../dialects/realtime-dialect.ts"
import { Marks, markKey } from "../../policies/masks/marks.ts"
import type { ReviewPolicy } from "../../policies/policy.ts"
import { ReplyReview } from "../../policies/reply/reply-review.ts"
import { contentBlocked } from "../../policies/review.ts"
import { closing } from "../../protocol/closing-code.ts"
import { serviceError } from "../../protocol/error.ts"
import { HeardSpeech } from "./heard-speech.ts"
import { withoutMasks } from "./inbound-policies.ts"
import type { ReviewedMessages } from "./protocol.ts"
import type { Responses } from "./responses.ts"
import type { SessionParts } from "./session-parts.ts"

/** Parts of the spoken text that are kept for policies. */
const mostWords = 20_000

export class VendorSide {
  readonly #parts: SessionParts
  readonly #responses: Responses
  readonly #reader: VendorReader
  /** The text of each item, as its deltas bring it. */
  readonly #said = new Map<string, string>()
  #words = 0
  /** Policies that review the text at the end of the session, at the sample rate. */
  readonly sampled: ReadonlyArray<ReviewPolicy>
  /** Undefined if no policy reads the client's speech. */
  readonly #speech: HeardSpeech | undefined
  /** Undefined if nothing is enforced on the vendor's events, which end if the client's speech is denied. */
  readonly #reviewed: ReviewedMessages | undefined

  /**
   * @param marks of the client's events, which are put back; undefined if nothing is masked
   * @param seal seals the vendor's name of the conversation
   */
  constructor(parts: SessionParts, responses: Responses, marks: Marks | undefined, seal: SealHandle) {
    const { options, sockets, own } = parts
    const { caller, services, protocol } = options
    this.#reader = protocol.makeReader(seal)
    this.#parts = parts
    this.#responses = responses
    const { inbound, outbound } = caller.policies
    // Engines are not asked while a session runs, also if they are enforced on streams.
    this.sampled = outbound.filter(({ isEnforced, check }) => !isEnforced || check.kind === "engine")
    const hears = withoutMasks(inbound).length > 0
    if (hears) this.#speech = new HeardSpeech(parts, (denial, turn) => this.#reviewed?.denySpeech(denial, turn))
    if (marks === undefined && !hears && !outbound.some(({ isEnforced }) => isEnforced)) return
    const replyMarks = new Marks(markKey(services.config.masterKey, caller.org.id))
    const review = () =>
      new ReplyReview({
        policies: outbound,
        restored: marks,
        marks: () => replyMarks,
        onDenied: (denial) => {
          parts.noteDenial(denial, "reply")
          own.replyDenied(contentBlocked(denial))
        },
      })
    this.#reviewed = protocol.makeReview({
      review,
      send: (message) => sockets.toClient(message),
      denied: (responseId) => sockets.toVendor(protocol.cancel(responseId)),
      found: (hits) => void parts.money.found.push(...hits),
    })
  }

  get said(): string {
    return [...this.#said.values()].join("\n")
  }

  /** The vendor has sent an event. */
  take(bytes: Buffer): void {
    const { mailbox, deadlines, sockets } = this.#parts
    if (mailbox.ending !== undefined) return
    deadlines.heardVendor()
    const { events, sent } = this.#reader.read(bytes)
    if (events[0]?.is === "malformed") {
      this.closed(malformedCode)
      return
    }
    const turn = this.#reviewed?.turns ?? 0
    if (this.#reviewed !== undefined) this.#reviewed.take(sent === undefined ? bytes : Buffer.from(sent))
    else sockets.toClient(sent ?? bytes)
    for (const event of events) this.#heed(event, bytes, turn)
  }

  /** No message has come for some seconds. @param isEnd whether the session has ended */
  settle(isEnd = false): void {
    for (const event of this.#reader.settled(isEnd)) this.#heed(event, nothing, this.#reviewed?.turns ?? 0)
  }

  /** The vendor has closed its socket. */
  closed(code: number): void {
    const { mailbox, money, options } = this.#parts
    const reason = "upstream_disconnected"
    if (code === 1000 && money.isIdle) mailbox.end({ reason, code: closing.normal })
    else {
      const error = code === options.protocol.refusedCode ? messageRefused : vendorLeft
      mailbox.end({ reason, code: closing.internalError, error })
    }
  }

  #heed(event: VendorEvent, bytes: Buffer, turn: number): void {
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
        if (event.speech !== undefined) this.#speech?.take(event.speech, turn)
        this.#responses.transcribed()
        return
      case "unanswered":
        this.#responses.refused()
        return
      case "malformed":
    }
  }

  #keepWords(bytes: Buffer): void {
    if (this.#words++ >= mostWords) return
    const [item, words] = this.#parts.options.protocol.wordsOf(bytes) ?? []
    if (item !== undefined) this.#said.set(item, (this.#said.get(item) ?? "") + words)
  }
}

const messageRefused = serviceError("bad_request", "The upstream refused a message of the session")
const vendorLeft = serviceError("upstream_disconnected", "The upstream closed the connection")

/** The end of a vendor whose message is not JSON. */
const malformedCode = 1002

const nothing = Buffer.alloc(0)
