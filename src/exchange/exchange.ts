/**
 * One exchange, from its decoded request to its last event, in one fiber. The order is the contract's: rate limits
 * → decode → idempotency → model, price, context window → hold → vendor → settle → idempotency record → last event.
 */
import { Cause, Effect, Option, Result } from "effect"
import type { AdmissionError, AdmitRequest } from "../admission/gate.ts"
import { rateWindows } from "../admission/rates.ts"
import { isRegistryComplete } from "../admission/request-id.ts"
import type { Admitted } from "../admission/sessions.ts"
import type { ModelTarget } from "../catalogue/snapshot.ts"
import { budgetSubjects } from "../identity/caller.ts"
import { wholeAmount } from "../money/amount.ts"
import { nearNotice, nearWarning, needsOf } from "../money/budget.ts"
import type { Hold } from "../money/ledger.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { protocolLabel, type WarnEvent } from "../protocol/event.ts"
import { dayOf } from "../protocol/utc8.ts"
import { contentBlocked } from "../review/review.ts"
import { textOfRequest } from "../review/texts.ts"
import { type StoreUnavailable, toServiceError } from "../store/unavailable.ts"
import { spanned } from "../telemetry/tracing.ts"
import { orderTargets } from "../upstream/pool.ts"
import type { UpstreamKey } from "../upstream/upstream-keys.ts"
import type { Conversation, EndedEarly } from "./conversation.ts"
import type { DecodedExchange } from "./decode.ts"
import { ExchangeWatch } from "./exchange-watch.ts"
import { converse } from "./failover.ts"
import type { AdmittedExchange, ExchangeCall, ExchangeServices, HeldExchange } from "./held-exchange.ts"
import { isAuthorised, makePlan, type Plan } from "./plan.ts"
import { type RegisteredExchange, replay, replayForgotten } from "./replay.ts"
import type { ClientReply } from "./reply.ts"
import { inProgressReply } from "./reply-body.ts"
import { reportRefusal } from "./report.ts"
import { failExchange, leasedOf, refuse, settleExchange } from "./settlement.ts"
import { Signal } from "./signal.ts"
import { UsageMeter } from "./usage-meter.ts"

type Refusal = ServiceError | StoreUnavailable

/** Runs one exchange; everything for the client goes through its reply. Interrupted, it settles before it ends. */
export const runExchange = (services: ExchangeServices, call: ExchangeCall, reply: ClientReply): Effect.Effect<void> =>
  Effect.uninterruptibleMask((restore) => {
    const waiting = services.overload.enter()
    const prepared = Effect.ensuring(
      prepare(services, call, reply, waiting),
      Effect.sync(() => waiting.over()),
    )
    return prepared.pipe(
      Effect.flatMap((held) => (held === undefined ? Effect.void : runHeld(held, restore))),
      Effect.catchCause((cause) => {
        const error = Option.getOrUndefined(Cause.findErrorOption(cause))
        if (error !== undefined) reportRefusal(services, call, toServiceError(error).code)
        // A defect: the client gets an internal error, and the hold is left to its lease.
        return refuse(reply, error ?? unexpected(cause), call.requestId)
      }),
    )
  })

const unexpected = (cause: Cause.Cause<unknown>) =>
  serviceError("internal_error", "The service could not complete the request", { cause })

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Admits and holds. Undefined if the client has its reply already: a replay, or that the exchange runs elsewhere. */
const prepare = Effect.fnUntraced(function* (
  services: ExchangeServices,
  call: ExchangeCall,
  reply: ClientReply,
  waiting: AdmittedExchange["waiting"],
): Effect.fn.Return<HeldExchange | undefined, Refusal> {
  const { decoded } = call
  const registration = registrationOf(call, decoded)
  const admission = yield* spanned("admit")(admit(services, call, decoded, registration))
  if (Result.isFailure(decoded)) return yield* Effect.fail(decoded.failure)
  const { request, searches } = decoded.success
  if (admission._tag === "InProgress") {
    reply.send(inProgressReply(registration?.requestId ?? ""))
    return undefined
  }
  if (admission._tag === "Completed") {
    if (registration !== undefined) reply.send(yield* replay(services, registration))
    return undefined
  }
  const x: AdmittedExchange = { services, call, request, searches, registration, reply, waiting }
  const isForgotten = registration && mayBeForgotten(services, registration, admission.remembersSinceMs)
  const held = yield* Effect.result(isForgotten ? replayOrHold(x, registration) : hold(x))
  if (Result.isSuccess(held)) return held.success
  yield* failExchange(x, held.failure)
})

