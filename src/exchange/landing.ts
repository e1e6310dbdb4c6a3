/**
 * The end of an admitted exchange: review, settlement or release, idempotency record, last event. These steps happen
 * however the exchange ends.
 */
import { Clock, Effect } from "effect"
import { type Amount, formatAmount } from "../money/amount.ts"
import type { Hold } from "../money/ledger.ts"
import type { Settlement } from "../money/settlement.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { WarnEvent } from "../protocol/event.ts"
import type { Stop } from "../protocol/exchange.ts"
import type { EstimatedReason } from "../protocol/usage.ts"
import { contentBlocked, type Denial } from "../review/review.ts"
import { textOfReply } from "../review/texts.ts"
import { type StoreUnavailable, toServiceError } from "../store/unavailable.ts"
import { recordOutcome, recordUsageEstimate } from "../telemetry/metrics.ts"
import { spanned } from "../telemetry/tracing.ts"
import type { ActorServices, Admitted, PlannedConversation } from "./admitted.ts"
import { type Estimated, isImplausible, needsEstimate } from "./bill.ts"
import { type Due, dueOf } from "./due.ts"
import { type BrokenReason, brokenBy, type Ending, emptyReply, errorOf } from "./ending.ts"
import { isKeepable, sealReply } from "./kept-reply.ts"
import type { Leased } from "./leases.ts"
import { completedReply, type FinishedReply, replyWith, type SettledUsage, usageOf, withheldReply } from "./replies.ts"
import { silence } from "./silence.ts"
import { countExchange } from "./tokenizer.ts"

const settlementDeferred: WarnEvent = {
  code: "settlement_deferred",
  message: "The settlement is stored and will be retried; the balance is this gateway's estimate",
}

export class Landing {
  readonly #admitted: Admitted

  constructor(admitted: Admitted) {
    this.#admitted = admitted
  }

  /** Settles or releases, then answers. */
  readonly land = Effect.fnUntraced(
    function* (this: Landing, conversation: PlannedConversation, hold: Hold, ending: Ending): Effect.fn.Return<void> {
      const { plan } = conversation
      const error = errorOf(ending)
      const { request, services, tally } = this.#admitted
      const estimated = needsEstimate(tally, plan.usageLimits)
        ? yield* countExchange(services.tokenizer, request, tally)
        : undefined
      const stop = error === undefined ? this.#stop : "interrupted"
      const due = this.#due(conversation, hold, brokenBy(ending), stop, estimated)
      if (due === undefined) return yield* this.#abandon(hold, error ?? emptyReply())
      if (due.bill.estimatedReason !== undefined) yield* this.#reportEstimate(conversation, due.bill.estimatedReason)
      const denial = yield* this.#reviewOutbound(error === undefined)
      const usage = usageOf(due.bill, due.charge, plan.price.currency)
      const finish = () => (error === undefined ? this.#finish(usage, denial) : undefined)
      let finished = finish()
      // Told while the database does not answer; the settlement that comes late keeps the same reply.
      const estimate = hold.balance - due.charge.cost
      const settled = yield* spanned("settle")(
        services.settler.settle(this.#keeping(due.settlement, finished), () => {
          this.#warn(settlementDeferred)
          finished = finish()
          return this.#keeping(due.settlement, finished, estimate)
        }),
      )
      const balance = settled._tag === "Settled" ? settled.balance : estimate
      yield* this.#complete(finished !== undefined && isKeepable(finished))
      return error === undefined
        ? this.#conclude(usage, balance, finished, denial)
        : this.#breakOff(usage, balance, error)
    }.bind(this),
  )

  /** The reply of a normal end, complete but for the balance; undefined for a stream. */
  #finish(usage: SettledUsage, denial: Denial | undefined): FinishedReply | undefined {
    const { call, request, tally, warnings } = this.#admitted
    const { requestId } = call
    if (request.stream === true) return undefined
    // The client gets the error with the usage, also on replay.
    if (denial !== undefined) return withheldReply(requestId, contentBlocked(denial), usage)
    return completedReply({ requestId, request, blocks: tally.blocks(), stop: this.#stop, usage, warnings })
  }

  /** A settlement that keeps the reply, if it is the reply to a request id. */
  #keeping(settlement: Settlement, finished: FinishedReply | undefined, told?: Amount): Settlement {
    const { registration, services, call } = this.#admitted
    if (registration === undefined || finished === undefined || !isKeepable(finished)) return settlement
    const keptFor = { owner: registration.owner, ref: call.requestId }
    return {
      ...settlement,
      reply: { sealed: sealReply(services.sealer, keptFor, registration.payloadHash, finished), told },
    }
  }

