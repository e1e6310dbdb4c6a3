/**
 * An admitted exchange: plan → review → hold → vendor, then its end (`landing.ts`), which settles or releases
 * everything that was reserved, however the exchange ends.
 */
import { Clock, Effect } from "effect"
import type { ModelTarget } from "../catalogue/snapshot.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { protocolLabel } from "../protocol/event.ts"
import { defaultTimeouts, resolveTimeouts, type Timeouts } from "../protocol/timeout-tiers.ts"
import { contentBlocked } from "../review/review.ts"
import { textOfRequest } from "../review/texts.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { spanned } from "../telemetry/tracing.ts"
import { orderTargets } from "../upstream/pool.ts"
import type { UpstreamKey } from "../upstream/upstream-keys.ts"
import type { Admitted, PlannedConversation } from "./admitted.ts"
import { type Conversation, type ConversationWatch, converse, countTimeout } from "./conversation.ts"
import { ClientGone } from "./ending.ts"
import { Landing } from "./landing.ts"
import { makePlan, type Plan } from "./plan.ts"
import { replayForgotten } from "./replay.ts"
import { totalClock } from "./tiers.ts"
import { Watch } from "./watch.ts"

/** An admitted exchange. */
export class Flight {
  readonly #admitted: Admitted
  readonly #landing: Landing

  constructor(admitted: Admitted) {
    this.#admitted = admitted
    this.#landing = new Landing(admitted)
  }

  /** @param mayBeForgotten whether only the books know if the request id was used before */
  run(mayBeForgotten: boolean): Effect.Effect<void> {
    const run = mayBeForgotten ? this.#replayOrFly() : this.#fly()
    return Effect.catch(run, (error) => this.#landing.fail(error))
  }

  #replayOrFly(): Effect.Effect<void, ServiceError | StoreUnavailable> {
    const { services, registration, link } = this.#admitted
    if (registration === undefined) return this.#fly()
    return Effect.flatMap(replayForgotten(services, registration), (reply) =>
      reply === undefined ? this.#fly() : Effect.sync(() => link.answer(reply)),
    )
  }

  /** Before the hold, only the idempotency key must be released on failure. */
  #fly(): Effect.Effect<void, ServiceError | StoreUnavailable> {
    return Effect.gen({ self: this }, function* () {
      const plan = yield* this.#plan()
      this.#admitted.warnings.push(...plan.warnings)
      const { caller, requestId } = this.#admitted.call
      yield* this.#reviewInbound()
      const targets = this.#targets(plan)
      const holdAmount = targets.every(({ isOwn }) => isOwn) ? 0n : plan.holdAmount
      yield* Effect.uninterruptibleMask((restore) =>
        Effect.gen({ self: this }, function* () {
          const reserve = this.#admitted.services.ledger.hold({
            ref: requestId,
            orgId: caller.org.id,
            currency: plan.price.currency,
            keyId: caller.keyId,
            requestId: this.#admitted.registration?.requestId,
            amount: holdAmount,
            quota: { tokens: plan.promptTokens + plan.vendorRequest.maxTokens, limit: caller.plan?.dailyTokens },
          })
          const hold = yield* spanned("hold")(reserve)
          this.#admitted.call.waiting.held()
          const conversation = this.#conversation(plan, targets)
          const leased = this.#landing.leased(conversation, hold)
          this.#admitted.services.leased.add(leased)
          const ending = yield* Effect.exit(restore(this.#converse(conversation)))
          const forget = Effect.sync(() => this.#admitted.services.leased.delete(leased))
          yield* Effect.ensuring(this.#landing.land(conversation, hold, ending), forget)
          yield* restore(this.#landing.linger())
        }),
      )
    })
  }

  #plan(): Effect.Effect<Plan, ServiceError> {
    return Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
      Effect.fromResult(
        makePlan(
          this.#admitted.request,
          this.#admitted.call.caller,
          this.#admitted.services.catalogue.current(),
          nowMs,
        ),
      ),
    )
  }

