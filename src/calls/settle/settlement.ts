/**
 * The end of a call that was held: count, review, settlement or release, idempotency record, last event. These steps
 * happen however the call ends.
 */
import { Effect } from "effect"
import { retryInBackground } from "../../admission/gate.ts"
import { isKeptOutside } from "../../kept-responses/content-objects.ts"
import { type Amount, formatAmount } from "../../money/amount.ts"
import type { Counts } from "../../money/pricing.ts"
import type { Settlement } from "../../money/settlement.ts"
import type { TextOfParts } from "../../policies/parts.ts"
import type { EditText } from "../../policies/reply/reply-blocks.ts"
import { contentBlocked, type Denial } from "../../policies/review.ts"
import type { ServiceError } from "../../protocol/error.ts"
import type { WarnEvent } from "../../protocol/event.ts"
import type { EstimatedReason } from "../../protocol/usage.ts"
import { type StoreUnavailable, toServiceError } from "../../store/unavailable.ts"
import { logCause } from "../../telemetry/logs.ts"
import { recordCacheSaving, recordPolicyHits, recordUsageEstimate } from "../../telemetry/metrics.ts"
import { annotate, spanned } from "../../telemetry/tracing.ts"
import { callerView, targetView } from "../call-view.ts"
import type { AdmittedCall, HeldCall } from "../held-call.ts"
import { tokensHeader } from "../reply/line-tokens.ts"
import type { RegisteredCall } from "../reply/replay.ts"
import { sealReply } from "../reply/replay-record.ts"
import type { ClientReply } from "../reply/reply.ts"
import {
  completedReply,
  type FinishedReply,
  replyWith,
  type SettledUsage,
  usageOf,
  withheldReply,
} from "../reply/reply-body.ts"
import { keepReply } from "../reply/reply-caching.ts"
import type { CallReview } from "../reply/reply-review.ts"
import type { OpenCall, RunningCall } from "../services.ts"
import { amountDue, hitsOf, isFree } from "./amount-due.ts"
import { settleCharge } from "./charge.ts"
import { brokenBy, type CallOutcome, emptyReply, errorOf } from "./outcome.ts"
import { noteDenial, reportEnd } from "./report.ts"

const settlementDeferred: WarnEvent = {
  code: "settlement_deferred",
  message: "The settlement is stored and will be retried; the balance is this gateway's estimate",
}

/** Settles or releases, then answers. */
export const settleCall = Effect.fnUntraced(function* <Body extends object>(
  heldCall: HeldCall<Body>,
  ended: CallOutcome,
): Effect.fn.Return<void> {
  const { task, hold, services } = heldCall
  const error = errorOf(ended)
  yield* task.estimate
  const due = amountDue(heldCall, brokenBy(ended), error === undefined ? task.stop() : "interrupted")
  if (due === undefined) {
    recordPolicyHits(services.context, hitsOf(heldCall))
    yield* services.settler.release(hold)
    return yield* failCall(heldCall, error ?? emptyReply())
  }
  countUsed(heldCall, due.bill.counts)
  if (due.bill.estimatedReason !== undefined) yield* reportEstimate(heldCall, due.bill.estimatedReason)
  const denial = yield* reviewOutbound(heldCall, error === undefined)
  if (error === undefined) yield* keepReply(heldCall, due.bill, denial === undefined)
  if (due.saved !== undefined) {
    recordCacheSaving(services.context, Number(formatAmount(due.saved)), task.currency, task.model)
  }
  yield* annotate(() => billAttributes(heldCall, due.charge.cost))
  const usage = usageOf(due.bill, due.charge, task.currency)
  const failure = error ?? (task.opening !== undefined && denial !== undefined ? contentBlocked(denial) : undefined)
  const finish = (told?: Amount) => {
    if (failure !== undefined) return { finished: undefined, settlement: withHits(heldCall, due.settlement) }
    // Masks find their matches while a whole reply is made.
    const finished = finishReply(heldCall, usage, denial, true)
    const billed = withHits(heldCall, due.settlement)
    const settlement = denial === undefined ? withKept(heldCall, billed, usage) : billed
    // The record has the marks of the request, not their values.
    const kept = heldCall.review?.restores === true ? finishReply(heldCall, usage, denial, false) : finished
    return { finished, settlement: withReplayRecord(heldCall, settlement, kept, told) }
  }
  let end = finish()
  if (denial !== undefined) noteDenial(services.denials, { ...heldCall.call, model: heldCall.model }, denial, "reply")
  recordPolicyHits(services.context, end.settlement.record.policies ?? [])
  const outside = yield* withKeptOutside(heldCall, end.settlement)
  heldCall.sent = outside
  // Called while the database does not answer; the settlement that comes late has the same reply.
  const estimate = hold.balance - due.charge.cost
  // No client waits for the record of a call that costs nothing, unless its response is in it.
  const isAnswered = failure === undefined && end.settlement.kept === undefined && isFree(heldCall, due)
  if (isAnswered) conclude(heldCall, usage, estimate, end.finished, denial)
  const settled = yield* spanned("settle")(
    settleCharge(services, heldCall.call.caller, heldCall.covering, outside, () => {
      if (!isAnswered) warn(heldCall, settlementDeferred)
      end = finish(estimate)
      return end.settlement
    }),
  )
  const balance = settled._tag === "Settled" ? settled.balance : estimate
  // A response that ran without its client is given again to one that repeats the request.
  const isReplayable = end.settlement.reply !== undefined || heldCall.begun !== undefined
  if (heldCall.registration !== undefined) yield* complete(heldCall, heldCall.registration, isReplayable)
  if (failure !== undefined) yield* breakOff(heldCall, usage, balance, failure)
  else if (!isAnswered) conclude(heldCall, usage, balance, end.finished, denial)
})