  /** Counts an estimated bill; a report that cannot be true is logged with its figures. */
  #reportEstimate({ plan, target }: PlannedConversation, reason: EstimatedReason): Effect.Effect<void> {
    const { services, tally } = this.#admitted
    const vendor = target?.vendor.id ?? ""
    recordUsageEstimate(services.context, reason, vendor, target?.model ?? "")
    if (!isImplausible(tally, plan.usageLimits)) return Effect.void
    return Effect.logWarning("A vendor reported usage that cannot be true; it was estimated", {
      vendor,
      model: target?.model,
      reported: tally.usage,
      limits: plan.usageLimits,
    })
  }

  /** A whole reply is reviewed before it is sent; a stream has been sent already and is sampled. */
  #reviewOutbound(isGood: boolean): Effect.Effect<Denial | undefined> {
    const { review } = this.#admitted.services
    const policies = this.#admitted.call.caller.policies.outbound
    if (this.#admitted.request.stream === true)
      return Effect.as(
        review.sample(policies, () => this.#admitted.tally.keptText()),
        undefined,
      )
    return isGood ? review.judge(policies, () => textOfReply(this.#admitted.tally.blocks())) : Effect.undefined
  }

  /** The settlement of the exchange at this moment. */
  #due(
    { plan, target, took }: PlannedConversation,
    hold: Hold,
    broken: BrokenReason | undefined,
    stop: Stop,
    estimated?: Estimated,
  ): Due | undefined {
    const seen = this.#admitted.tally
    return dueOf({
      call: this.#admitted.call,
      hold,
      atMs: this.#admitted.link.nowMs(),
      request: this.#admitted.request,
      plan,
      target,
      took,
      seen,
      broken,
      stop,
      estimated,
    })
  }

  /** The data that another node needs if this one dies. */
  leased(conversation: PlannedConversation, hold: Hold): Leased {
    return {
      registration: this.#admitted.registration,
      checkpoint: () => ({
        hold,
        due: this.#due(conversation, hold, "gateway_lost", "interrupted")?.settlement,
      }),
    }
  }

  /** A warning after the stream has started, or for the header of a whole reply. */
  #warn(warning: WarnEvent): void {
    this.#admitted.warnings.push(warning)
    if (this.#admitted.link.isStreaming) this.#admitted.link.write(this.#admitted.link.events.warn(warning))
  }

  get #stop(): Stop {
    return this.#admitted.tally.stop ?? "end"
  }

  /** Nothing is billed: releases the hold and the idempotency key. */
  #abandon(hold: Hold, error: ServiceError): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      yield* this.#admitted.services.settler.release(hold)
      yield* this.fail(error)
    })
  }

  /** A failure before anything was billed. */
  fail(error: ServiceError | StoreUnavailable): Effect.Effect<void> {
    const withdraw =
      this.#admitted.registration === undefined
        ? Effect.void
        : Effect.catch(this.#admitted.services.gate.withdraw(this.#admitted.registration), (cause) =>
            Effect.logWarning("An idempotency key could not be released", cause),
          )
    return Effect.andThen(
      withdraw,
      Effect.sync(() => this.#refuse(toServiceError(error))),
    )
  }

  #conclude(
    usage: SettledUsage,
    balance: Amount,
    finished: FinishedReply | undefined,
    denial: Denial | undefined,
  ): void {
    const { link, services, request } = this.#admitted
    recordOutcome(services.context, denial === undefined ? this.#stop : "content_blocked", request.model)
    if (finished !== undefined) {
      link.answer(replyWith(finished, balance))
      return
    }
    const told = { ...usage, balance: formatAmount(balance) }
    link.write(link.events.usage(told) + link.events.close({ stop: this.#stop, usage: told }))
    link.queue.end()
  }

  /** A failure that is billed: the request id is spent, and there is nothing to replay. */
  #breakOff(usage: SettledUsage, balance: Amount, error: ServiceError): void {
    const { link } = this.#admitted
    if (link.isStreaming) link.write(link.events.usage({ ...usage, balance: formatAmount(balance) }))
    this.#refuse(error)
  }

  #complete(isReplayable: boolean): Effect.Effect<void> {
    const { registration, services } = this.#admitted
    if (registration === undefined) return Effect.void
    return Effect.catch(
      services.gate.complete(registration, registration.payloadHash, isReplayable),
      // Without this record, the books answer for a repeated request id.
      (cause) => Effect.logWarning("An idempotency record could not be completed", cause),
    )
  }

  #refuse(error: ServiceError): void {
    recordOutcome(
      this.#admitted.services.context,
      error.code,
      modelLabel(this.#admitted.services, this.#admitted.request.model),
    )
    this.#admitted.link.refuse(error, this.#admitted.call.requestId)
  }

  /** Waits until the client has received the last event; a client that accepts no bytes is disconnected. */
  linger(): Effect.Effect<void> {
    const { queue, cut, gone, isStreaming } = this.#admitted.link
    if (!isStreaming) return Effect.void
    const stalled = Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
      silence(() => Math.max(queue.stalledSinceMs, nowMs), this.#admitted.services.config.streamStallMs),
    )
    return Effect.raceAllFirst([gone, queue.drained, Effect.andThen(stalled, Effect.sync(cut))])
  }
}

/** Handles come from callers: only known ones may become label values. */
const modelLabel = ({ catalogue }: ActorServices, handle: string): string =>
  catalogue.current().model(handle) === undefined ? "unknown" : handle
