/**
 * The end of an admitted exchange: review, settlement or release, idempotency record, last event. These steps happen
 * however the exchange ends.
 */
import { Clock, Effect } from "effect"
import type { Snapshot } from "../admission/gate.ts"
import type { Hold } from "../money/ledger.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { WarnEvent } from "../protocol/event.ts"
import type { Stop } from "../protocol/exchange.ts"
import type { EstimatedReason, Usage } from "../protocol/usage.ts"
import { contentBlocked, type Denial } from "../review/review.ts"
import { textOfReply } from "../review/texts.ts"
import { type StoreUnavailable, toServiceError } from "../store/unavailable.ts"
import { recordOutcome, recordUsageEstimate } from "../telemetry/metrics.ts"
import { spanned } from "../telemetry/tracing.ts"
import type { ActorServices, Admitted, PlannedConversation } from "./admitted.ts"
import { type Estimated, isImplausible, needsEstimate } from "./bill.ts"
import { type Due, dueOf } from "./due.ts"
import { type BrokenReason, brokenBy, type Ending, emptyReply, errorOf } from "./ending.ts"
import type { Leased } from "./leases.ts"
import { completedReply, usageOf, withheldReply } from "./replies.ts"
import { silence } from "./silence.ts"
import { countExchange } from "./tokenizer.ts"

/** Larger replies are not stored for replay. */
const maxSnapshotBytes = 256 * 1024

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
      const { bill, charge, settlement } = due
      const settled = yield* spanned("settle")(this.#admitted.services.settler.settle(settlement))
      if (settled._tag === "Deferred") this.#warn(settlementDeferred)
      const left = settled._tag === "Settled" ? settled.balance : hold.balance - charge.cost
      const usage = usageOf(bill, charge, left, plan.price.currency)
      if (error !== undefined) return yield* this.#breakOff(usage, error)
      return denial === undefined ? yield* this.#conclude(usage) : yield* this.#withhold(usage, denial)
    }.bind(this),
  )

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

  /** A normal end: the snapshot is stored before the client gets the reply. */
  #conclude(usage: Usage): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const link = this.#admitted.link
      recordOutcome(this.#admitted.services.context, this.#stop, this.#admitted.request.model)
      if (this.#admitted.request.stream === true) {
        yield* this.#complete(undefined)
        link.write(link.events.usage(usage) + link.events.close({ stop: this.#stop, usage }))
        return link.queue.end()
      }
      const snapshot = completedReply({
        requestId: this.#admitted.call.requestId,
        request: this.#admitted.request,
        blocks: this.#admitted.tally.blocks(),
        stop: this.#stop,
        usage,
        warnings: this.#admitted.warnings,
      })
      yield* this.#complete(Buffer.byteLength(snapshot.body) > maxSnapshotBytes ? undefined : snapshot)
      link.answer({ _tag: "Json", ...snapshot })
    })
  }

  /** A normal end whose reply is withheld: the client gets the error with the usage, also on replay. */
  #withhold(usage: Usage, denial: Denial): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      recordOutcome(this.#admitted.services.context, "content_blocked", this.#admitted.request.model)
      const snapshot = withheldReply(this.#admitted.call.requestId, contentBlocked(denial), usage)
      yield* this.#complete(snapshot)
      this.#admitted.link.answer({ _tag: "Json", ...snapshot })
    })
  }

  /** A failure that is billed: the request id is spent, and there is nothing to replay. */
  #breakOff(usage: Usage, error: ServiceError): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      yield* this.#complete(undefined)
      if (this.#admitted.link.isStreaming) this.#admitted.link.write(this.#admitted.link.events.usage(usage))
      this.#refuse(error)
    })
  }

  #complete(snapshot: Snapshot | undefined): Effect.Effect<void> {
    if (this.#admitted.registration === undefined) return Effect.void
    return Effect.catch(
      this.#admitted.services.gate.complete(
        this.#admitted.registration,
        this.#admitted.registration.payloadHash,
        snapshot,
      ),
      // Without this record, the ledger refuses a repeated request id.
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