/** The settlement with the matches of all policies. */
const withHits = <Body extends object>(heldCall: HeldCall<Body>, settlement: Settlement): Settlement => {
  const hits = hitsOf(heldCall)
  return hits.length === 0 ? settlement : { ...settlement, record: { ...settlement.record, policies: hits } }
}

/** The settlement with the reply, if it is kept: it has the marks of the request, not their values. */
const withKept = <Body extends object>(
  { keep, task, review }: HeldCall<Body>,
  settlement: Settlement,
  usage: SettledUsage,
): Settlement => {
  if (keep === undefined) return settlement
  const edit = review && editOf(review, false)
  return { ...settlement, kept: keep(task.finish(usage, edit)("")) }
}

/** The settlement with the large contents of its response stored as objects. One that comes late has them itself. */
const withKeptOutside = <Body extends object>(
  { services: { contents }, call }: HeldCall<Body>,
  settlement: Settlement,
): Effect.Effect<Settlement> => {
  const { kept } = settlement
  if (kept === undefined || !isKeptOutside(kept)) return Effect.succeed(settlement)
  return Effect.map(contents.storeKept(call.caller.org.id, kept), (kept) => ({ ...settlement, kept }))
}

/** Rates of tokens count what the vendor was asked for: a reply from the cache has none. */
const countUsed = <Body extends object>(
  { limits, services, task, caching, kind }: HeldCall<Body>,
  counts: Counts,
): void => {
  if (caching?.state === "hit") return
  limits.used(counts)
  if (kind.name === "chat") services.usualOutputs.add(task.model, counts.outTokens)
}

/** The target and the cost of a call, on its span, so that a trace can be found by them. */
const billAttributes = <Body extends object>({ task, conversation }: HeldCall<Body>, cost: Amount) => ({
  "weir.model": task.model,
  ...(conversation.target !== undefined && {
    "weir.vendor": conversation.target.vendor.id,
    "weir.tier": conversation.target.tier,
  }),
  "weir.cost": formatAmount(cost),
  "weir.currency": task.currency,
})

/** The settlement that another node makes if this one dies. */
export const leasedCallOf = <Body extends object>(heldCall: HeldCall<Body>): RunningCall => ({
  orgId: heldCall.call.caller.org.id,
  registration: heldCall.registration,
  // A job is charged with its record, or not at all; a reply from the cache is charged when it is whole.
  checkpoint: () => ({
    hold: heldCall.hold,
    settlement:
      heldCall.task.asksForJob === true || heldCall.caching?.state === "hit"
        ? undefined
        : amountDue(heldCall, "gateway_lost", "interrupted")?.settlement,
  }),
  view: () => viewOf(heldCall),
})

/**
 * After a defect, a call is settled with its last settlement, or as if its node had died: the node lives, so no lease ends
 * the hold. Idempotent.
 */
