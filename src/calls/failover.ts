/** The vendor calls of a call: targets in order until one sends its first frame, then that one to its end. */
import { Effect, Exit, Option, Result } from "effect"
import type { CallTarget } from "../catalogue/snapshot.ts"
import { withRequestId } from "../telemetry/logs.ts"
import { recordShed, recordTierTimeout } from "../telemetry/metrics.ts"
import { spanned, traceHeaders } from "../telemetry/tracing.ts"
import { isShortage } from "../upstream/client.ts"
import type { Despite, Verdict } from "../upstream/health.ts"
import type { Conversation, EndedEarly } from "./conversation.ts"
import { coolDownAfter, firstAnswer, type Refused } from "./target-loop.ts"
import { UpstreamCall } from "./upstream-call.ts"
import {
  type AttemptError,
  type CallError,
  type ConversationError,
  describe,
  isTierTimeout,
  tierOf,
  verdictOf,
} from "./vendor-errors.ts"

/** Calls the targets in order until one reply is complete. */
export const converse = (c: Conversation): Effect.Effect<void, ConversationError | EndedEarly> => {
  const { targets, health, nowMs, work, triesAfterRefusal } = c
  const ask = (target: CallTarget, despite: Despite) => askTarget(c, target, despite)
  const answer = firstAnswer({ targets, health, nowMs, triesAfterRefusal, tellsCode: work.tellsCode, ask })
  return Effect.flatMap(answer, (answer) => {
    if (Result.isSuccess(answer)) return Effect.void
    c.failure = answer.failure.last
    return Effect.fail(answer.failure.told)
  })
}

/** Calls one target; what its failure says of it is told to its health. */
const askTarget = Effect.fnUntraced(function* (
  c: Conversation,
  target: CallTarget,
  despite: Despite,
): Effect.fn.Return<Result.Result<void, Refused>, EndedEarly> {
  const isSuspect = c.health.isSuspect(target.key)
  c.target = target
  const startedAt = performance.now()
  const { name, options } = c.work.span(target)
  if (c.work.prepare !== undefined) yield* c.work.prepare(target)
  const result = yield* call(c, target, isSuspect ? despite : undefined).pipe(spanned(name, options), Effect.result)
  const { reason } = c.signal
  if (reason !== undefined) {
    if (isTierTimeout(reason)) yield* report(c, target, reason, startedAt)
    return yield* Effect.fail(reason)
  }
  const error = Result.isFailure(result) ? result.failure : undefined
  // Another call tries the target just now.
  if (error?._tag === "TargetCoolingDown") return Result.fail({ error })
  c.work.record(target, performance.now() - startedAt, error)
  if (error === undefined) return Result.succeed(undefined)
  if (!c.opened) {
    if (!isSuspect && verdictOf(error) === "failing") yield* c.health.failed(target.key)
    yield* coolDownAfter(c.health, target, error, despite)
  }
  yield* report(c, target, error, startedAt)
  const isSealed = error._tag === "VendorRejected" && error.blame === "seal"
  if (isSealed && !c.opened && c.work.unseal?.(target) === true) return yield* askTarget(c, target, despite)
  return Result.fail({ error, isFinal: c.opened })
})

/** One target, to its end. Its health is asked only while its last calls failed. @param despite undefined if they did not */
const call = (c: Conversation, target: CallTarget, despite: Despite | undefined): Effect.Effect<void, AttemptError> =>
  Effect.flatMap(traceHeaders, (headers) => {
    const parts = c.work.partsAt?.(target) ?? 1
    const first = new UpstreamCall(c, target, headers, 0, parts)
    const judging = (exit: Exit.Exit<unknown, CallError>) => judge(c, exit)
    const over =
      despite === undefined
        ? first.over
        : Effect.andThen(c.health.begin(target.key, first.opened, { judge: judging, despite }), first.over)
    return parts === 1 ? over : Effect.andThen(over, remainder(c, target, headers, parts))
  })

/** A request that is larger than a vendor takes at once is made in parts, one after the other. */
const remainder = Effect.fnUntraced(function* (
  c: Conversation,
  target: CallTarget,
  headers: Readonly<Record<string, string>>,
  parts: number,
): Effect.fn.Return<void, AttemptError> {
  for (let part = 1; part < parts && c.signal.reason === undefined; part++) {
    yield* new UpstreamCall(c, target, headers, part, parts).over
  }
})

const judge = (c: Conversation, exit: Exit.Exit<unknown, CallError>): Verdict => {
  if (c.signal.reason !== undefined) return "ignored"
  if (Exit.isSuccess(exit)) return "healthy"
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  return error === undefined ? "ignored" : verdictOf(error)
}

/** @param startedAt when the call began, by `performance.now` */
const report = (c: Conversation, target: CallTarget, error: CallError, startedAt: number): Effect.Effect<void> => {
  const tookMs = Math.round(performance.now() - startedAt)
  const atMs = Math.max(0, Math.round(c.nowMs() - c.startedAtMs - tookMs))
  c.attempts.push({ vendor: target.vendor.id, model: target.model, atMs, tookMs, error: nameOf(error) })
  const tier = tierOf(error)
  if (tier !== undefined) recordTierTimeout(c.context, tier, target)
  if (error._tag === "UpstreamBroken" && isShortage(error)) recordShed(c.context, "files")
  // A request for which a target has no words says nothing of the target.
  const isUnfit = error._tag === "ServiceError" && error.code === "bad_request"
  const log = isUnfit
    ? Effect.logInfo("A target cannot be asked for this", { target: target.key, ...error.detail })
    : Effect.logWarning("An upstream call failed", { target: target.key, ...describe(error) })
  return withRequestId(c.requestId)(log)
}

const nameOf = (error: CallError): string => {
  if (error._tag === "UpstreamBroken") return "upstream_disconnected"
  if (error._tag === "ServiceError") return error.code
  return error.status > 0 ? `status ${error.status}` : error.code
}
