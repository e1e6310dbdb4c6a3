/** The client's side of a session: the events that go on to the vendor, the job before each of them, and their counts. */
import { Effect } from "effect"
import type { ClientEvent, EventRefusal, SessionLimits } from "../../dialects/realtime-dialect.ts"
import type { Marks } from "../../policies/masks/marks.ts"
import { type Masking, maskBody } from "../../policies/masks/mask-request.ts"
import { linesOf } from "../../policies/parts.ts"
import { contentBlocked } from "../../policies/review.ts"
import { serviceError, shuttingDown } from "../../protocol/error.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { toServiceError } from "../../store/unavailable.ts"
import { withoutMasks } from "./inbound-policies.ts"
import type { Job } from "./mailbox.ts"
import { transcriptUnits } from "./plan.ts"
import type { Responses } from "./responses.ts"
import type { SessionParts } from "./session-parts.ts"

type PassedEvent = Extract<ClientEvent, { readonly is: "audio" | "added" }>
type ReviewedEvent = Extract<ClientEvent, { readonly is: "added" | "update" | "respond" }>

/** The masks of a session, with the marks that its events have got. */
export interface SessionMasks {
  readonly masking: Masking
  readonly marks: Marks
}

export class ClientSide {
  readonly #parts: SessionParts
  readonly #responses: Responses
  readonly #limits: SessionLimits
  readonly #masks: SessionMasks | undefined
  /** Jobs for which the client's later events wait. */
  #waits = 0
  #waiting: Array<Buffer> = []

  /**
   * @param vendorModel the vendor's own name of the model, which the client may use too
   * @param masks of its events, with the marks of the session; undefined if there are none
   */
  constructor(parts: SessionParts, responses: Responses, vendorModel: string, masks: SessionMasks | undefined) {
    this.#masks = masks
    const { plan, models } = parts.options
    const { maxOutTokens, hasTools } = plan
    this.#parts = parts
    this.#responses = responses
    this.#limits = { models: [...models, vendorModel], maxOutTokens, hasTools, transcriptUnits: transcriptUnits(plan) }
  }

  /** The client has sent an event. */
  take(bytes: Buffer): void {
    this.#parts.deadlines.heardClient()
    if (this.#waits > 0) this.#waiting.push(bytes)
    else this.#read(bytes)
  }

  /** The vendor has room again. */
  resume(): void {
    if (this.#waits === 0) this.#parts.sockets.client.resume()
  }

  #read(bytes: Buffer): void {
    if (this.#parts.mailbox.ending !== undefined) return
    const event = this.#parts.options.protocol.readClient(this.#masked(bytes), this.#limits)
    switch (event.is) {
      case "refused":
        this.#refuse(event.refusal)
        return
      case "audio":
        this.#sendCovered(event)
        return
      case "added":
      case "update":
      case "respond":
        this.#review(event)
    }
  }

  /** Sound has no text, and most events are sound. */
  #masked(bytes: Buffer): Buffer {
    if (this.#masks === undefined || this.#parts.options.protocol.isSound(bytes)) return bytes
    const { masking, marks } = this.#masks
    const { body, masked } = maskBody(bytes, masking, marks)
    this.#parts.money.found.push(...(masked?.hits ?? []))
    return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  }

  /** Sends an event that the vendor may answer without a request, if a response is covered. Frames of sound allocate nothing here. */
  #sendCovered(event: PassedEvent): void {
    const { mailbox, money } = this.#parts
    const begins = event.is === "added" && event.begins === true
    // The response that runs may wait for a result.
    if (mailbox.isDraining && (!begins || money.isIdle)) return
    if (this.#responses.isShort || begins) this.#wait(this.#responses.whenCovered(() => this.#pass(event)))
    else this.#pass(event)
  }

  #pass(event: PassedEvent): void {
    const { meter, sockets } = this.#parts
    if (event.is === "audio") meter.audio(event.audioBytes)
    else meter.add(event.added)
    sockets.toVendor(event.sent)
  }

  #review(event: ReviewedEvent): void {
    const { about, options } = this.#parts
    const { services, caller } = options
    const { inbound } = caller.policies
    const { texts } = event.added
    if (inbound.length === 0 || texts.every(([, text]) => text === "")) {
      this.#send(event)
      return
    }
    const judged = services.review.judge(withoutMasks(inbound), "request", linesOf(texts), about)
    this.#wait(
      Effect.map(judged, ({ denial, hits, refusal }) => {
        this.#parts.money.found.push(...hits)
        const eventId = "eventId" in event ? event.eventId : undefined
        if (refusal !== undefined) return this.#parts.own.denied(toServiceError(refusal), eventId)
        if (denial === undefined) return this.#send(event)
        this.#parts.noteDenial(denial, "request")
        this.#parts.own.denied(contentBlocked(denial), eventId)
      }),
    )
  }

  #send(event: ReviewedEvent): void {
    const { mailbox, meter, money, sockets, own } = this.#parts
    if (event.is === "added" && event.mayAnswer) {
      this.#sendCovered(event)
      return
    }
    if (event.is === "respond") {
      if (mailbox.isDraining) {
        own.later(shuttingDown(), event.eventId)
        return
      }
      meter.add(event.added)
      this.#wait(this.#responses.ask(event.maxOutTokens, event.eventId, () => sockets.toVendor(event.sent)))
      return
    }
    meter.add(event.added)
    if (event.is === "update") {
      const { maxOutTokens, inBytesPerSecond } = event
      if (maxOutTokens !== undefined) money.maxOutTokens = Math.min(maxOutTokens, this.#limits.maxOutTokens)
      if (inBytesPerSecond !== undefined) meter.inBytesPerSecond = inBytesPerSecond
    }
    sockets.toVendor(event.sent)
  }

  #refuse({ message, param, eventId }: EventRefusal): void {
    this.#parts.own.refused(
      param === undefined ? serviceError("bad_request", message) : invalidInput([{ path: param, message }]),
      eventId,
    )
  }

  /** Runs a job before the client's later events. */
  #wait(job: Job): void {
    const { sockets, mailbox } = this.#parts
    this.#waits++
    sockets.client.pause()
    const unlessOver = Effect.suspend(() => (mailbox.ending === undefined ? job : Effect.void))
    mailbox.add(
      Effect.ensuring(
        unlessOver,
        Effect.sync(() => this.#goOn()),
      ),
    )
  }

  #goOn(): void {
    this.#waits--
    while (this.#waits === 0) {
      const next = this.#waiting.shift()
      if (next === undefined) break
      this.#read(next)
    }
    this.resume()
  }
}
