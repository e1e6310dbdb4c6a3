/**
 * An admitted exchange on its way: plan → hold → vendor → settle → idempotency record → last event. Whatever is
 * reserved is settled or given back here, however the exchange ends.
 */
import { Clock, type Context, Effect } from "effect"
import type { Gate, Registration, Snapshot } from "../admission/gate.ts"
import type { Catalogue } from "../catalogue/catalogue.ts"
import type { ModelTarget } from "../catalogue/snapshot.ts"
import type { WeirConfig } from "../config.ts"
import type { Amount } from "../money/amount.ts"
import type { Ledger } from "../money/ledger.ts"
import type { Settler } from "../money/settler.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { protocolLabel, type WarnEvent } from "../protocol/event.ts"
import type { ExchangeRequest, Stop } from "../protocol/exchange.ts"
import type { Usage } from "../protocol/usage.ts"
import type { Denial, Review } from "../review/review.ts"
import { textOfReply, textOfRequest } from "../review/texts.ts"
import { type StoreUnavailable, toServiceError } from "../store/unavailable.ts"
import { recordOutcome } from "../telemetry.ts"
import type { VendorClient } from "../vendor/client.ts"
import type { TargetHealth } from "../vendor/health.ts"
import { orderTargets } from "../vendor/pool.ts"
import type { UpstreamKey, UpstreamKeys } from "../vendor/upstream-keys.ts"
import { type Estimated, needsEstimate } from "./bill.ts"
import type { ClientLink } from "./client-link.ts"
import { type Conversation, converse } from "./conversation.ts"
import { type Due, dueOf, type ExchangeCall } from "./due.ts"
import { type BrokenReason, brokenBy, ClientGone, type Ending, emptyReply, errorOf } from "./ending.ts"
import type { Leased } from "./leases.ts"
import { makePlan, type Plan } from "./plan.ts"
import { completedReply, usageOf, withheldReply } from "./replies.ts"
import { silence } from "./silence.ts"
import { Tally } from "./tally.ts"
import { resolveTimeouts, type Timeouts, withinTier } from "./tiers.ts"
import { countExchange } from "./tokenizer.ts"

export interface ActorServices {
  readonly config: WeirConfig["Service"]
  readonly catalogue: Catalogue["Service"]
  readonly gate: Gate["Service"]
  readonly ledger: Ledger["Service"]
  readonly settler: Settler["Service"]
  readonly client: VendorClient["Service"]
  readonly health: TargetHealth["Service"]
  readonly review: Review["Service"]
  readonly upstreamKeys: UpstreamKeys["Service"]
  /** Exchanges that hold something; their leases are renewed. */
  readonly leased: Set<Leased>
  /** For metrics, which are counted outside effects. */
  readonly context: Context.Context<never>
}

export interface RegisteredExchange extends Registration {
  readonly payloadHash: string
}

/** Results larger than this are not kept for replay. */
const maxSnapshotBytes = 256 * 1024

const settlementDeferred: WarnEvent = {
  code: "settlement_deferred",
  message: "The settlement is kept and lands later; the balance is as this gateway knows it",
}

interface PlannedConversation extends Conversation {
  readonly plan: Plan
}

/** An admitted exchange on its way. */
export class Flight {
  readonly #services: ActorServices
  readonly #call: ExchangeCall
  readonly #link: ClientLink
  readonly #request: ExchangeRequest
  readonly #registration: RegisteredExchange | undefined
  readonly #tally: Tally
  readonly #warnings: Array<WarnEvent> = []

  constructor(
    services: ActorServices,
    call: ExchangeCall,
    link: ClientLink,
    request: ExchangeRequest,
    registration: RegisteredExchange | undefined,
  ) {
    this.#services = services
    this.#call = call
    this.#link = link
    this.#request = request
    this.#registration = registration
    this.#tally = new Tally({ keepsBlocks: request.stream !== true })
  }