export const settleLost = <Body extends object>(heldCall: HeldCall<Body>): Effect.Effect<unknown> =>
  Effect.suspend((): Effect.Effect<unknown> => {
    const { settler, nowMs } = heldCall.services
    if (heldCall.sent !== undefined) return settler.settle(heldCall.sent)
    const { hold, settlement } = leasedCallOf(heldCall).checkpoint()
    if (settlement === undefined) return settler.release(hold)
    heldCall.sent = { ...settlement, hold, atMs: nowMs() }
    return settler.settle(heldCall.sent)
  }).pipe(Effect.catchCause((cause) => Effect.logError("A hold could not be closed after a defect", cause)))

const viewOf = <Body extends object>({ call, kind, task, conversation }: HeldCall<Body>): OpenCall => {
  const { target, startedAtMs, attempts, opened } = conversation
  const { outputBytes, isAnswered } = task.received
  return {
    id: call.requestId,
    kind: kind.name,
    ...callerView(call.caller),
    model: task.model,
    ...(target !== undefined && { target: targetView(target) }),
    startedAt: new Date(startedAtMs).toISOString(),
    bytes: outputBytes,
    state: isAnswered ? "settling" : opened ? "streaming" : "calling",
    failedCalls: attempts.length,
  }
}

/** A failure before anything was billed: the request id is free again, and the call does not count. */
export const failCall = <Body extends object>(
  admitted: AdmittedCall<Body> | HeldCall<Body>,
  error: ServiceError | StoreUnavailable,
): Effect.Effect<void> => {
  const { services, registration, reply, call } = admitted
  const refused = Effect.suspend(() => {
    reportEnd(admitted, { outcome: toServiceError(error).code, isBilled: false })
    return refuse(reply, error, call.requestId)
  })
  const uncounted = Effect.andThen(giveBack(admitted), refused)
  if (registration === undefined) return uncounted
  const withdraw = Effect.catch(services.gate.withdraw(registration), (cause) =>
    Effect.logWarning("An idempotency key could not be released", cause),
  )
  return Effect.andThen(withdraw, uncounted)
}

/** A call that had no result of its own does not count. */
export const giveBack = <Body extends object>({ services, call, counts }: AdmittedCall<Body>): Effect.Effect<void> =>
  counts.length === 0 ? Effect.void : retryInBackground(services.gate.giveBack(call.caller.org.id, counts))

/** Sends an error; its cause is logged. */
export const refuse = <Body extends object>(
  reply: ClientReply<Body>,
  error: ServiceError | StoreUnavailable,
  requestId: string,
): Effect.Effect<void> =>
  Effect.andThen(
    logCause(toServiceError(error), requestId),
    Effect.sync(() => reply.refuse(error, requestId)),
  )

/** Counts an estimated bill; a report that cannot be true is logged with its figures. */
const reportEstimate = <Body extends object>(
  { services, task, conversation: { target } }: HeldCall<Body>,
  reason: EstimatedReason,
): Effect.Effect<void> => {
  const vendor = target?.vendor.id ?? ""
  recordUsageEstimate(services.context, reason, vendor, target?.model ?? "")
  const figures = task.implausible()
  if (figures === undefined) return Effect.void
  return Effect.logWarning("A vendor reported usage that cannot be true; it was estimated", {
    vendor,
    model: target?.model,
    ...figures,
  })
}

/** A whole reply is reviewed before it is sent; a stream has been sent already and is sampled. */
const reviewOutbound = Effect.fnUntraced(function* <Body extends object>(
  { services, call, task, hits, review, about, begun }: HeldCall<Body>,
  isGood: boolean,
): Effect.fn.Return<Denial | undefined> {
  const policies = call.caller.policies.outbound
  const answered: TextOfParts = (parts, reader) => Effect.sync(() => task.answered(parts, reader))
  if (task.opening !== undefined) {
    if (review !== undefined) yield* Effect.promise(() => review.rest())
    if (review?.denial !== undefined) return review.denial
    if (policies.length === 0) return undefined
    const sampled = policies.filter(({ isEnforced }) => !isEnforced)
    // Nobody reads it while it is made: it is judged as a whole.
    if (begun !== undefined && isGood) {
      const verdict = yield* services.review.judge(
        sampled.filter(({ action }) => action !== "mask"),
        "reply",
        answered,
        about,
      )
      hits.push(...verdict.hits)
      return verdict.denial
    }
    yield* services.review.sample(sampled, answered, about)
    return undefined
  }
  if (!isGood || policies.length === 0) return undefined
  const judged = policies.filter(({ action }) => action !== "mask")
  const verdict = yield* services.review.judge(judged, "reply", answered, about)
  hits.push(...verdict.hits)
  return verdict.denial
})