  /** A denial comes before the hold: nothing is billed. */
  #reviewInbound(): Effect.Effect<void, ServiceError<"content_blocked">> {
    return Effect.flatMap(
      this.#admitted.services.review.judge(this.#admitted.call.caller.policies.inbound, () =>
        textOfRequest(this.#admitted.request),
      ),
      (denial) => (denial === undefined ? Effect.void : Effect.fail(contentBlocked(denial))),
    )
  }

  /** Targets in failover order, with the organisation's own key if it has one. */
  #targets({ entry, vendorRequest }: Plan): ReadonlyArray<ModelTarget> {
    const { id } = this.#admitted.call.caller.org
    const own = this.#admitted.services.upstreamKeys.of(id)
    const targets = own === undefined ? entry.targets : entry.targets.map((target) => withOwnKey(target, id, own))
    return orderTargets(targets, vendorRequest.cache.key)
  }

  #conversation(plan: Plan, targets: ReadonlyArray<ModelTarget>): PlannedConversation {
    const timeouts = new Map(targets.map((target) => [target, this.#timeouts(plan, target)]))
    return {
      client: this.#admitted.services.client,
      health: this.#admitted.services.health,
      targets,
      services: this.#admitted.services.context,
      plan,
      vendorRequest: plan.vendorRequest,
      link: this.#admitted.link,
      tally: this.#admitted.tally,
      maxReplyBytes: this.#admitted.services.config.upstreamMaxBytes,
      timeoutsOf: (target) => timeouts.get(target) ?? defaultTimeouts,
      watch: this.#watch([...timeouts.values()]),
      opening: () =>
        this.#opening() + this.#admitted.warnings.map((warning) => this.#admitted.link.events.warn(warning)).join(""),
      warnings: this.#admitted.warnings,
      target: undefined,
      opened: false,
      took: {},
    }
  }

  #timeouts(plan: Plan, target: ModelTarget): Timeouts {
    const { config, catalogue } = this.#admitted.services
    return resolveTimeouts({
      profile: catalogue.current().timeouts(config.env),
      variables: config.upstreamTimeouts,
      vendor: target.vendor.timeouts,
      model: plan.entry.model.timeouts,
    })
  }

  #opening(): string {
    const { requestId: clientRequestId, sessionId } = this.#admitted.request.meta ?? {}
    return this.#admitted.link.events.open({
      requestId: this.#admitted.call.requestId,
      ...(clientRequestId !== undefined && { clientRequestId }),
      model: this.#admitted.request.model,
      protocol: protocolLabel,
      ...(sessionId !== undefined && { sessionId }),
    })
  }

  #converse(conversation: Conversation) {
    const late = Effect.tapError(conversation.watch.run, (error) => {
      const { target } = conversation
      if (target !== undefined) countTimeout(conversation, target, error)
      return Effect.logWarning("An upstream call failed", { target: target?.key, code: error.code })
    })
    return Effect.raceAllFirst([this.#clientGone(conversation), converse(conversation), late])
  }

  /** The deadlines that can end a conversation, and the heartbeat of a silent stream. */
  #watch(timeouts: ReadonlyArray<Timeouts>): ConversationWatch {
    const { link, request, services } = this.#admitted
    const { streamStallMs, streamHeartbeatMs } = services.config
    const beganMs = link.nowMs()
    const [{ total } = defaultTimeouts] = timeouts
    const shortestMs = Math.min(total, streamStallMs, streamHeartbeatMs, ...timeouts.map(({ idle }) => idle))
    const watch: ConversationWatch = new Watch(shortestMs)
    watch.add(totalClock(beganMs, total))
    if (request.stream !== true) return watch
    watch.add({ sinceMs: () => link.queue.stalledSinceMs, limitMs: streamStallMs, late: takesNothing })
    watch.add({
      sinceMs: () => link.wroteAtMs,
      limitMs: streamHeartbeatMs,
      late: () => {
        link.beat()
        return undefined
      },
    })
    return watch
  }

  /**
   * Fails when the client has disconnected: at once, or, if the vendor has reported its stop or the catalogue says
   * `clientGone: drain`, when the usage has not arrived within a time limit.
   */
  #clientGone(conversation: Conversation): Effect.Effect<never, ClientGone> {
    return this.#admitted.link.gone.pipe(
      Effect.andThen(
        Effect.suspend(() => {
          const drains = this.#admitted.tally.stop !== undefined || conversation.target?.vendor.clientGone === "drain"
          return drains ? Effect.sleep(this.#admitted.services.config.drainGoneMs) : Effect.void
        }),
      ),
      Effect.flatMap(() => Effect.fail(new ClientGone())),
    )
  }
}

const takesNothing = () => serviceError("stream_backpressure", "The client did not read its stream in time")

const withOwnKey = (target: ModelTarget, orgId: string, keys: ReadonlyMap<string, UpstreamKey>): ModelTarget => {
  const own = keys.get(target.vendor.id)
  if (own === undefined) return target
  const isGuarded = own.baseUrl !== undefined
  const vendor = isGuarded ? { ...target.vendor, baseUrl: own.baseUrl } : target.vendor
  return { ...target, vendor, credential: own.key, isOwn: true, isGuarded, key: `${orgId}:${target.key}` }
}
