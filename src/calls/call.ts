/**
 * One call of any kind, from its decoded request to its last event, in one fiber. The order is the contract's: rate
 * limits → decode → idempotency → plan (model, price, what it can be) → review → hold → vendor → settle → idempotency
 * record → last event.
 */
import { Cause, Effect, Exit, Option, Result } from "effect"
import { expiredId, isExpired } from "../admission/request-id.ts"
import type { Member } from "../collections.ts"
import { spentIdsDays } from "../config.ts"
import type { Caller } from "../identity/caller.ts"
import { mayHaveMark } from "../policies/masks/marks.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { dayOf } from "../protocol/values/utc8.ts"
import { type StoreUnavailable, toServiceError } from "../store/unavailable.ts"
import { recordPolicyHits } from "../telemetry/metrics.ts"
import { annotate, spanned } from "../telemetry/tracing.ts"
import { admit, lackingCapability, mayBeForgotten, mayUse, registrationOf } from "./admit-call.ts"
import { CallWatch } from "./call-watch.ts"
import { CountedLimits } from "./counted-limits.ts"
import type { AdmittedCall, Call, DecodedCall, HeldCall } from "./held-call.ts"
import { hold } from "./hold-call.ts"
import type { CallRequest, Kind } from "./kind.ts"
import { isForbidden, modelNotAuthorised } from "./model.ts"
import { type RegisteredCall, replay, replayForgotten } from "./reply/replay.ts"
import type { ClientReply } from "./reply/reply.ts"
import { inProgressReply } from "./reply/reply-body.ts"
import { abandon } from "./reply/reply-caching.ts"
import { reviewOf, withValues } from "./reply/reply-review.ts"
import { follow, type Restore } from "./reply/shared-reply.ts"
import { reviewAboutOf } from "./review-about.ts"
import type { CallServices, RunningCall } from "./services.ts"
import { summed } from "./settle/amount-due.ts"
import { engineAccountOf } from "./settle/engine-account.ts"
import { reportRefusal } from "./settle/report.ts"
import { failCall, giveBack, leasedCallOf, refuse, settleCall, settleLost } from "./settle/settlement.ts"
import { withTags } from "./tags.ts"
import { converse } from "./vendor/failover.ts"

type Refusal = ServiceError | StoreUnavailable

