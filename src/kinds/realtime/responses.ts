/**
 * The responses of a session: each is admitted and held before it begins, whether its client asks for it or the vendor begins
 * it without a request, and is settled when it ends.
 */
import { Effect } from "effect"
import { isAuthorised, modelNotAuthorised } from "../../calls/model.ts"
import type { VendorEvent } from "../../dialects/realtime-dialect.ts"
import { closing } from "../../protocol/closing-code.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { type StoreUnavailable, toServiceError } from "../../store/unavailable.ts"
import { logCause } from "../../telemetry/logs.ts"
import type { Job } from "./mailbox.ts"
import { responseLimits } from "./session-limits.ts"
import type { SessionParts } from "./session-parts.ts"

export class Responses {
  readonly #parts: SessionParts
  /** The reason why no hold could be made for the next response; it is tried again when the client asks for one. */
  #short: ServiceError | undefined
  /** Responses that were asked for since the last one began. */
  #askedSince = 0

  constructor(parts: SessionParts) {
    this.#parts = parts
  }

  /** Whether the last hold could not be made. */
  get isShort(): boolean {
    return this.#short !== undefined
  }

  /** Admits and holds the response that the client asks for. @param begin asks the vendor for it */
  ask(maxOutTokens: number | undefined, eventId: string | undefined, begin: () => void): Job {
    return Effect.matchEffect(this.#admitted, {
      onSuccess: () =>
        this.whenCovered(() => {
          this.#parts.money.promised++
          this.#askedSince++
          begin()
        }, maxOutTokens),
      onFailure: (error) => Effect.sync(() => this.#notAdmitted(error, eventId)),
    })
  }

  /** Goes on if the next response is covered; if not, the session ends. */
  whenCovered(goOn: () => void, maxOutTokens?: number): Job {
    return Effect.match(this.#parts.money.cover(maxOutTokens), {
      onSuccess: () => {
        this.#short = undefined
        goOn()
      },
      onFailure: (error) => this.#endShort(error),
    })
  }

  /** The vendor has begun a response. One that nobody asked for is admitted and held now. */
  begun(responseId: string): void {
    const { money, mailbox, options, sockets } = this.#parts
    const wasAskedFor = money.promised > 0
    this.#askedSince = 0
    const isHeld = money.begin(responseId)
    if (wasAskedFor && isHeld) return
    const cancel = () => sockets.toVendor(options.protocol.cancel(responseId))
    const orCancel = <E>(step: Effect.Effect<unknown, E>, refused: (error: E) => void): Job =>
      Effect.match(step, {
        onSuccess: () => undefined,
        onFailure: (error) => {
          cancel()
          refused(error)
        },
      })
    if (!wasAskedFor) mailbox.add(orCancel(this.#admitted, (error) => this.#notAdmitted(error)))
    if (!isHeld) mailbox.add(orCancel(money.cover(), (error) => this.#endShort(error)))
  }

  /** The vendor has refused the last request: that response does not begin. */
  refused(): void {
    const { money } = this.#parts
    money.promised = Math.max(0, money.promised - 1)
    this.endIfDrained()
  }

  /** Settles a response, and holds for the next. */
  ended(event: Extract<VendorEvent, { readonly is: "done" }>): void {
    const { money, options } = this.#parts
    if (options.protocol.joinsRequests) money.promised = Math.min(money.promised, this.#askedSince)
    // Its hold may be made by the job before.
    const settled = Effect.suspend(() => money.settle(event.responseId, event))
    this.#parts.mailbox.add(Effect.map(Effect.andThen(settled, this.#covered()), () => this.endIfDrained()))
  }

  /** Settles transcripts, if more of them wait than the next response is held for. */
  transcribed(): void {
    const { money, mailbox } = this.#parts
    if (money.owesTranscripts) mailbox.add(Effect.andThen(money.settleTranscripts(), this.#covered()))
  }

  /** Ends a session that drains, if nothing runs. */
  endIfDrained(): void {
    const { money, mailbox } = this.#parts
    if (mailbox.isDraining && money.isIdle) mailbox.end({ reason: "gateway_lost", code: closing.restart })
  }

  /** Each response counts in the caller's rates. */
  get #admitted() {
    const { services, again, plan } = this.#parts.options
    return Effect.flatMap(
      again,
      (caller): Effect.Effect<unknown, ServiceError | StoreUnavailable> =>
        isAuthorised(plan.handle, caller, services.catalogue.current())
          ? services.gate.admit({ ...responseLimits(caller, plan), keyId: caller.keyId })
          : modelNotAuthorised,
    )
  }

  /** A revoked caller loses its session; one that only exceeds a rate does not. */
  #notAdmitted(error: ServiceError | StoreUnavailable, eventId?: string): void {
    const known = toServiceError(error)
    const mayTryAgain = known.code === "rate_limited" || known.code === "internal_error"
    if (mayTryAgain) this.#parts.own.later(known, eventId)
    else this.#endShort(known)
  }

  #endShort(error: ServiceError | StoreUnavailable): void {
    this.#parts.mailbox.end({ reason: "client_disconnected", code: closing.policy, error: toServiceError(error) })
  }

  /** Holds for the next response; a failure is reported when that response is asked for. */
  #covered(): Job {
    const { money, mailbox, options } = this.#parts
    const next = Effect.suspend(
      (): Effect.Effect<void, ServiceError | StoreUnavailable> =>
        mailbox.isDraining || mailbox.ending !== undefined ? Effect.void : money.cover(),
    )
    return Effect.catch(next, (error) =>
      Effect.map(logCause(toServiceError(error), options.requestId), () => {
        this.#short = toServiceError(error)
      }),
    )
  }
}
