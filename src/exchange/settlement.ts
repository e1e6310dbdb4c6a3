/**
 * The end of an exchange that was held: count, review, settlement or release, idempotency record, last event. These
 * steps happen however the exchange ends.
 */
import { Effect } from "effect"
import { type Amount, formatAmount } from "../money/amount.ts"
import { type Charge, priceUsage } from "../money/pricing.ts"
import type { Settlement } from "../money/settlement.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { WarnEvent } from "../protocol/event.ts"
import type { Stop } from "../protocol/exchange.ts"
import { type Tier, tiers } from "../protocol/timeout-tiers.ts"
import type { EstimatedReason } from "../protocol/usage.ts"
import { contentBlocked, type Denial } from "../review/review.ts"
import { textOfReply } from "../review/texts.ts"
import { type StoreUnavailable, toServiceError } from "../store/unavailable.ts"
import { logCause } from "../telemetry/logs.ts"
import { recordUsageEstimate } from "../telemetry/metrics.ts"
import { spanned } from "../telemetry/tracing.ts"
import { type Bill, type Estimated, isImplausible, makeBill, needsEstimate } from "./bill.ts"
import { type BrokenReason, brokenBy, type Ending, emptyReply, errorOf } from "./ending.ts"
import { tokensOfBytes } from "./estimate.ts"
import type { AdmittedExchange, HeldExchange, OpenExchange, RunningExchange } from "./held-exchange.ts"
import { sealReply } from "./kept-reply.ts"
import type { RegisteredExchange } from "./replay.ts"
import type { ClientReply } from "./reply.ts"
import {
  completedReply,
  type FinishedReply,
  replyWith,
  type SettledUsage,
  usageOf,
  withheldReply,
} from "./reply-body.ts"
import { reportEnd } from "./report.ts"
import { countExchange } from "./tokenizer.ts"

const settlementDeferred: WarnEvent = {
  code: "settlement_deferred",
  message: "The settlement is stored and will be retried; the balance is this gateway's estimate",
}

/** Settles or releases, then answers. */
export const settleExchange = Effect.fnUntraced(function* (x: HeldExchange, ending: Ending): Effect.fn.Return<void> {
  const { plan, hold, request, services, conversation } = x
  const { meter } = conversation
  const error = errorOf(ending)
  const estimated = needsEstimate(meter, plan.usageLimits)
    ? yield* countExchange(services.tokenizer, request, meter)
    : undefined
  const due = dueOf(x, brokenBy(ending), error === undefined ? stopOf(x) : "interrupted", estimated)
  if (due === undefined) {
    yield* services.settler.release(hold)
    return yield* failExchange(x, error ?? emptyReply())
  }
  if (due.bill.estimatedReason !== undefined) yield* reportEstimate(x, due.bill.estimatedReason)
  const denial = yield* reviewOutbound(x, error === undefined)
  const usage = usageOf(due.bill, due.charge, plan.price.currency)
  const finish = (told?: Amount) => {
    const finished = error === undefined ? finishReply(x, usage, denial) : undefined
    return { finished, settlement: keeping(x, due.settlement, finished, told) }
  }
  let end = finish()
  // Told while the database does not answer; the settlement that comes late keeps the same reply.
  const estimate = hold.balance - due.charge.cost
  const settled = yield* spanned("settle")(
    services.settler.settle(end.settlement, () => {
      warn(x, settlementDeferred)
      end = finish(estimate)
      return end.settlement
    }),
  )
  const { org } = x.call.caller
  services.budgetWarnings.charged(org.id, org.currency, x.covering)
  const balance = settled._tag === "Settled" ? settled.balance : estimate
  if (x.registration !== undefined) yield* complete(x, x.registration, end.settlement.reply !== undefined)
  if (error !== undefined) yield* breakOff(x, usage, balance, error)
  else conclude(x, usage, balance, end.finished, denial)
})

