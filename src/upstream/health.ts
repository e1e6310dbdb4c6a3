/**
 * Health of targets. Each target has a circuit breaker, which counts how its calls begin, and a cooldown when its
 * vendor sends `Retry-After`. Nodes with a shared Redis exchange both in the background: a call only reads memory.
 */
import { Clock, Context, Data, Duration, Effect, Exit, Layer, Schedule, type Scope, Stream } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { runEvery } from "../background.ts"
import { recordCooldown } from "../telemetry/metrics.ts"
import { type Cooldown, Cooldowns } from "./cooldowns.ts"

/** The target is cooling down and is not called. */
export class TargetCoolingDown extends Data.TaggedError("TargetCoolingDown")<Cooldown> {}

/** What the beginning of a call says about its target; `ignored` says nothing. */
export type Verdict = "healthy" | "failing" | "ignored"

/** What all the own keys of organisations are called in metrics: there may be millions. */
const ownLabel = "organisation"

/** The key of a vendor with which an organisation has a key of its own. No id has a space: it is nobody else's. */
export const ownTargetKey = (orgId: string, key: string): string => `${ownLabel} ${orgId} ${key}`

const labelOf = (target: string): string => (target.startsWith(`${ownLabel} `) ? ownLabel : target)

export class TargetHealth extends Context.Service<
  TargetHealth,
  {
    /**
     * Whether a target is cooling down.
     * @param despiteBreaker no other target is left
     */
    readonly coolingDown: (target: string, despiteBreaker: boolean) => TargetCoolingDown | undefined
    /** Whether the last calls of a target failed: then calls begin with `begin`. */
    readonly isSuspect: (target: string) => boolean
    /** A call of a target that was not suspect has failed at its beginning. */
    readonly failed: (target: string) => Effect.Effect<void>
    /**
     * Runs the beginning of a call unless its target is cooling down.
     * @param options.despiteBreaker no other target is left
     */
    readonly begin: <A, E, R>(
      target: string,
      call: Effect.Effect<A, E, R>,
      options: { readonly judge: (exit: Exit.Exit<A, E>) => Verdict; readonly despiteBreaker: boolean },
    ) => Effect.Effect<A, E | TargetCoolingDown, R>
    /** Starts a cooldown, as the vendor asked. */
    readonly coolDown: (target: string, forMs: number) => Effect.Effect<void>
    /** Targets whose calls begin to fail here, or work again. */
    readonly turns: Stream.Stream<{ readonly target: string; readonly isDown: boolean }>
  }
>()("weir/upstream/TargetHealth") {
  /** For a single node. */
  static readonly layer = Layer.effect(
    TargetHealth,
    Effect.suspend(() => makeTargetHealth(undefined)),
  ).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
}

/** Exchanges cooldowns between nodes. */
export interface SharedCooldowns {
  readonly publish: (target: string, cooldown: Cooldown) => Effect.Effect<void>
  /** Those that were published since the last time, by any node; all that are kept, the first time. */
  readonly added: Effect.Effect<ReadonlyArray<readonly [target: string, cooldown: Cooldown]>>
}

/** Five consecutive failures; a target that fails every other time is handled by failover. */
const tripPolicy = CircuitBreaker.consecutive(5)
/** Doubles each time the probe fails, from one second to half a minute. */
const openDuration = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])
/** Upper bound of a cooldown that a vendor asks for. */
const maxCooldownMs = 3_600_000
/** How often a node reads the cooldowns of other nodes. */
const refreshInterval = "250 millis"
/** How often what is over is forgotten: organisations' own keys are targets of their own. */
const forgetInterval = "1 minute"
/** How long a target is suspect without another call, as long as its breaker remembers. */
const suspectMs = 3_600_000

const outcomes = {
  healthy: CircuitBreaker.success,
  failing: CircuitBreaker.failure(),
  ignored: CircuitBreaker.ignored,
} as const