/** One call of the gate, including the session if the caller may use the model. */
const admit = (
  { gate, sessions, catalogue, config }: ExchangeServices,
  { caller }: ExchangeCall,
  decoded: Result.Result<DecodedExchange, unknown>,
  registration: RegisteredExchange | undefined,
): Effect.Effect<Admitted, AdmissionError> => {
  const request: AdmitRequest = {
    owner: caller.org.id,
    keyId: caller.keyId,
    nonce: caller.nonce,
    rates: rateWindows(caller),
    register: registration && { ...registration, leaseMs: config.leaseMs },
  }
  const sessionId = Result.isSuccess(decoded) ? decoded.success.request.meta?.sessionId : undefined
  const mayHave = Result.isSuccess(decoded) && isAuthorised(decoded.success.request.model, caller, catalogue.current())
  if (sessionId !== undefined && mayHave) return sessions.admit(request, caller, sessionId)
  return Effect.map(gate.admit(request), (admission) => (admission._tag === "UnknownSession" ? passed : admission))
}

const passed: Admitted = { _tag: "Admitted" }

const registrationOf = (
  { caller, requestId: claim }: ExchangeCall,
  decoded: Result.Result<DecodedExchange, unknown>,
): RegisteredExchange | undefined => {
  if (Result.isFailure(decoded)) return undefined
  const { request, payloadHash } = decoded.success
  const requestId = request.meta?.requestId
  if (requestId === undefined || payloadHash === undefined) return undefined
  return { owner: caller.org.id, keyId: caller.keyId, requestId, claim, payloadHash }
}

/** Whether the registry may have forgotten a request id that was used before. */
const mayBeForgotten = (
  { config, nowMs }: ExchangeServices,
  { requestId }: RegisteredExchange,
  remembersSinceMs: number | undefined,
): boolean =>
  !isRegistryComplete(requestId, { nowMs: nowMs(), keptMs: config.idempotencyTtlS * 1000, remembersSinceMs })

/** Answers again what the books know of a request id; undefined then. */
const replayOrHold = Effect.fnUntraced(function* (
  x: AdmittedExchange,
  registration: RegisteredExchange,
): Effect.fn.Return<HeldExchange | undefined, Refusal> {
  const reply = yield* replayForgotten(x.services, registration)
  if (reply === undefined) return yield* hold(x)
  x.reply.send(reply)
})

/** Plan, review, hold: before the hold, only the idempotency key must be released on failure. */
const hold = Effect.fnUntraced(function* (x: AdmittedExchange): Effect.fn.Return<HeldExchange, Refusal> {
  const { services, call, request, searches, registration, waiting } = x
  const { caller, requestId } = call
  const nowMs = services.nowMs()
  const plan = yield* Effect.fromResult(makePlan(request, caller, services.catalogue.current(), nowMs, searches))
  const denial = yield* services.review.judge(caller.policies.inbound, () => textOfRequest(request))
  if (denial !== undefined) return yield* contentBlocked(denial)
  const targets = targetsOf(x, plan)
  const amount = targets.every(({ isOwn }) => isOwn) ? 0n : plan.holdAmount
  const tokens = plan.promptTokens + plan.vendorRequest.maxTokens
  const covering = services.budgets.covering(caller, budgetSubjects(caller), nowMs)
  const reserve = services.ledger.hold({
    ref: requestId,
    orgId: caller.org.id,
    currency: plan.price.currency,
    keyId: caller.keyId,
    requestId: registration?.requestId,
    amount,
    day: dayOf(nowMs),
    budgets: needsOf(covering, { money: amount, tokens: wholeAmount(tokens) }),
  })
  const held: Hold = yield* spanned("hold")(reserve)
  waiting.held()
  return {
    ...x,
    plan,
    hold: held,
    covering,
    conversation: conversationOf(x, plan, targets, nearOf(x, covering), nowMs),
  }
})

