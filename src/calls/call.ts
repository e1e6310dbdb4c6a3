/**
 * One call of any kind, from its decoded request to its last event, in one fiber. The order is the contract's: rate
 * limits → decode → idempotency → plan (model, price, what it can be) → review → hold → vendor → settle → idempotency
 * record → last event.
 */
import { Cause, Effect, Exit, Option, Result } from "effect"
import type { Admission, AdmissionError, AdmitRequest, DailyCount } from "../admission/gate.ts"
import { expiredId, isExpired, isRegistryComplete } from "../admission/request-id.ts"
import type { Admitted } from "../admission/sessions.ts"
import type { Member } from "../collections.ts"
import { spentIdsDays } from "../config.ts"
import type { Caller } from "../identity/caller.ts"
import type { Amount } from "../money/amount.ts"
import { nearNotice, nearWarning } from "../money/budgets/budget.ts"
import { timesFactor } from "../money/pricing.ts"
import { onlyWords } from "../policies/parts.ts"
import { contentBlocked, nothingFound, type Verdict } from "../policies/review.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { WarnEvent } from "../protocol/event.ts"
import { dayOf } from "../protocol/values/utc8.ts"
import type { Caching } from "../reply-cache/outcome.ts"
import { type StoreUnavailable, toServiceError } from "../store/unavailable.ts"
import { recordPolicyHits } from "../telemetry/metrics.ts"
import { annotate, spanned } from "../telemetry/tracing.ts"
import { CallWatch } from "./call-watch.ts"
import { CountedLimits, limitsOfRequest } from "./counted-limits.ts"
import type { AdmittedCall, Call, HeldCall } from "./held-call.ts"
import type { CallRequest, Kind, Task } from "./kind.ts"
import { isAuthorised, isForbidden, modelNotAuthorised } from "./model.ts"
import type { CacheableReply } from "./reply/cacheable-reply.ts"
import { type RegisteredCall, replay, replayForgotten } from "./reply/replay.ts"
import type { ClientReply } from "./reply/reply.ts"
import { inProgressReply } from "./reply/reply-body.ts"
import { abandon, lookForReply, placeFor } from "./reply/reply-caching.ts"
import { reviewOf, withValues } from "./reply/reply-review.ts"
import { follow, type Restore, SharedStream } from "./reply/shared-reply.ts"
import { earlierParts, endOf, reviewAboutOf } from "./review-about.ts"
import type { CallServices, RunningCall } from "./services.ts"
import { summed } from "./settle/amount-due.ts"
import { cachedCharge } from "./settle/cached-bill.ts"
import { noteDenial, reportRefusal } from "./settle/report.ts"
import { reserve } from "./settle/reserve.ts"
import { failCall, giveBack, leasedCallOf, refuse, settleCall, settleLost } from "./settle/settlement.ts"
import { withTags } from "./tags.ts"
import { type EndedEarly, makeConversation } from "./vendor/conversation.ts"
import { converse } from "./vendor/failover.ts"
import { Signal } from "./vendor/signal.ts"

type Refusal = ServiceError | StoreUnavailable

/** Runs one call; everything for the client goes through its reply. Interrupted, it settles before it ends. */
export const runCall = <Request extends CallRequest, Body extends object>(
  services: CallServices,
  call: Call<Request, Body>,
  reply: ClientReply<Body>,
): Effect.Effect<void> =>
  Effect.uninterruptibleMask((restore) => {
    const waiting = services.overload.enter()
    const limits = new CountedLimits()
    const prepared = Effect.ensuring(
      prepare(services, call, reply, waiting, limits, restore),
      Effect.sync(() => waiting.over()),
    )
    return prepared.pipe(
      Effect.flatMap((held) => (held === undefined ? Effect.void : runHeld(held, restore))),
      Effect.catchCause((cause) => {
        const error = Option.getOrUndefined(Cause.findErrorOption(cause))
        if (error !== undefined) reportRefusal(services, call, call.kind.purpose, toServiceError(error).code)
        // A defect: the client gets an internal error.
        return refuse(reply, error ?? unexpected(cause), call.requestId)
      }),
      Effect.ensuring(limits.end(services.gate)),
    )
  })

