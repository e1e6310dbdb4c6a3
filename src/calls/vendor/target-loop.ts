/**
 * Asks targets in their order until one answers, for every kind of call: with a request, or with a socket that is opened.
 * Failures are reported here to the health of their target.
 */
import { Effect, Exit, Option, Result } from "effect"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import { isGuess } from "../../upstream/cooldowns.ts"
import type { Despite, TargetCoolingDown, TargetHealth, Verdict } from "../../upstream/health.ts"
import {
  type AttemptError,
  type CallError,
  type ConversationError,
  coolingReasonOf,
  errorForClient,
  isBusy,
  isWorthFailover,
  mostTelling,
  outlookOf,
  VendorRejected,
  verdictOf,
} from "./errors.ts"

export interface TargetLoop<A, E> {
  /** In failover order. */
  readonly targets: ReadonlyArray<CallTarget>
  readonly health: TargetHealth["Service"]
  readonly nowMs: () => number
  /** Whether another target is asked after a refusal that is the request's fault. */
  readonly triesAfterRefusal?: boolean
  readonly tellsCode?: boolean | undefined
  /**
   * Asks a target that is not cooling down. Fails with an error that ends the call at once.
   * @param despite undefined unless the last calls of the target failed: then it begins with {@link beginning}
   */
  readonly open: (target: CallTarget, despite: Despite | undefined) => Effect.Effect<Result.Result<A, AttemptError>, E>
  /** Whether no other target may be asked, because the client has a part of this one's reply; never if absent. */
  readonly isCommitted?: () => boolean
  /** Whether another target may be asked after a failure; always if absent. */
  readonly mayAskAnother?: (() => boolean) | undefined
}

/** The failure of all targets. */
export interface NoAnswer {
  /** The error with the most information. */
  readonly last: AttemptError
  readonly told: ConversationError
}

/**
 * The first answer. If all targets cool down, the ones whose breaker is open or that were busy once are asked anyway, or else
 * those that were refused. A wait that a vendor asked for is respected.
 */
export const firstAnswer = Effect.fnUntraced(function* <A, E>(
  loop: TargetLoop<A, E>,
): Effect.fn.Return<Result.Result<A, NoAnswer>, E> {
  const { targets, health, open, isCommitted = never, mayAskAnother = always, triesAfterRefusal = false } = loop
  let despite: Despite | undefined = "nothing"
  let errors: Array<AttemptError> = []
  while (despite !== undefined) {
    errors = []
    for (const target of targets) {
      const cooling = health.coolingDown(target.key, despite)
      const isSuspect = health.isSuspect(target.key)
      const answer: Result.Result<A, AttemptError> =
        cooling === undefined ? yield* open(target, isSuspect ? despite : undefined) : Result.fail(cooling)
      if (Result.isSuccess(answer)) return Result.succeed(answer.success)
      const { failure: error } = answer
      const isFinal = isCommitted()
      if (!isFinal && error._tag !== "TargetCoolingDown") yield* learn(loop, target, error, isSuspect, despite)
      if (isFinal || !mayAskAnother() || !isWorthFailover(error, triesAfterRefusal))
        return Result.fail(noAnswer(loop, [error]))
      errors.push(error)
    }
    despite = nextRound(errors, despite)
  }
  return Result.fail(noAnswer(loop, errors))
})

const never = () => false
const always = () => true

/**
 * Runs the beginning of a call of a target whose last calls failed, unless another call tries the target just now.
 * @param hasEnded whether something else has ended the call, which says nothing of the target
 */
export const beginning = <A>(
  health: TargetHealth["Service"],
  target: CallTarget,
  despite: Despite,
  opening: Effect.Effect<A, CallError>,
  hasEnded: () => boolean = never,
): Effect.Effect<A, CallError | TargetCoolingDown> => {
  const judge = (exit: Exit.Exit<A, CallError>): Verdict => {
    if (hasEnded()) return "ignored"
    if (Exit.isSuccess(exit)) return "healthy"
    const error = Option.getOrUndefined(Exit.findErrorOption(exit))
    return error === undefined ? "ignored" : verdictOf(error)
  }
  return health.begin(target.key, opening, { judge, despite })
}

/** A failed call counts for the breaker; a cooldown begins if the target is at fault or the vendor is busy. */
const learn = <A, E>(
  { health }: TargetLoop<A, E>,
  target: CallTarget,
  error: CallError,
  isSuspect: boolean,
  despite: Despite,
): Effect.Effect<void> => {
  const why = coolingReasonOf(error)
  const cooled = why === undefined ? Effect.void : health.coolDown(target.key, why, despite)
  // The breaker of a suspect has been notified already.
  return isSuspect || verdictOf(error) !== "failing" ? cooled : Effect.andThen(health.failed(target.key), cooled)
}

/** The cooldowns that a second round ignores, if no target was asked in this one; undefined if there is no second round. */
const nextRound = (errors: ReadonlyArray<AttemptError>, despite: Despite): Despite | undefined => {
  const cooldowns = errors.filter((error) => error._tag === "TargetCoolingDown")
  if (despite !== "nothing" || cooldowns.length === 0 || cooldowns.length < errors.length) return undefined
  if (cooldowns.some(isGuess)) return "guess"
  return cooldowns.every(({ cause }) => cause === "refused") ? "refused" : undefined
}

const noAnswer = <A, E>(loop: TargetLoop<A, E>, errors: ReadonlyArray<AttemptError>): NoAnswer => {
  const last = mostTelling(errors) ?? noTarget
  const nowMs = loop.nowMs()
  const outlook = outlookOf(errors)
  const waitMs = outlook === "later" ? soonest(loop, nowMs) : undefined
  return { last, told: errorForClient(last, nowMs, { outlook, waitMs, tellsCode: loop.tellsCode }) }
}

const noTarget = new VendorRejected({ status: 0, code: "no_target", blame: "moment" })

/** The time until the first of the busy targets may be asked again. */
const soonest = <A, E>({ targets, health }: TargetLoop<A, E>, nowMs: number): number | undefined => {
  const waits = targets.flatMap(({ key }) => {
    const cooling = health.coolingDown(key, "nothing")
    return cooling !== undefined && isBusy(cooling) ? [cooling.untilMs - nowMs] : []
  })
  return waits.length === 0 ? undefined : Math.max(1, Math.min(...waits))
}