/** Warnings of budgets, which are also told in a header: not every API has warnings. */
const nearOf = (
  { services, call, reply }: AdmittedExchange,
  covering: HeldExchange["covering"],
): ReadonlyArray<WarnEvent> => {
  if (covering.length === 0) return []
  const near = services.budgetWarnings.take(call.caller.org.id, covering)
  const notice = nearNotice(near)
  if (notice !== undefined) reply.notice(notice)
  return near.map(nearWarning)
}

/** Targets in failover order, with the organisation's own key if it has one. */
const targetsOf = ({ call }: AdmittedExchange, { entry, vendorRequest }: Plan): ReadonlyArray<ModelTarget> => {
  const { org, upstreamKeys: own } = call.caller
  const targets = own === undefined ? entry.targets : entry.targets.map((target) => withOwnKey(target, org.id, own))
  return orderTargets(targets, vendorRequest.cache.key)
}

const withOwnKey = (target: ModelTarget, orgId: string, keys: ReadonlyMap<string, UpstreamKey>): ModelTarget => {
  const own = keys.get(target.vendor.id)
  if (own === undefined) return target
  const isGuarded = own.baseUrl !== undefined
  const vendor = isGuarded ? { ...target.vendor, baseUrl: own.baseUrl } : target.vendor
  return { ...target, vendor, credential: own.key, isOwn: true, isGuarded, key: `${orgId}:${target.key}` }
}

const conversationOf = (
  { services, call, request, reply }: AdmittedExchange,
  plan: Plan,
  targets: ReadonlyArray<ModelTarget>,
  near: ReadonlyArray<WarnEvent>,
  startedAtMs: number,
): Conversation => {
  const { client, health, context, config, nowMs, timeoutsOf, catalogue } = services
  const snapshot = catalogue.current()
  const warnings = [...plan.warnings, ...near]
  const opening = () => {
    const { requestId: clientRequestId, sessionId } = request.meta ?? {}
    const open = reply.events.open({
      requestId: call.requestId,
      ...(clientRequestId !== undefined && { clientRequestId }),
      model: request.model,
      protocol: protocolLabel,
      ...(sessionId !== undefined && { sessionId }),
    })
    return warnings.length === 0 ? open : open + warnings.map((warning) => reply.events.warn(warning)).join("")
  }
  return {
    requestId: call.requestId,
    client,
    health,
    context,
    targets,
    nowMs,
    startedAtMs,
    attempts: [],
    warnings,
    opening,
    vendorRequest: plan.vendorRequest,
    reply,
    meter: new UsageMeter({ keepsBlocks: request.stream !== true }),
    stream: request.stream === true ? reply : undefined,
    maxReplyBytes: config.upstreamMaxBytes,
    timeoutsOf: (target) => timeoutsOf(snapshot, target, plan.entry),
    signal: new Signal<EndedEarly>(),
    lookBy: () => {},
    call: undefined,
    target: undefined,
    opened: false,
    took: {},
  }
}

/** Calls the vendor, settles, and waits until a streamed reply has left. */
const runHeld = (x: HeldExchange, restore: Restore): Effect.Effect<void> => {
  const { leased } = x.services
  const own = leasedOf(x)
  const watch = new ExchangeWatch(x)
  leased.add(own)
  const end = Effect.sync(() => {
    leased.delete(own)
    watch.end()
  })
  const run = Effect.gen(function* () {
    const ending = yield* Effect.exit(restore(converse(x.conversation)))
    watch.settling()
    yield* settleExchange(x, ending)
    leased.delete(own)
    if (x.reply.isStreaming) yield* restore(watch.closing)
  })
  return Effect.ensuring(run, end)
}