/** The reply of a normal end, complete except for the balance; undefined for a stream. */
const finishReply = <Body extends object>(
  { call, task, review }: HeldCall<Body>,
  usage: SettledUsage,
  denial: Denial | undefined,
  restores: boolean,
): FinishedReply<Body> | undefined => {
  if (task.opening !== undefined) return undefined
  const { requestId } = call
  // The client gets the error with the usage, also on replay.
  if (denial !== undefined) return withTokens(call, withheldReply(requestId, contentBlocked(denial), usage), usage)
  const edit = review && editOf(review, restores)
  const body = task.finish(usage, edit)
  review?.finished()
  const reply = { ...completedReply(requestId, body, usage, task.warnings), status: task.status ?? 200 }
  return withTokens(call, reply, usage)
}

/** The reply with its tokens, if its call is a request of a batch. */
const withTokens = <Body extends object>(
  { caller }: HeldCall<Body>["call"],
  reply: FinishedReply<Body>,
  usage: SettledUsage,
): FinishedReply<Body> =>
  caller.batch === undefined ? reply : { ...reply, headers: { ...reply.headers, ...tokensHeader(usage) } }

const editOf =
  (review: CallReview, restores: boolean): EditText =>
  (text, part, isJson) =>
    review.masked(text, part, isJson, restores)

/** A settlement that keeps the reply, if it is the reply to a request id. */
const withReplayRecord = <Body extends object>(
  { registration, services, call, reply }: HeldCall<Body>,
  settlement: Settlement,
  finished: FinishedReply<Body> | undefined,
  told?: Amount,
): Settlement => {
  // A reply with long parts is larger than what is kept.
  if (registration === undefined || finished === undefined || reply.hasMarks) return settlement
  const keptFor = { owner: registration.owner, ref: call.requestId }
  const sealed = sealReply(services.sealer, keptFor, registration.payloadHash, finished)
  return sealed === undefined ? settlement : { ...settlement, reply: { sealed, told } }
}

/** A warning after the stream has started, or for the header of a whole reply. */
const warn = <Body extends object>({ task, reply }: HeldCall<Body>, warning: WarnEvent): void => {
  task.warnings.push(warning)
  if (reply.isStreaming) reply.write(reply.events.warn(warning))
}

/** Without the record, the books answer for a repeated request id. */
const complete = <Body extends object>(
  { services }: HeldCall<Body>,
  registration: RegisteredCall,
  isReplayable: boolean,
): Effect.Effect<void> =>
  Effect.catch(services.gate.complete(registration, registration.payloadHash, isReplayable), (cause) =>
    Effect.logWarning("An idempotency record could not be completed", cause),
  )

const conclude = <Body extends object>(
  heldCall: HeldCall<Body>,
  usage: SettledUsage,
  balance: Amount,
  finished: FinishedReply<Body> | undefined,
  denial: Denial | undefined,
): void => {
  const { reply, task } = heldCall
  const stop = task.stop()
  const stops = task.stops?.()
  const stopSequence = task.stopSequence?.()
  reportEnd(heldCall, { stop: denial === undefined ? stop : undefined, outcome: "content_blocked", isBilled: true })
  if (finished !== undefined) {
    reply.send(replyWith(finished, balance))
    return
  }
  const told = { ...usage, balance: formatAmount(balance) }
  const end = {
    stop,
    ...(stopSequence !== undefined && { stopSequence }),
    ...(stops !== undefined && { stops }),
    usage: told,
  }
  reply.write(reply.events.usage(told) + reply.events.close(end))
  reply.end()
}

/** A failure that is billed: the request id is spent, and there is nothing to replay. */
const breakOff = <Body extends object>(
  heldCall: HeldCall<Body>,
  usage: SettledUsage,
  balance: Amount,
  error: ServiceError,
): Effect.Effect<void> => {
  const { reply, call } = heldCall
  if (reply.isStreaming) reply.write(reply.events.usage({ ...usage, balance: formatAmount(balance) }))
  reportEnd(heldCall, { outcome: error.code, isBilled: true })
  return refuse(reply, error, call.requestId)
}