/** Ids of the organisation, the application and the key; the id of a key is no secret. */
const callerAttributes = ({ org, app, keyId }: Caller) => ({
  "weir.org": org.id,
  ...(app !== undefined && { "weir.app": app.id }),
  "weir.key_id": keyId,
})

const tagAttributes = (tags: Caller["tags"] = {}) =>
  Object.fromEntries(Object.entries(tags).map(([name, value]) => [`weir.tag.${name}`, value]))

const unexpected = (cause: Cause.Cause<unknown>) =>
  serviceError("internal_error", "The service could not complete the request", { cause })

/** Admits and holds. Undefined if the client has its reply already: a replay, or the notice that the call runs elsewhere. */
const prepare = Effect.fnUntraced(function* <Request extends CallRequest, Body extends object>(
  services: CallServices,
  call: Call<Request, Body>,
  reply: ClientReply<Body>,
  waiting: AdmittedCall<Body>["waiting"],
  limits: CountedLimits,
  restore: Restore,
): Effect.fn.Return<HeldCall<Body> | undefined, Refusal> {
  const { decoded, kind, caller } = call
  yield* annotate(() => callerAttributes(caller))
  const lacking = lackingCapability(call)
  if (lacking !== undefined) return yield* lacking
  const registration = registrationOf(call)
  const keptDays = spentIdsDays(services.config)
  if (registration !== undefined && isExpired(registration.requestId, services.nowMs(), keptDays)) {
    return yield* expiredId(keptDays)
  }
  const counts = kind.dailyCounts?.(caller, dayOf(services.nowMs())) ?? none
  const admission = yield* spanned("admit")(admit(services, call, registration, counts, limits))
  const { rooms } = limits
  if (rooms.length > 0) reply.rates(rooms)
  if (Result.isFailure(decoded)) return yield* decoded.failure
  const { request, masked, keep, begun, missing = none } = decoded.success
  if (admission._tag === "InProgress") {
    reply.send(inProgressReply(registration?.requestId ?? ""))
    return undefined
  }
  if (admission._tag === "Completed") {
    if (isForbidden(kind.modelOf(request), call.caller, services.catalogue.current())) return yield* modelNotAuthorised
    if (registration !== undefined)
      reply.send(withValues(yield* replay(services, registration), decoded.success.masked?.marks))
    return undefined
  }
  const { meta } = request
  const model = kind.modelOf(request) ?? kind.purpose
  const withItsTags = withTags(caller, meta?.tags)
  const tagged = Result.getOrElse(withItsTags, () => caller)
  if (tagged.tags !== undefined) yield* annotate(() => tagAttributes(tagged.tags))
  const { requestId, traceId } = call
  const origin = { requestId, caller: tagged, ...(traceId !== undefined && { traceId }) }
  const about = reviewAboutOf(services, tagged)
  const review = reviewOf(reply, tagged, begun === undefined ? masked?.marks : undefined, services, about)
  const given = { services, call: origin, kind, meta, model, registration, counts, reply, keep, begun, limits, waiting }
  const admitted: AdmittedCall<Body> = { ...given, hits: [...missing, ...(masked?.hits ?? [])], review, about }
  const isForgotten = registration && mayBeForgotten(services, registration, admission.remembersSinceMs)
  const held = yield* Effect.result(
    Effect.flatMap(Effect.fromResult(withItsTags), () =>
      isForgotten
        ? replayOrHold(admitted, kind, request, registration, restore)
        : hold(admitted, kind, request, restore),
    ),
  )
  if (Result.isSuccess(held)) return held.success
  recordPolicyHits(services.context, summed(admitted.hits))
  yield* failCall(admitted, held.failure)
})

const none: ReadonlyArray<never> = []