  run(): Effect.Effect<void> {
    const flight = Effect.catch(this.#fly(), (error) => this.#fail(error))
    return this.#request.stream === true ? Effect.raceFirst(flight, this.#heartbeats()) : flight
  }

  /** Everything up to a hold has nothing to give back but the idempotency key. */
  readonly #fly = Effect.fnUntraced(
    function* (this: Flight): Effect.fn.Return<void, ServiceError | StoreUnavailable> {
      const plan = yield* this.#plan()
      this.#warnings.push(...plan.warnings)
      const { caller, requestId } = this.#call
      yield* this.#reviewInbound()
      const targets = this.#targets(plan)
      const holdAmount = targets.every(({ isOwn }) => isOwn) ? 0n : plan.holdAmount
      yield* Effect.uninterruptibleMask((restore) =>
        Effect.gen({ self: this }, function* () {
          const balance = yield* this.#services.ledger.hold({
            ref: requestId,
            orgId: caller.org.id,
            currency: plan.price.currency,
            keyId: caller.keyId,
            requestId: this.#registration?.requestId ?? requestId,
            amount: holdAmount,
            leaseMs: this.#services.config.leaseMs,
            quota: { tokens: plan.promptTokens + plan.vendorRequest.maxTokens, limit: caller.plan?.dailyTokens },
          })
          const conversation = this.#conversation(plan, targets)
          const leased = this.#leased(conversation)
          this.#services.leased.add(leased)
          const ending = yield* Effect.exit(restore(this.#converse(conversation)))
          const forget = Effect.sync(() => this.#services.leased.delete(leased))
          yield* Effect.ensuring(this.#land(conversation, balance + holdAmount, ending), forget)
          yield* restore(this.#linger())
        }),
      )
    }.bind(this),
  )

  #plan(): Effect.Effect<Plan, ServiceError> {
    return Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
      Effect.fromResult(makePlan(this.#request, this.#call.caller, this.#services.catalogue.current(), nowMs)),
    )
  }

  /** A denial comes before anything is held: nothing is billed. */
  #reviewInbound(): Effect.Effect<void, ServiceError<"content_blocked">> {
    return Effect.flatMap(
      this.#services.review.judge(this.#call.caller.policies.inbound, () => textOfRequest(this.#request)),
      (denial) => (denial === undefined ? Effect.void : Effect.fail(contentBlocked(denial))),
    )
  }

  /** A whole reply is reviewed before anybody has it; a stream has been had, and is sampled for the record. */
  #reviewOutbound(isGood: boolean): Effect.Effect<Denial | undefined> {
    const { review } = this.#services
    const policies = this.#call.caller.policies.outbound
    if (this.#request.stream === true)
      return Effect.as(
        review.sample(policies, () => this.#tally.keptText()),
        undefined,
      )
    return isGood ? review.judge(policies, () => textOfReply(this.#tally.blocks())) : Effect.undefined
  }

  /** In the order in which they are tried; where the organisation brings a key of its own, with that. */
  #targets({ entry, vendorRequest }: Plan): ReadonlyArray<ModelTarget> {
    const { id } = this.#call.caller.org
    const own = this.#services.upstreamKeys.of(id)
    const targets = own === undefined ? entry.targets : entry.targets.map((target) => withOwnKey(target, id, own))
    return orderTargets(targets, vendorRequest.cache.key)
  }

  #conversation(plan: Plan, targets: ReadonlyArray<ModelTarget>): PlannedConversation {
    return {
      client: this.#services.client,
      health: this.#services.health,
      targets,
      services: this.#services.context,
      plan,
      vendorRequest: plan.vendorRequest,
      link: this.#link,
      tally: this.#tally,
      maxReplyBytes: this.#services.config.upstreamMaxBytes,
      timeoutsOf: (target) => this.#timeouts(plan, target),
      opening: () => this.#opening() + this.#warnings.map((warning) => this.#link.events.warn(warning)).join(""),
      warnings: this.#warnings,
      target: undefined,
      opened: false,
    }
  }

  #timeouts(plan: Plan, target: ModelTarget): Timeouts {
    const { config, catalogue } = this.#services
    return resolveTimeouts({
      profile: catalogue.current().timeouts(config.env),
      variables: config.upstreamTimeouts,
      vendor: target.vendor.timeouts,
      model: plan.entry.model.timeouts,
    })
  }

  #opening(): string {
    const { requestId: clientRequestId, sessionId } = this.#request.meta ?? {}
    return this.#link.events.open({
      requestId: this.#call.requestId,
      ...(clientRequestId !== undefined && { clientRequestId }),
      model: this.#request.model,
      protocol: protocolLabel,
      ...(sessionId !== undefined && { sessionId }),
    })
  }

  #converse(conversation: Conversation) {
    const [first] = conversation.targets
    const bounded =
      first === undefined
        ? converse(conversation)
        : withinTier("total", conversation.timeoutsOf(first))(converse(conversation))
    const racers = [this.#clientGone(conversation), bounded] as const
    return this.#request.stream === true
      ? Effect.raceAllFirst([...racers, this.#stalled()])
      : Effect.raceAllFirst(racers)
  }

  /**
   * Fails when the client has left: at once, or, where the vendor has already said why it stopped or the catalogue
   * says `clientGone: drain`, when its usage has not come within a bound.
   */
  #clientGone(conversation: Conversation): Effect.Effect<never, ClientGone> {
    return this.#link.gone.pipe(
      Effect.andThen(
        Effect.suspend(() => {
          const drains = this.#tally.stop !== undefined || conversation.target?.vendor.clientGone === "drain"
          return drains ? Effect.sleep(this.#services.config.drainGoneMs) : Effect.void
        }),
      ),
      Effect.flatMap(() => Effect.fail(new ClientGone())),
    )
  }

  #stalled(): Effect.Effect<never, ServiceError<"stream_backpressure">> {
    const { queue } = this.#link
    return Effect.flatMap(
      silence(() => queue.stalledSinceMs, this.#services.config.streamStallMs),
      () => Effect.fail(serviceError("stream_backpressure", "The client takes nothing of what is waiting for it")),
    )
  }

  #heartbeats(): Effect.Effect<never> {
    const beat = Effect.andThen(
      silence(() => this.#link.wroteAtMs, this.#services.config.streamHeartbeatMs),
      Effect.sync(() => this.#link.beat()),
    )
    return Effect.forever(beat)
  }

  /** Settles or releases, then says the last word. @param balance what there was before the hold */
  readonly #land = Effect.fnUntraced(
    function* (
      this: Flight,
      conversation: PlannedConversation,
      balance: Amount,
      ending: Ending,
    ): Effect.fn.Return<void> {
      const { plan } = conversation
      const error = errorOf(ending)
      const estimated = needsEstimate(this.#tally) ? yield* countExchange(this.#request, this.#tally) : undefined
      const stop = error === undefined ? this.#stop : "interrupted"
      const due = this.#due(conversation, brokenBy(ending), stop, estimated)
      if (due === undefined) return yield* this.#abandon(error ?? emptyReply())
      const denial = yield* this.#reviewOutbound(error === undefined)
      const { bill, charge, settlement } = due
      const settled = yield* this.#services.settler.settle(settlement)
      if (settled._tag === "Deferred") this.#warn(settlementDeferred)
      const left = settled._tag === "Landed" ? settled.balance : balance - charge.cost
      const usage = usageOf(bill, charge, left, plan.price.currency)
      if (error !== undefined) return yield* this.#breakOff(usage, error)
      return denial === undefined ? yield* this.#conclude(usage) : yield* this.#withhold(usage, denial)
    }.bind(this),
  )

  /** What the exchange owes as far as it has come. */
  #due(
    { plan, target }: PlannedConversation,
    broken: BrokenReason | undefined,
    stop: Stop,
    estimated?: Estimated,
  ): Due | undefined {
    const seen = this.#tally
    return dueOf({ call: this.#call, request: this.#request, plan, target, seen, broken, stop, estimated })
  }

  /** What another node needs, should this one die. */
  #leased(conversation: PlannedConversation): Leased {
    return {
      registration: this.#registration,
      checkpoint: () => ({
        ref: this.#call.requestId,
        settlement: this.#due(conversation, "gateway_lost", "interrupted")?.settlement,
      }),
    }
  }

  /** A warning that comes after the stream has opened, or goes into the header of a whole reply. */
  #warn(warning: WarnEvent): void {
    this.#warnings.push(warning)
    if (this.#link.isStreaming) this.#link.write(this.#link.events.warn(warning))
  }

  get #stop(): Stop {
    return this.#tally.stop ?? "end"
  }

  /** Nothing is billed: the hold is given back and the idempotency key is free again. */
  readonly #abandon = Effect.fnUntraced(
    function* (this: Flight, error: ServiceError): Effect.fn.Return<void> {
      yield* this.#services.settler.release(this.#call.requestId)
      yield* this.#fail(error)
    }.bind(this),
  )

  /** A failure before anything was billed. */
  #fail(error: ServiceError | StoreUnavailable): Effect.Effect<void> {
    const withdraw =
      this.#registration === undefined
        ? Effect.void
        : Effect.catch(this.#services.gate.withdraw(this.#registration), (cause) =>
            Effect.logWarning("An idempotency key could not be freed", cause),
          )
    return Effect.andThen(
      withdraw,
      Effect.sync(() => this.#refuse(toServiceError(error))),
    )
  }

  /** A good end: the snapshot is kept before the client hears of it. */
  readonly #conclude = Effect.fnUntraced(
    function* (this: Flight, usage: Usage): Effect.fn.Return<void> {
      const link = this.#link
      recordOutcome(this.#services.context, this.#stop, this.#request.model)
      if (this.#request.stream === true) {
        yield* this.#complete(undefined)
        link.write(link.events.usage(usage) + link.events.close({ stop: this.#stop, usage }))
        return link.queue.end()
      }
      const snapshot = completedReply({
        requestId: this.#call.requestId,
        request: this.#request,
        blocks: this.#tally.blocks(),
        stop: this.#stop,
        usage,
        warnings: this.#warnings,
      })
      yield* this.#complete(Buffer.byteLength(snapshot.body) > maxSnapshotBytes ? undefined : snapshot)
      link.answer({ _tag: "Json", ...snapshot })
    }.bind(this),
  )

  /** A good end that the client may not see: what it cost is told, and the same is told again to whoever asks again. */
  readonly #withhold = Effect.fnUntraced(
    function* (this: Flight, usage: Usage, denial: Denial): Effect.fn.Return<void> {
      recordOutcome(this.#services.context, "content_blocked", this.#request.model)
      const snapshot = withheldReply(this.#call.requestId, contentBlocked(denial), usage)
      yield* this.#complete(snapshot)
      this.#link.answer({ _tag: "Json", ...snapshot })
    }.bind(this),
  )

  /** A bad end that is billed: the key is spent, and there is nothing to replay. */
  readonly #breakOff = Effect.fnUntraced(
    function* (this: Flight, usage: Usage, error: ServiceError): Effect.fn.Return<void> {
      yield* this.#complete(undefined)
      if (this.#link.isStreaming) this.#link.write(this.#link.events.usage(usage))
      this.#refuse(error)
    }.bind(this),
  )

  #complete(snapshot: Snapshot | undefined): Effect.Effect<void> {
    if (this.#registration === undefined) return Effect.void
    return Effect.catch(
      this.#services.gate.complete(this.#registration, this.#registration.payloadHash, snapshot),
      // The ledger refuses a second flight where this record is missing.
      (cause) => Effect.logWarning("An idempotency record could not be completed", cause),
    )
  }

  #refuse(error: ServiceError): void {
    recordOutcome(this.#services.context, error.code, modelLabel(this.#services, this.#request.model))
    this.#link.refuse(error, this.#call.requestId)
  }

  /** Waits until the client has had the last event; one that takes nothing from now on is cut off. */
  #linger(): Effect.Effect<void> {
    const { queue, cut, gone, isStreaming } = this.#link
    if (!isStreaming) return Effect.void
    const stalled = Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
      silence(() => Math.max(queue.stalledSinceMs, nowMs), this.#services.config.streamStallMs),
    )
    return Effect.raceAllFirst([gone, queue.drained, Effect.andThen(stalled, Effect.sync(cut))])
  }
}

const withOwnKey = (target: ModelTarget, orgId: string, keys: ReadonlyMap<string, UpstreamKey>): ModelTarget => {
  const own = keys.get(target.vendor.id)
  if (own === undefined) return target
  const isGuarded = own.baseUrl !== undefined
  const vendor = isGuarded ? { ...target.vendor, baseUrl: own.baseUrl } : target.vendor
  return { ...target, vendor, credential: own.key, isOwn: true, isGuarded, key: `${orgId}:${target.key}` }
}

const contentBlocked = ({ reason }: Denial): ServiceError<"content_blocked"> =>
  serviceError("content_blocked", "A safety policy does not let this pass", { detail: { reason } })

/** Handles come from callers: only known ones may become label values. */
const modelLabel = ({ catalogue }: ActorServices, handle: string): string =>
  catalogue.current().model(handle) === undefined ? "unknown" : handle