/** What another node settles if this one dies. */
export const leasedOf = (x: HeldExchange): RunningExchange => ({
  registration: x.registration,
  checkpoint: () => ({ hold: x.hold, due: dueOf(x, "gateway_lost", "interrupted", undefined)?.settlement }),
  view: () => viewOf(x),
})

const viewOf = ({ call, request, conversation }: HeldExchange): OpenExchange => {
  const { target, meter, startedAtMs, attempts, opened } = conversation
  const isAnswered = meter.stop !== undefined
  return {
    id: call.requestId,
    org: call.caller.org.id,
    app: call.caller.app?.id ?? "",
    key: call.caller.keyId,
    model: request.model,
    ...(target !== undefined && { target: `${target.vendor.id}/${target.model}` }),
    startedAt: new Date(startedAtMs).toISOString(),
    bytes: meter.outputBytes,
    state: isAnswered ? "settling" : opened ? "streaming" : "calling",
    failedCalls: attempts.length,
  }
}

/** A failure before anything was billed: the request id is free again. */
export const failExchange = (
  x: AdmittedExchange | HeldExchange,
  error: ServiceError | StoreUnavailable,
): Effect.Effect<void> => {
  const { services, registration, reply, call } = x
  const refused = Effect.suspend(() => {
    reportEnd(x, { outcome: toServiceError(error).code, isBilled: false })
    return refuse(reply, error, call.requestId)
  })
  if (registration === undefined) return refused
  const withdraw = Effect.catch(services.gate.withdraw(registration), (cause) =>
    Effect.logWarning("An idempotency key could not be released", cause),
  )
  return Effect.andThen(withdraw, refused)
}

/** Sends an error; its cause is logged. */
export const refuse = (
  reply: ClientReply,
  error: ServiceError | StoreUnavailable,
  requestId: string,
): Effect.Effect<void> =>
  Effect.andThen(
    logCause(toServiceError(error), requestId),
    Effect.sync(() => reply.refuse(error, requestId)),
  )

interface Due {
  readonly bill: Bill
  readonly charge: Charge
  readonly settlement: Settlement
}

/**
 * The settlement of the exchange at this moment; undefined if nothing is billed.
 * @param estimated an exact count if the vendor reported none; if absent, an estimate by bytes
 */
const dueOf = (
  { call, hold, request, plan, conversation, services }: HeldExchange,
  broken: BrokenReason | undefined,
  stop: Stop,
  estimated: Estimated | undefined,
): Due | undefined => {
  const { meter, target, took } = conversation
  const rough = { promptTokens: plan.promptTokens, outTokens: tokensOfBytes(meter.outputBytes) }
  const bill = makeBill(meter, broken, estimated ?? rough, plan.usageLimits)
  if (bill === undefined) return undefined
  const charge = target?.isOwn === true ? free : priceUsage(plan.price, bill.counts)
  const record = {
    appId: call.caller.app?.id ?? "",
    sessionId: request.meta?.sessionId,
    purpose: request.meta?.purpose ?? "exchange",
    model: request.model,
    vendor: target?.vendor.id ?? "",
    counts: bill.counts,
    tierMs: rounded(took),
    estimatedReason: bill.estimatedReason,
    stop,
    cacheNetSaving: charge.cacheNetSaving,
  }
  return { bill, charge, settlement: { hold, atMs: services.nowMs(), cost: charge.cost, record } }
}

/** With the organisation's own key, the vendor bills the organisation. */
const free: Charge = { cost: 0n, cacheNetSaving: 0n }

const rounded = (took: HeldExchange["conversation"]["took"]): Partial<Record<Tier, number>> => {
  const whole: Partial<Record<Tier, number>> = {}
  for (const tier of tiers) {
    const millis = took[tier]
    if (millis !== undefined) whole[tier] = Math.max(1, Math.round(millis))
  }
  return whole
}

const stopOf = ({ conversation }: HeldExchange): Stop => conversation.meter.stop ?? "end"

