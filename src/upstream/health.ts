/**
 * Health of targets. Each target has a circuit breaker, which counts how its calls begin, and cools down when its vendor
 * asks for it or refuses it. Nodes with a shared Redis exchange both in the background: a call only reads memory.
 */
import { Clock, Context, Data, Duration, Effect, Exit, Layer, PubSub, Schedule, type Scope, Stream } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { runEvery } from "../background.ts"
import type { TargetFault } from "../dialects/vendor/faults.ts"
import { recordCooldown } from "../telemetry/metrics.ts"
import { type Cooldown, Cooldowns, isGuess } from "./cooldowns.ts"
import { type StrikeCause, Strikes } from "./strikes.ts"

/** The target is cooling down and is not called. */
export class TargetCoolingDown extends Data.TaggedError("TargetCoolingDown")<Cooldown> {}

/** The meaning of a call's beginning for its target; `ignored` says nothing. */
export type Verdict = "healthy" | "failing" | "ignored"

/**
 * The cooldowns that a call disregards because no other target is left: none, those that no vendor asked for, or those of
 * refused targets too. A cooldown that a vendor asked for is always respected.
 */
export type Despite = "nothing" | "guess" | "refused"

/** The reason why a target cools down: for as long as its vendor asks, or for a time that grows with each refusal. */
export type CoolingReason =
  | { readonly cause: "vendor"; readonly forMs: number }
  | { readonly cause: "busy" }
  | { readonly cause: "refused"; readonly reason: TargetFault }

/** Whether a cooldown is ignored. */
const isExcused = (cooldown: Cooldown, despite: Despite): boolean => {
  if (despite === "nothing") return false
  return isGuess(cooldown) || (despite === "refused" && cooldown.cause === "refused")
}

/** A target whose calls begin to fail, or work again. */
export interface TargetTurn {
  readonly target: string
  readonly isDown: boolean
  /** The thing that a refused target lacks; `failing` if its calls failed. */
  readonly reason?: TargetFault | "failing"
}

/** The one name of all own keys of organisations in metrics: there may be millions of keys. */
const ownLabel = "organisation"

/** The target of an organisation's own key for a vendor. No id has a space, so no other target has this name. */
export const ownTargetKey = (orgId: string, version: string, key: string): string =>
  `${ownLabel} ${orgId} ${version} ${key}`

const labelOf = (target: string): string => (target.startsWith(`${ownLabel} `) ? ownLabel : target)

export class TargetHealth extends Context.Service<
  TargetHealth,
  {
    /** The active cooldown of a target that ends last. */
    readonly coolingDown: (target: string, despite: Despite) => TargetCoolingDown | undefined
    /** Whether the last calls of a target failed or were refused: then calls begin with `begin`. */
    readonly isSuspect: (target: string) => boolean
    /** A call of a target that was not suspect has failed at its beginning. */
    readonly failed: (target: string) => Effect.Effect<void>
    /** Runs the beginning of a call unless its target is cooling down, or another call tries the target just now. */
    readonly begin: <A, E, R>(
      target: string,
      call: Effect.Effect<A, E, R>,
      options: { readonly judge: (exit: Exit.Exit<A, E>) => Verdict; readonly despite: Despite },
    ) => Effect.Effect<A, E | TargetCoolingDown, R>
    /**
     * Starts a cooldown.
     * @param despite the cooldowns that the refused call ignored
     */
    readonly coolDown: (target: string, why: CoolingReason, despite?: Despite) => Effect.Effect<void>
    /**
     * Receives the catalogue in force before a call. A new one may have what a target lacked: each that was refused is tried
     * with the next call.
     */
    readonly inForce: (catalogue: object) => void
    /** Targets whose calls begin to fail or to be refused here, or work again. */
    readonly turns: Stream.Stream<TargetTurn>
  }
>()("weir/upstream/TargetHealth") {
  /** The health of targets on a single node. */
  static readonly layer = Layer.effect(
    TargetHealth,
    Effect.suspend(() => makeTargetHealth(undefined)),
  ).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
}

/** A cooldown as nodes exchange it: each has a clock of its own. */
export interface SharedCooldown extends Omit<Cooldown, "untilMs"> {
  /** The time that it still lasts. */
  readonly forMs: number
  /** Refusals in a row, of a target that was refused. */
  readonly count: number
}

/** Exchanges cooldowns between nodes. */
export interface SharedCooldowns {
  readonly publish: (target: string, cooldown: SharedCooldown) => Effect.Effect<void>
  /** The cooldowns that other nodes have published since the last read; at the first read, all that are kept. */
  readonly added: Effect.Effect<ReadonlyArray<readonly [target: string, cooldown: SharedCooldown]>>
}