/** An application's end users may make only the calls that its organisation allows them. */
const lackingCapability = <Request extends CallRequest, Body extends object>({
  kind: { capability },
  caller: { endUserId, org },
}: Call<Request, Body>): ServiceError<"forbidden"> | undefined =>
  capability === undefined || endUserId === undefined || org.capabilities?.[capability] === true
    ? undefined
    : serviceError("forbidden", `${capability} is not enabled for end users`, { detail: { capability } })

/** One step at the gate, including the session if the caller may use the model. */
const admit = <Request extends CallRequest, Body extends object>(
  { gate, sessions, catalogue, config, usualOutputs }: CallServices,
  { caller, kind, decoded }: Call<Request, Body>,
  registration: RegisteredCall | undefined,
  counts: ReadonlyArray<DailyCount>,
  limits: CountedLimits,
): Effect.Effect<Admitted, AdmissionError> => {
  const request = Result.isSuccess(decoded) ? decoded.success.request : undefined
  const limited = limitsOfRequest(caller, kind, request, catalogue.current(), usualOutputs)
  const asked: AdmitRequest = {
    ...limited,
    keyId: caller.keyId,
    counts: Result.isSuccess(decoded) ? counts : none,
    register: registration && { ...registration, leaseMs: config.leaseMs },
  }
  const counted = (admission: Admission): Admitted => {
    if (admission._tag === "UnknownSession") return passed
    limits.admitted(limited, admission.counted)
    return admission
  }
  const sessionId = request?.meta?.sessionId
  const model = request && kind.modelOf(request)
  const mayHave = model === undefined || isAuthorised(model, caller, catalogue.current())
  return Effect.map(
    sessionId !== undefined && mayHave ? sessions.admit(asked, caller, sessionId) : gate.admit(asked),
    counted,
  )
}

const passed: Admitted = { _tag: "Admitted" }

const registrationOf = <Request extends CallRequest, Body extends object>({
  caller,
  requestId: claim,
  decoded,
}: Call<Request, Body>): RegisteredCall | undefined => {
  if (Result.isFailure(decoded)) return undefined
  const { request, payloadHash } = decoded.success
  const requestId = request.meta?.requestId
  if (requestId === undefined || payloadHash === undefined) return undefined
  return { owner: caller.org.id, keyId: caller.keyId, requestId, claim, payloadHash }
}

/** Whether the registry may have lost a request id that was used before. */
const mayBeForgotten = (
  { config, nowMs }: CallServices,
  { requestId }: RegisteredCall,
  remembersSinceMs: number | undefined,
): boolean =>
  !isRegistryComplete(requestId, { nowMs: nowMs(), keptMs: config.idempotencyTtlS * 1000, remembersSinceMs })

/** Answers a request id that the books know; returns undefined then. */
const replayOrHold = Effect.fnUntraced(function* <Request extends CallRequest, Body extends object>(
  admitted: AdmittedCall<Body>,
  kind: Kind<Request, Body>,
  request: Request,
  registration: RegisteredCall,
  restore: Restore,
): Effect.fn.Return<HeldCall<Body> | undefined, Refusal> {
  const { services, call } = admitted
  if (isForbidden(kind.modelOf(request), call.caller, services.catalogue.current())) return yield* modelNotAuthorised
  const reply = yield* replayForgotten(services, registration)
  if (reply === undefined) return yield* hold(admitted, kind, request, restore)
  yield* giveBack(admitted)
  admitted.reply.send(withValues(reply, admitted.review?.restored))
})

