/** The steps between admission and the vendor: plan, review, a look for a reply, and the hold. */
import { Effect } from "effect"
import type { Amount } from "../money/amount.ts"
import { nearNotice, nearWarning } from "../money/budgets/budget.ts"
import { timesFactor } from "../money/pricing.ts"
import { onlyWords } from "../policies/parts.ts"
import { contentBlocked, nothingFound, type Verdict } from "../policies/review.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { WarnEvent } from "../protocol/event.ts"
import type { Timeouts } from "../protocol/timeout-tiers.ts"
import type { Caching } from "../reply-cache/outcome.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { spanned } from "../telemetry/tracing.ts"
import type { AdmittedCall, HeldCall } from "./held-call.ts"
import type { CallRequest, Kind, Task } from "./kind.ts"
import type { CacheableReply } from "./reply/cacheable-reply.ts"
import { abandon, lookForReply, placeFor } from "./reply/reply-caching.ts"
import { type Restore, SharedStream } from "./reply/shared-reply.ts"
import { earlierParts, endOf } from "./review-about.ts"
import type { CallServices } from "./services.ts"
import { cachedCharge } from "./settle/cached-bill.ts"
import { noteDenial } from "./settle/report.ts"
import { reserve } from "./settle/reserve.ts"
import { type Conversation, type EndedEarly, makeConversation } from "./vendor/conversation.ts"
import { answeredBefore, unaffected } from "./vendor/given-reply.ts"
import { Signal } from "./vendor/signal.ts"
import { longestRunMs, runAtVendor, type VendorRun } from "./vendor/vendor-run.ts"

type Refusal = ServiceError | StoreUnavailable

/** Plan, review, look for a reply, hold: before the hold, only the idempotency key and the counts must be released on failure. */
export const hold = Effect.fnUntraced(function* <Request extends CallRequest, Body extends object>(
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
  const placed =
    caller.batch?.given === undefined ? placeFor(admitted, task, catalogue, request.cache?.reply) : undefined
  const kept = placed && (yield* placed)
  if (kept === undefined) return yield* begin(admitted, task, undefined, nowMs)
  const caching = yield* lookForReply(admitted, task, kept, request.cache?.reply, restore)
  return yield* Effect.onError(begin(admitted, task, caching, nowMs), () =>
    Effect.sync(() => abandon(admitted, caching)),
  )
})

const reviewInbound = <Request extends CallRequest, Body extends object>(
  { services: { review }, call: { caller }, about, waiting }: AdmittedCall<Body>,
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
  // The time of an engine is no wait for the gateway's own stores.
  const judged = Effect.suspend(() => {
    waiting.pause()
    return Effect.ensuring(
      review.judge(inbound, "request", text, about),
      Effect.sync(() => waiting.resume()),
    )
  })
  if (about === undefined || !isRead) return judged
  return Effect.flatMap(text(read), (earlier) => {
    about.earlier = endOf(earlier)
    return judged
  })
}

/** Holds the most that the call can cost, and prepares the vendor call. */
const begin = Effect.fnUntraced(function* <Body extends object>(
  admitted: AdmittedCall<Body>,
  task: Task<Body>,
  caching: Caching | undefined,
  nowMs: number,
): Effect.fn.Return<HeldCall<Body>, Refusal> {
  const { services, call, registration, spends, waiting } = admitted
  const reserved = yield* spanned("hold")(
    reserve(services, {
      ref: call.requestId,
      caller: call.caller,
      requestId: registration?.requestId ?? spends,
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
    // The clear text of the same read is written first.
    const deniedSoon = () => queueMicrotask(denied)
    review.onDenied = deniedSoon
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
  { services, call, reply, files, atVendor }: AdmittedCall<Body>,
  task: Task<Body>,
  caching: Caching | undefined,
  startedAtMs: number,
) => {
  const flight = caching?.state === "miss" ? caching.flight : undefined
  if (flight !== undefined && task.cacheableReply !== undefined) {
    const tap: CacheableReply["tap"] = (line) => flight.add(line)
    task.cacheableReply.tap = tap
  }
  const { context, config, catalogue, nowMs } = services
  const given = call.caller.batch?.given
  const { client, health, targets } =
    given === undefined ? placeOf(services, task, atVendor) : answeredBefore(services, task.targets, given)
  const current = catalogue.current()
  health.inForce(current)
  const conversation: Conversation = makeConversation({
    requestId: call.requestId,
    client:
      // Rounds of calls are made here.
      atVendor === undefined || task.goesOn !== undefined
        ? (task.clientOf?.(client) ?? client)
        : runAtVendor(atVendor, { ...services, fork: forkIn(services), current: asked }),
    health,
    context,
    work: task,
    files,
    targets,
    triesAfterRefusal: task.triesAfterRefusal === true || current.model(task.model)?.model.tryNext === true,
    nowMs,
    startedAtMs,
    stream: task.opening === undefined ? undefined : flight === undefined ? reply : new SharedStream(reply, flight),
    maxReplyBytes: config.upstreamMaxBytes,
    timeoutsOf: (target) => (atVendor === undefined ? task.timeoutsOf(target) : whileAtVendor(task.timeoutsOf(target))),
    signal: new Signal<EndedEarly>(),
  })
  function asked() {
    return conversation.target
  }
  return conversation
}

/** A response that runs at a vendor already is followed there, also while that cools down. */
const placeOf = (
  services: CallServices,
  { targets }: Pick<Conversation, "targets">,
  atVendor: VendorRun | undefined,
) => {
  const key = atVendor?.target
  return key === undefined
    ? { ...services, targets }
    : { ...services, health: unaffected(services.health), targets: targets.filter((target) => target.key === key) }
}

const forkIn = ({ context }: CallServices) => Effect.runForkWith(context)

const whileAtVendor = (timeouts: Timeouts): Timeouts => ({
  ...timeouts,
  ttfb: longestRunMs,
  idle: longestRunMs,
  total: longestRunMs,
})

const none: ReadonlyArray<never> = []