/** @param shared where nodes exchange cooldowns; undefined for a single node */
export const makeTargetHealth = (
  shared: SharedCooldowns | undefined,
): Effect.Effect<TargetHealth["Service"], never, CircuitBreaker.CircuitBreakerStore | Scope.Scope> =>
  Effect.gen(function* () {
    const breaker = yield* CircuitBreaker.make({ tripPolicy, openDuration })
    const services = yield* Effect.context<never>()
    const clock = yield* Clock.Clock
    const own = new Cooldowns()
    const others = new Cooldowns()
    /** When the last of their calls failed. */
    const suspects = new Map<string, number>()

    /** The longest active cooldown of a target. */
    const coolingDown = (target: string, despiteBreaker: boolean): TargetCoolingDown | undefined => {
      if (own.size === 0 && others.size === 0) return undefined
      const nowMs = clock.currentTimeMillisUnsafe()
      const active = [own.get(target), others.get(target)].flatMap((each) =>
        each !== undefined && each.untilMs > nowMs ? [each] : [],
      )
      const [longest] = active.sort((a, b) => b.untilMs - a.untilMs)
      if (longest === undefined || (despiteBreaker && longest.cause === "breaker")) return undefined
      return new TargetCoolingDown(longest)
    }

    /** Runs the beginning of a call through the target's breaker. */
    const begin = <A, E, R>(
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

    const failed = (target: string) => Effect.ignore(begin(target, Effect.fail("failed"), () => "failing"))

    const forget = Effect.sync(() => {
      const nowMs = clock.currentTimeMillisUnsafe()
      own.forget(nowMs)
      others.forget(nowMs)
      for (const [target, failedAtMs] of suspects) if (failedAtMs + suspectMs <= nowMs) suspects.delete(target)
    })
    yield* runEvery(forgetInterval, "Forgetting the health of targets", forget)

    if (shared !== undefined) {
      const look = Effect.map(shared.added, (added) => {
        for (const [target, cooldown] of added) others.add(target, cooldown)
      })
      yield* runEvery(refreshInterval, "Reading cooldowns of other nodes", look)
    }

    // This node's breaker is open already; inform the other nodes.
    const opened = Effect.fnUntraced(function* (transition: CircuitBreaker.Transition) {
      if (transition.to !== "Open") return
      recordCooldown(services, labelOf(transition.key), "breaker")
      const untilMs = (yield* Clock.currentTimeMillis) + Duration.toMillis(transition.retryAfter)
      yield* Effect.logWarning("A target is cooling down after failed calls", { target: transition.key })
      if (shared !== undefined) yield* shared.publish(transition.key, { cause: "breaker", untilMs })
    })
    yield* Effect.forkScoped(Stream.runForEach(breaker.transitions, opened), { startImmediately: true })

    return TargetHealth.of({
      coolDown: (target, forMs) =>
        Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
          const cooldown: Cooldown = { cause: "vendor", untilMs: nowMs + Math.min(forMs, maxCooldownMs) }
          // Of calls that were refused at once, each may be told another time.
          if (!own.add(target, cooldown)) return Effect.void
          recordCooldown(services, labelOf(target), cooldown.cause)
          return shared === undefined ? Effect.void : shared.publish(target, cooldown)
        }),
      turns: breaker.transitions.pipe(
        Stream.filter(({ to }) => to !== "HalfOpen"),
        Stream.map(({ key, to }) => ({ target: key, isDown: to === "Open" })),
      ),
      coolingDown,
      isSuspect: (target) => suspects.has(target),
      failed,
      begin: (target, call, { judge, despiteBreaker }) =>
        Effect.suspend(() => {
          const cooling = coolingDown(target, despiteBreaker)
          if (cooling !== undefined) return Effect.fail(cooling)
          if (despiteBreaker) return call
          if (suspects.has(target)) return begin(target, call, judge)
          // The breaker is asked only while the last calls failed: asking it costs more than the rest of a call's beginning.
          return Effect.tapError(call, (error) =>
            judge(Exit.fail(error)) === "failing" ? failed(target) : Effect.void,
          )
        }),
    })
  })

/** While a probe runs, the target cools down only until it ends. */
const cooldownOfBreaker = ({ reason }: CircuitBreaker.CircuitBreakerError, nowMs: number): TargetCoolingDown =>
  new TargetCoolingDown({
    cause: "breaker",
    untilMs: nowMs + (reason._tag === "CircuitOpen" ? Duration.toMillis(reason.retryAfter) : 0),
  })