/** Plan, review, look for a reply, hold: before the hold, only the idempotency key and the counts must be released on failure. */
const hold = Effect.fnUntraced(function* <Request extends CallRequest, Body extends object>(
  admitted: AdmittedCall<Body>,
  kind: Kind<Request, Body>,
  request: Request,
  restore: Restore,
): Effect.fn.Return<HeldCall<Body>, Refusal> {
  const { services, call, reply } = admitted
  const { caller, requestId } = call
  const nowMs = services.nowMs()
  const catalogue = services.catalogue.current()
  const task = yield* Effect.fromResult(kind.plan({ services, requestId, request, caller, catalogue, nowMs, reply }))
  reply.marked = task.marked
  const { denial, hits, refusal } = yield* reviewInbound(admitted, kind, request)
  admitted.hits.push(...hits)
  if (refusal !== undefined) return yield* refusal
  if (denial !== undefined) {
    noteDenial(services.denials, { caller, requestId, model: admitted.model }, denial, "request")
    return yield* contentBlocked(denial)
  }
  const placed = placeFor(admitted, task, catalogue, request.cache?.reply)
  const kept = placed && (yield* placed)
  if (kept === undefined) return yield* begin(admitted, task, undefined, nowMs)
  const caching = yield* lookForReply(admitted, task, kept, request.cache?.reply, restore)
  return yield* Effect.onError(begin(admitted, task, caching, nowMs), () =>
    Effect.sync(() => abandon(admitted, caching)),
  )
})

const reviewInbound = <Request extends CallRequest, Body extends object>(
  { services: { review }, call: { caller }, about }: AdmittedCall<Body>,
  kind: Kind<Request, Body>,
  request: Request,
): Effect.Effect<Verdict> => {
  const { outbound } = caller.policies
  const read = about === undefined || outbound.length === 0 ? undefined : earlierParts(outbound)
  const isRead = read !== undefined && read.size > 0
  if (caller.policies.inbound.length === 0 && !isRead) return Effect.succeed(nothingFound)
  // Masks have been put on by the request's reader.
  const inbound = caller.policies.inbound.filter(({ action }) => action !== "mask")
  if (inbound.length === 0 && !isRead) return Effect.succeed(nothingFound)
  const reviewed = kind.reviewed(request)
  const text = typeof reviewed === "string" ? onlyWords(() => reviewed) : reviewed
  if (about === undefined || !isRead) return review.judge(inbound, "request", text, about)
  return Effect.flatMap(text(read), (earlier) => {
    about.earlier = endOf(earlier)
    return review.judge(inbound, "request", text, about)
  })
}

/** Holds the most that the call can cost, and prepares the vendor call. */
const begin = Effect.fnUntraced(function* <Body extends object>(
  admitted: AdmittedCall<Body>,
  task: Task<Body>,
  caching: Caching | undefined,
  nowMs: number,
): Effect.fn.Return<HeldCall<Body>, Refusal> {
  const { services, call, registration, waiting } = admitted
  const reserved = yield* spanned("hold")(
    reserve(services, {
      ref: call.requestId,
      caller: call.caller,
      requestId: registration?.requestId,
      currency: task.currency,
      amount: mostOf(task, caching),
      tokens: caching?.state === "hit" ? 0 : task.holdTokens,
      nowMs,
    }),
  )
  waiting.held()
  task.warnings.push(...nearOf(admitted, reserved.covering))
  const conversation = conversationOf(admitted, task, caching, nowMs)
  const { review } = admitted
  // Others may wait for the same reply: then the vendor is not interrupted.
  if (review !== undefined) {
    const denied = () => {
      const isShared = caching?.state === "miss" && caching.flight.isShared
      if (review.denial !== undefined && !isShared) conversation.signal.end(contentBlocked(review.denial))
    }
    review.onDenied = denied
  }
  return { ...admitted, ...reserved, task, caching, conversation, sent: undefined }
})

/** The highest cost: zero with the organisation's own keys, and a share of it for a reply from the cache. */
const mostOf = <Body extends object>(task: Task<Body>, caching: Caching | undefined): Amount => {
  if (task.targets.every(({ isOwn }) => isOwn)) return 0n
  if (caching?.state !== "hit") return task.holdAmount
  const share = task.cacheableReply?.share ?? 0n
  const { facts } = caching.flight
  if (facts === undefined) return timesFactor(task.holdAmount, share)
  return facts.isOwn ? 0n : cachedCharge(task.charge({ counts: facts.counts }), share).cost
}