/** Counts an estimated bill; a report that cannot be true is logged with its figures. */
const reportEstimate = (
  { services, plan, conversation: { target, meter } }: HeldExchange,
  reason: EstimatedReason,
): Effect.Effect<void> => {
  const vendor = target?.vendor.id ?? ""
  recordUsageEstimate(services.context, reason, vendor, target?.model ?? "")
  if (!isImplausible(meter, plan.usageLimits)) return Effect.void
  return Effect.logWarning("A vendor reported usage that cannot be true; it was estimated", {
    vendor,
    model: target?.model,
    reported: meter.usage,
    limits: plan.usageLimits,
  })
}

/** A whole reply is reviewed before it is sent; a stream has been sent already and is sampled. */
const reviewOutbound = (
  { services, call, request, conversation: { meter } }: HeldExchange,
  isGood: boolean,
): Effect.Effect<Denial | undefined> => {
  const policies = call.caller.policies.outbound
  if (policies.length === 0) return Effect.undefined
  if (request.stream === true) {
    return Effect.as(
      services.review.sample(policies, () => meter.keptText()),
      undefined,
    )
  }
  return isGood ? services.review.judge(policies, () => textOfReply(meter.blocks())) : Effect.undefined
}

/** The reply of a normal end, complete but for the balance; undefined for a stream. */
const finishReply = (x: HeldExchange, usage: SettledUsage, denial: Denial | undefined): FinishedReply | undefined => {
  const { request, conversation } = x
  const { requestId } = x.call
  if (request.stream === true) return undefined
  // The client gets the error with the usage, also on replay.
  if (denial !== undefined) return withheldReply(requestId, contentBlocked(denial), usage)
  const { meter, warnings } = conversation
  return completedReply({ requestId, request, blocks: meter.blocks(), stop: stopOf(x), usage, warnings })
}

/** A settlement that keeps the reply, if it is the reply to a request id. */
const keeping = (
  { registration, services, call }: HeldExchange,
  settlement: Settlement,
  finished: FinishedReply | undefined,
  told?: Amount,
): Settlement => {
  if (registration === undefined || finished === undefined) return settlement
  const keptFor = { owner: registration.owner, ref: call.requestId }
  const sealed = sealReply(services.sealer, keptFor, registration.payloadHash, finished)
  return sealed === undefined ? settlement : { ...settlement, reply: { sealed, told } }
}

/** A warning after the stream has started, or for the header of a whole reply. */
const warn = ({ conversation, reply }: HeldExchange, warning: WarnEvent): void => {
  conversation.warnings.push(warning)
  if (reply.isStreaming) reply.write(reply.events.warn(warning))
}

/** Without the record, the books answer for a repeated request id. */
const complete = (
  { services }: HeldExchange,
  registration: RegisteredExchange,
  isReplayable: boolean,
): Effect.Effect<void> =>
  Effect.catch(services.gate.complete(registration, registration.payloadHash, isReplayable), (cause) =>
    Effect.logWarning("An idempotency record could not be completed", cause),
  )

const conclude = (
  x: HeldExchange,
  usage: SettledUsage,
  balance: Amount,
  finished: FinishedReply | undefined,
  denial: Denial | undefined,
): void => {
  const { reply } = x
  reportEnd(x, { stop: denial === undefined ? stopOf(x) : undefined, outcome: "content_blocked", isBilled: true })
  if (finished !== undefined) {
    reply.send(replyWith(finished, balance))
    return
  }
  const told = { ...usage, balance: formatAmount(balance) }
  reply.write(reply.events.usage(told) + reply.events.close({ stop: stopOf(x), usage: told }))
  reply.end()
}

/** A failure that is billed: the request id is spent, and there is nothing to replay. */
const breakOff = (x: HeldExchange, usage: SettledUsage, balance: Amount, error: ServiceError): Effect.Effect<void> => {
  const { reply, call } = x
  if (reply.isStreaming) reply.write(reply.events.usage({ ...usage, balance: formatAmount(balance) }))
  reportEnd(x, { outcome: error.code, isBilled: true })
  return refuse(reply, error, call.requestId)
}