/** Runs one call; everything for the client goes through its reply. Interrupted, it settles before it ends. */
export const runCall = <Request extends CallRequest, Body extends object>(
  services: CallServices,
  call: Call<Request, Body>,
  reply: ClientReply<Body>,
): Effect.Effect<void> =>
  Effect.uninterruptibleMask((restore) => {
    const { org } = call.caller
    const waiting = services.overload.enter(org.id)
    const limits = new CountedLimits()
    const prepared = Effect.ensuring(
      Effect.andThen(services.overload.checkOwn(org.id), prepare(services, call, reply, waiting, limits, restore)),
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
  const { decoded, kind, caller, maskedByEngines } = call
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
  const { earlier } = decoded.success
  if (admission._tag !== "Admitted" && earlier !== undefined) {
    if (!mayUse(call, services.catalogue.current())) return yield* modelNotAuthorised
    if (yield* earlier) return undefined
  }
  if (admission._tag === "InProgress") {
    reply.send(inProgressReply(registration?.requestId ?? ""))
    return undefined
  }
  if (admission._tag === "Completed") {
    const model = kind.modelOf(decoded.success.request)
    if (isForbidden(model, call.caller, services.catalogue.current())) return yield* modelNotAuthorised
    if (registration !== undefined) reply.send(yield* repeated(services, call, registration, decoded.success))
    return undefined
  }
  const { meta } = decoded.success.request
  const model = kind.modelOf(decoded.success.request) ?? kind.recordedAs?.(decoded.success.request) ?? kind.purpose
  const withItsTags = withTags(caller, meta?.tags)
  const tagged = Result.getOrElse(withItsTags, () => caller)
  if (tagged.tags !== undefined) yield* annotate(() => tagAttributes(tagged.tags))
  const { requestId, traceId } = call
  const origin = { requestId, caller: tagged, ...(traceId !== undefined && { traceId }) }
  const about = reviewAboutOf(services, tagged)
  // No engine is asked about a request for a model that the caller may not use.
  const isAsked = maskedByEngines !== undefined && mayUse(call, services.catalogue.current())
  const read = yield* Effect.result(
    Effect.flatMap(Effect.fromResult(withItsTags), () =>
      isAsked ? maskedByEngines(tagged, engineAccountOf(services, tagged)) : Effect.succeed(decoded.success),
    ).pipe(Effect.flatMap((known) => completed(services, kind, known, tagged))),
  )
  const {
    request,
    masked,
    keep,
    begun,
    spends,
    atVendor,
    files,
    missing = none,
  } = Result.getOrElse(read, () => decoded.success)
  const review = reviewOf(reply, tagged, begun === undefined ? masked?.marks : undefined, services, about)
  const given = {
    services,
    call: origin,
    kind,
    meta,
    model,
    registration,
    counts,
    reply,
    keep,
    begun,
    spends,
    atVendor,
    files,
    limits,
    waiting,
  }
  const admitted: AdmittedCall<Body> = { ...given, hits: [...missing, ...(masked?.hits ?? [])], review, about }
  const isForgotten = registration && mayBeForgotten(services, registration, admission.remembersSinceMs)
  const held = yield* Effect.result(
    Effect.flatMap(Effect.fromResult(read), () =>
      earlier !== undefined || isForgotten === true
        ? replayOrHold(admitted, kind, request, registration, { earlier, isForgotten: isForgotten === true }, restore)
        : hold(admitted, kind, request, restore),
    ),
  )
  if (Result.isSuccess(held)) return held.success
  recordPolicyHits(services.context, summed(admitted.hits))
  yield* failCall(admitted, held.failure)
})

/** A request with the parts that other services know, for a model that its caller may use. */
const completed = <Request extends CallRequest, Body extends object>(
  { catalogue, openTools }: CallServices,
  kind: Kind<Request, Body>,
  decoded: DecodedCall<Request, Body>,
  caller: Caller,
): Effect.Effect<DecodedCall<Request, Body>, ServiceError> => {
  if (kind.completed === undefined || isForbidden(kind.modelOf(decoded.request), caller, catalogue.current()))
    return Effect.succeed(decoded)
  const more = kind.completed(decoded.request, { openTools, caller, marks: decoded.masked?.marks })
  return more === undefined ? Effect.succeed(decoded) : Effect.map(more, (request) => ({ ...decoded, request }))
}

const none: ReadonlyArray<never> = []

/** The reply to a completed id, with its values. Engines are asked again only if its marks may be theirs. */
const repeated = Effect.fnUntraced(function* <Request extends CallRequest, Body extends object>(
  services: CallServices,
  { caller, maskedByEngines }: Call<Request, Body>,
  registration: RegisteredCall,
  request: DecodedCall<Request, Body>,
) {
  const reply = yield* replay(services, registration)
  const restored = withValues(reply, request.masked?.marks)
  const { body } = restored
  if (maskedByEngines === undefined || typeof body !== "string" || !mayHaveMark(body)) return restored
  // Without their answer, the marks stay.
  const read = yield* Effect.result(maskedByEngines(caller, engineAccountOf(services, caller)))
  return Result.isSuccess(read) ? withValues(reply, read.success.masked?.marks) : restored
})

/** Answers a request id that the books know; returns undefined then. */
const replayOrHold = Effect.fnUntraced(function* <Request extends CallRequest, Body extends object>(
  admitted: AdmittedCall<Body>,
  kind: Kind<Request, Body>,
  request: Request,
  registration: RegisteredCall | undefined,
  { earlier, isForgotten }: Pick<DecodedCall<Request>, "earlier"> & { readonly isForgotten: boolean },
  restore: Restore,
): Effect.fn.Return<HeldCall<Body> | undefined, Refusal> {
  const { services, call } = admitted
  if (isForbidden(kind.modelOf(request), call.caller, services.catalogue.current())) return yield* modelNotAuthorised
  if (registration === undefined) return yield* hold(admitted, kind, request, restore)
  if (earlier !== undefined && (yield* earlier)) {
    yield* Effect.ignore(services.gate.complete(registration, registration.payloadHash, true))
    yield* giveBack(admitted)
    return undefined
  }
  const reply = isForgotten ? yield* replayForgotten(services, registration) : undefined
  if (reply === undefined) return yield* hold(admitted, kind, request, restore)
  yield* giveBack(admitted)
  admitted.reply.send(withValues(reply, admitted.review?.restored))
})

/** The vendor's part of the call, or the cache's. */
const asked = <Body extends object>(heldCall: HeldCall<Body>) =>
  heldCall.begun === undefined
    ? answered(heldCall)
    : Effect.andThen(Effect.mapError(heldCall.begun, toServiceError), answered(heldCall))

const answered = <Body extends object>(heldCall: HeldCall<Body>) => {
  const { task, services, hold, conversation, caching } = heldCall
  if (caching?.state === "hit") return follow(heldCall, caching.flight)
  if (task.isRecordedFirst === true) {
    const record = Effect.suspend(() => services.firstRecords.record(leasedCallOf(heldCall).checkpoint()))
    conversation.recorded = Effect.mapError(record, toServiceError)
  }
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