/** Warnings of budgets, also in a header, because not every API has warnings. */
const nearOf = <Body extends object>(
  { services, call, reply }: AdmittedCall<Body>,
  covering: HeldCall<Body>["covering"],
): ReadonlyArray<WarnEvent> => {
  if (covering.length === 0) return none
  const near = services.budgetWarnings.take(call.caller.org.id, covering)
  const notice = nearNotice(near)
  if (notice !== undefined) reply.notice(notice)
  return near.map(nearWarning)
}

const conversationOf = <Body extends object>(
  { services, call, reply }: AdmittedCall<Body>,
  task: Task<Body>,
  caching: Caching | undefined,
  startedAtMs: number,
) => {
  const flight = caching?.state === "miss" ? caching.flight : undefined
  if (flight !== undefined && task.cacheableReply !== undefined) {
    const tap: CacheableReply["tap"] = (line) => flight.add(line)
    task.cacheableReply.tap = tap
  }
  const { client, health, context, config, catalogue, nowMs } = services
  const current = catalogue.current()
  health.inForce(current)
  return makeConversation({
    requestId: call.requestId,
    client,
    health,
    context,
    work: task,
    targets: task.targets,
    triesAfterRefusal: task.triesAfterRefusal === true || current.model(task.model)?.model.tryNext === true,
    nowMs,
    startedAtMs,
    stream: task.opening === undefined ? undefined : flight === undefined ? reply : new SharedStream(reply, flight),
    maxReplyBytes: config.upstreamMaxBytes,
    timeoutsOf: (target) => task.timeoutsOf(target),
    signal: new Signal<EndedEarly>(),
  })
}

/** The vendor's part of the call, or the cache's. */
const asked = <Body extends object>(heldCall: HeldCall<Body>) =>
  heldCall.begun === undefined
    ? answered(heldCall)
    : Effect.andThen(Effect.mapError(heldCall.begun, toServiceError), answered(heldCall))

const answered = <Body extends object>(heldCall: HeldCall<Body>) => {
  const { task, services, hold, conversation, caching } = heldCall
  if (caching?.state === "hit") return follow(heldCall, caching.flight)
  if (task.asksForJob !== true) return converse(conversation)
  const begun = Effect.mapError(services.jobAttempts.begin(hold, task.model), toServiceError)
  return Effect.andThen(begun, converse(conversation))
}

/** Calls the vendor, settles, and waits until a streamed reply has left. */
const runHeld = <Body extends object>(heldCall: HeldCall<Body>, restore: Restore): Effect.Effect<void> => {
  const { leased } = heldCall.services
  const own = leased.add(leasedCallOf(heldCall))
  const watch = new CallWatch(heldCall)
  const close = heldCall.task.marked?.close?.bind(heldCall.task.marked)
  const ended = Effect.sync(() => {
    leased.remove(own)
    watch.end()
    if (heldCall.caching?.state === "miss" && heldCall.caching.flight.state === "running")
      abandon(heldCall, heldCall.caching)
  })
  const end = close === undefined ? ended : Effect.andThen(ended, Effect.promise(close))
  return Effect.onExit(converseAndSettle(heldCall, own, watch, restore), (exit) =>
    Exit.isSuccess(exit) || Exit.hasInterrupts(exit) ? end : Effect.ensuring(settleLost(heldCall), end),
  )
}

/** One generator function serves all calls: a function made for each call has a hidden class of its own, in the old space. */
const converseAndSettle = Effect.fnUntraced(function* <Body extends object>(
  heldCall: HeldCall<Body>,
  own: Member<RunningCall>,
  watch: CallWatch<Body>,
  restore: Restore,
): Effect.fn.Return<void> {
  const { task, services, reply, hold } = heldCall
  const ended = yield* Effect.exit(restore(asked(heldCall)))
  watch.settling()
  yield* settleCall(heldCall, ended)
  if (task.asksForJob === true) yield* services.jobAttempts.end(hold)
  services.leased.remove(own)
  if (reply.isStreaming) yield* restore(watch.closing)
})