/** Five consecutive failures; a target that fails every other time is handled by failover. */
const tripPolicy = CircuitBreaker.consecutive(5)
/** Doubles each time the probe fails, from one second to half a minute. */
const openDuration = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])
/** Upper bound of a cooldown that a vendor asks for. */
const maxCooldownMs = 3_600_000
/** The interval at which a node reads the cooldowns of other nodes. */
const refreshInterval = "250 millis"
/** The interval at which ended cooldowns are removed: each own key of an organisation is a target. */
const forgetInterval = "1 minute"
/** The time that a target is suspect without another call: as long as its breaker remembers. */
const suspectMs = 3_600_000

const outcomes = {
  healthy: CircuitBreaker.success,
  failing: CircuitBreaker.failure(),
  ignored: CircuitBreaker.ignored,
} as const

/** @param shared the exchange of cooldowns between nodes; undefined for a single node */
export const makeTargetHealth = (
  shared: SharedCooldowns | undefined,
): Effect.Effect<TargetHealth["Service"], never, CircuitBreaker.CircuitBreakerStore | Scope.Scope> =>
  Effect.gen(function* () {
    const breaker = yield* CircuitBreaker.make({ tripPolicy, openDuration })
    const services = yield* Effect.context<never>()
    const clock = yield* Clock.Clock
    const own = new Cooldowns()
    const others = new Cooldowns()
    const strikes = new Strikes()
    let inForce: object | undefined
    const refusals = yield* PubSub.unbounded<TargetTurn>()
    /** The time of the last failed call of each suspect. */
    const suspects = new Map<string, number>()

    /** The longest active cooldown of a target. */
    const coolingDown = (target: string, despite: Despite): TargetCoolingDown | undefined => {
      if (own.size === 0 && others.size === 0 && strikes.size === 0) return undefined
      const nowMs = clock.currentTimeMillisUnsafe()
      const active = [own.get(target), others.get(target), strikes.get(target)].flatMap((each) =>
        each !== undefined && each.untilMs > nowMs && !isExcused(each, despite) ? [each] : [],
      )
      const [longest] = active.sort((a, b) => b.untilMs - a.untilMs)
      if (longest === undefined) return undefined
      const { cause, untilMs, reason, count } = longest
      return new TargetCoolingDown({ cause, untilMs, reason, count })
    }

    /** Runs the beginning of a call through the target's breaker. */
    const throughBreaker = <A, E, R>(
      target: string,
      call: Effect.Effect<A, E, R>,
      judge: (exit: Exit.Exit<A, E>) => Verdict,
    ): Effect.Effect<A, E | TargetCoolingDown, R> => {
      const classify = (exit: Exit.Exit<A, E>) => {
        const verdict = judge(exit)
        if (verdict === "failing") suspects.set(target, clock.currentTimeMillisUnsafe())
        if (verdict === "healthy") suspects.delete(target)
        return outcomes[verdict]
      }
      return breaker
        .execute(call, { key: target, classify })
        .pipe(
          Effect.mapError((error) =>
            error instanceof CircuitBreaker.CircuitBreakerError
              ? cooldownOfBreaker(error, clock.currentTimeMillisUnsafe())
              : error,
          ),
        )
    }

    /** A call of a target which was refused before. */
    const trying = <A, E, R>(
      target: string,
      call: Effect.Effect<A, E, R>,
      judge: (exit: Exit.Exit<A>) => Verdict,
    ): Effect.Effect<A, E, R> =>
      Effect.onExit(call, (exit) => {
        if (Exit.isFailure(exit) || judge(Exit.succeed(exit.value)) !== "healthy")
          return Effect.sync(() => strikes.release(target))
        const worked = strikes.clear(target)
        return worked?.cause === "refused" ? PubSub.publish(refusals, { target, isDown: false }) : Effect.void
      })

    const failed = (target: string) => Effect.ignore(throughBreaker(target, Effect.fail("failed"), () => "failing"))

    const forget = Effect.sync(() => {
      const nowMs = clock.currentTimeMillisUnsafe()
      own.forget(nowMs)
      others.forget(nowMs)
      strikes.forget(nowMs)
      for (const [target, failedAtMs] of suspects) if (failedAtMs + suspectMs <= nowMs) suspects.delete(target)
    })
    yield* runEvery(forgetInterval, "Forgetting the health of targets", forget)

    if (shared !== undefined) {
      const look = Effect.map(shared.added, (added) => {
        const nowMs = clock.currentTimeMillisUnsafe()
        for (const [target, { cause, forMs, count, reason }] of added) {
          const untilMs = nowMs + forMs
          if (cause === "vendor" || cause === "breaker") others.add(target, { cause, untilMs })
          else strikes.learn(target, { cause, untilMs, count, reason })
        }
      })
      yield* runEvery(refreshInterval, "Reading cooldowns of other nodes", look)
    }

    // This node's breaker is open already; inform the other nodes.
    const opened = Effect.fnUntraced(function* (transition: CircuitBreaker.Transition) {
      if (transition.to !== "Open") return
      recordCooldown(services, labelOf(transition.key), "breaker")
      yield* Effect.logWarning("A target is cooling down after failed calls", { target: transition.key })
      const forMs = Duration.toMillis(transition.retryAfter)
      if (shared !== undefined) yield* shared.publish(transition.key, { cause: "breaker", forMs, count: 1 })
    })
    yield* Effect.forkScoped(Stream.runForEach(breaker.transitions, opened), { startImmediately: true })

    const publish = (target: string, cooldown: SharedCooldown): Effect.Effect<void> => {
      recordCooldown(services, labelOf(target), cooldown.cause)
      return shared === undefined ? Effect.void : shared.publish(target, cooldown)
    }

    const coolAsAsked = (target: string, askedMs: number, nowMs: number): Effect.Effect<void> => {
      const forMs = Math.min(askedMs, maxCooldownMs)
      // Calls that are refused together may each get a different time from the vendor.
      const isLonger = own.add(target, { cause: "vendor", untilMs: nowMs + forMs })
      return isLonger ? publish(target, { cause: "vendor", forMs, count: 1 }) : Effect.void
    }

    const strike = Effect.fnUntraced(function* (
      target: string,
      cause: StrikeCause,
      nowMs: number,
      isDespite: boolean,
      reason?: TargetFault,
    ): Effect.fn.Return<void> {
      const begun = strikes.add(target, cause, nowMs, isDespite, reason)
      if (begun === undefined) return
      const { count, untilMs } = begun
      yield* publish(target, { cause, forMs: untilMs - nowMs, count, reason })
      if (reason === undefined) return
      const seconds = Math.round((untilMs - nowMs) / 1000)
      yield* Effect.logError("A vendor refuses a target, which is cooling down", { target, reason, seconds })
      yield* PubSub.publish(refusals, { target, isDown: true, reason })
    })

    return TargetHealth.of({
      coolDown: (target, why, despite = "nothing") =>
        Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
          if (why.cause === "vendor") return coolAsAsked(target, why.forMs, nowMs)
          const reason = why.cause === "refused" ? why.reason : undefined
          return strike(target, why.cause, nowMs, despite !== "nothing", reason)
        }),
      inForce: (catalogue) => {
        if (catalogue !== inForce) strikes.forgive()
        inForce = catalogue
      },
      turns: Stream.merge(
        Stream.fromPubSub(refusals),
        breaker.transitions.pipe(
          Stream.filter(({ to }) => to !== "HalfOpen"),
          Stream.map(({ key, to }): TargetTurn => {
            const isDown = to === "Open"
            return { target: key, isDown, ...(isDown && { reason: "failing" }) }
          }),
        ),
      ),
      coolingDown,
      isSuspect: (target) => suspects.has(target) || strikes.has(target),
      failed,
      begin: (target, call, { judge, despite }) =>
        Effect.suspend(() => {
          const cooling = coolingDown(target, despite)
          if (cooling !== undefined) return Effect.fail(cooling)
          if (despite !== "nothing") return trying(target, call, judge)
          if (!strikes.claim(target)) {
            const { cause = "busy", reason } = strikes.get(target) ?? {}
            return Effect.fail(new TargetCoolingDown({ cause, reason, untilMs: clock.currentTimeMillisUnsafe() }))
          }
          // The breaker is asked only while the last calls failed: asking it costs more than the rest of a call's beginning.
          const begun = suspects.has(target)
            ? throughBreaker(target, call, judge)
            : Effect.tapError(call, (error) => (judge(Exit.fail(error)) === "failing" ? failed(target) : Effect.void))
          return strikes.has(target) ? trying(target, begun, judge) : begun
        }),
    })
  })

/** While a probe runs, the target cools down only until it ends. */
const cooldownOfBreaker = ({ reason }: CircuitBreaker.CircuitBreakerError, nowMs: number): TargetCoolingDown =>
  new TargetCoolingDown({
    cause: "breaker",
    untilMs: nowMs + (reason._tag === "CircuitOpen" ? Duration.toMillis(reason.retryAfter) : 0),
  })
