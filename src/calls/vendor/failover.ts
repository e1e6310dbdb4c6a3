/** The vendor calls of a call: targets in order until one sends its first frame, then that one to its end. */
import { Effect, Result } from "effect"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { withRequestId } from "../../telemetry/logs.ts"
import { spanned, traceHeaders } from "../../telemetry/tracing.ts"
import type { UpstreamBroken } from "../../upstream/client.ts"
import type { Despite } from "../../upstream/health.ts"
import { reportFailedCall } from "../settle/report.ts"
import type { Conversation, EndedEarly } from "./conversation.ts"
import {
  type AttemptError,
  type CallError,
  type ConversationError,
  isTierTimeout,
  type TierTimeout,
  type VendorRejected,
} from "./errors.ts"
import { beginning, firstAnswer } from "./target-loop.ts"
import { VendorCall } from "./vendor-call.ts"
import type { PreparationError } from "./work.ts"

/** Calls the targets in order until one reply is complete. */
export const converse = (conversation: Conversation): Effect.Effect<void, ConversationError | EndedEarly> => {
  const { targets, health, nowMs, work, triesAfterRefusal } = conversation
  const { tellsCode } = work
  const mayAskAnother = work.mayAskAnother?.bind(work)
  const open = (target: CallTarget, despite: Despite | undefined) => askTarget(conversation, target, despite)
  const isCommitted = () => conversation.opened
  const answer = firstAnswer({
    targets,
    health,
    nowMs,
    triesAfterRefusal,
    tellsCode,
    open,
    isCommitted,
    mayAskAnother,
  })
  return Effect.flatMap(answer, (answer) => {
    if (Result.isSuccess(answer)) return Effect.void
    conversation.failure = answer.failure.last
    return Effect.fail(answer.failure.told)
  })
}

/** Calls one target, to its end. @param despite the problem of the target, if its last calls failed */
const askTarget = Effect.fnUntraced(function* (
  conversation: Conversation,
  target: CallTarget,
  despite: Despite | undefined,
  /** Whether it has been asked already with ids of files that it did not know. */
  hasForgotten = false,
): Effect.fn.Return<Result.Result<void, AttemptError>, EndedEarly> {
  conversation.target = target
  const startedAt = performance.now()
  const { name, options } = conversation.work.span(target)
  const unprepared = conversation.work.prepare && (yield* prepared(conversation.work.prepare(target)))
  if (unprepared !== undefined) {
    conversation.work.record(target, performance.now() - startedAt, unprepared)
    yield* report(conversation, target, unprepared, startedAt)
    return Result.fail(unprepared)
  }
  if (conversation.recorded !== undefined) yield* conversation.recorded
  conversation.namesFiles = false
  const result = yield* call(conversation, target, despite).pipe(spanned(name, options), Effect.result)
  const { reason } = conversation.signal
  if (reason !== undefined) {
    if (isTierTimeout(reason)) {
      conversation.work.record(target, performance.now() - startedAt, reason)
      yield* report(conversation, target, reason, startedAt)
    }
    return yield* Effect.fail(reason)
  }
  const error = Result.isFailure(result) ? result.failure : undefined
  // Another call is trying the target just now.
  if (error?._tag === "TargetCoolingDown") return Result.fail(error)
  conversation.work.record(target, performance.now() - startedAt, error)
  if (error === undefined) {
    if (conversation.work.concluded !== undefined) yield* conversation.work.concluded(target)
    if (yield* goesOn(conversation)) return yield* askTarget(conversation, target, undefined)
    return Result.succeed(undefined)
  }
  yield* report(conversation, target, error, startedAt)
  const isSealed = error._tag === "VendorRejected" && error.blame === "seal"
  if (isSealed && !conversation.opened && conversation.work.unseal?.(target) === true)
    return yield* askTarget(conversation, target, despite)
  const { files, namesFiles, opened } = conversation
  if (files !== undefined && namesFiles && !opened && !hasForgotten && mayMissFiles(error)) {
    yield* files.forget(target)
    return yield* askTarget(conversation, target, despite, true)
  }
  return Result.fail(error)
})

/** The end of the call ends the work between its requests. */
const goesOn = ({ work, signal }: Conversation): Effect.Effect<boolean, EndedEarly> => {
  if (work.goesOn === undefined) return Effect.succeed(false)
  const ended = Effect.callback<never, EndedEarly>((resume) => {
    signal.listen((reason) => resume(Effect.fail(reason)))
    return Effect.sync(() => signal.listen(undefined))
  })
  return Effect.raceFirst(work.goesOn(), ended)
}

type Unprepared = UpstreamBroken | VendorRejected | TierTimeout

/** @returns the failure after which another target may be asked */
const prepared = (
  preparation: Effect.Effect<void, PreparationError>,
): Effect.Effect<Unprepared | undefined, ServiceError> =>
  Effect.matchEffect(preparation, {
    onSuccess: () => Effect.undefined,
    onFailure: (error): Effect.Effect<Unprepared, ServiceError> =>
      error._tag === "ServiceError" && !isTierTimeout(error) ? Effect.fail(error) : Effect.succeed(error),
  })

/** The statuses of vendors that do not know the id of a file. */
const mayMissFiles = (error: CallError): boolean =>
  error._tag === "VendorRejected" && (error.status === 404 || error.status === 403)

/** The target's health is asked only while its last calls failed. */
const call = (
  conversation: Conversation,
  target: CallTarget,
  despite: Despite | undefined,
): Effect.Effect<void, AttemptError> =>
  Effect.flatMap(traceHeaders, (headers) => {
    const parts = conversation.work.partsAt?.(target) ?? 1
    const first = new VendorCall(conversation, target, headers, 0, parts)
    const over =
      despite === undefined ? first.over : Effect.andThen(begun(conversation, target, despite, first), first.over)
    return parts === 1 ? over : Effect.andThen(over, remainder(conversation, target, headers, parts))
  })

const begun = (conversation: Conversation, target: CallTarget, despite: Despite, { opened }: VendorCall) =>
  beginning(conversation.health, target, despite, opened, () => conversation.signal.reason !== undefined)

/** A request that is larger than a vendor takes at once is made in parts, one after the other. */
const remainder = Effect.fnUntraced(function* (
  conversation: Conversation,
  target: CallTarget,
  headers: Readonly<Record<string, string>>,
  parts: number,
): Effect.fn.Return<void, AttemptError> {
  for (let part = 1; part < parts && conversation.signal.reason === undefined; part++) {
    yield* new VendorCall(conversation, target, headers, part, parts).over
  }
})

/** @param startedAt when the call began, by `performance.now` */
const report = (
  conversation: Conversation,
  target: CallTarget,
  error: CallError,
  startedAt: number,
): Effect.Effect<void> => {
  const tookMs = Math.round(performance.now() - startedAt)
  const atMs = Math.max(0, Math.round(conversation.nowMs() - conversation.startedAtMs - tookMs))
  conversation.attempts.push({ vendor: target.vendor.id, model: target.model, atMs, tookMs, error: nameOf(error) })
  return withRequestId(conversation.requestId)(reportFailedCall(conversation.context, target, error))
}

const nameOf = (error: CallError): string => {
  if (error._tag === "UpstreamBroken") return "upstream_disconnected"
  if (error._tag === "ServiceError") return error.code
  return error.status > 0 ? `status ${error.status}` : error.code
}
