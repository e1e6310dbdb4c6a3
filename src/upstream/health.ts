/**
 * Health of targets. Each target has a circuit breaker, which counts how its calls begin, and a cooldown when its
 * vendor sends `Retry-After`. Nodes with a shared Redis exchange both in the background: a call only reads memory.
 */
import { Clock, Context, Data, Duration, Effect, type Exit, Layer, Schedule, type Scope, Stream } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { recordCooldown } from "../telemetry/metrics.ts"

/** `vendor`: the vendor sent Retry-After. `breaker`: calls failed. */
export type CooldownCause = "vendor" | "breaker"

export interface Cooldown {
  readonly cause: CooldownCause
  /** Milliseconds since the epoch. */
  readonly untilMs: number
}

/** The target is cooling down and is not called. */
export class TargetCoolingDown extends Data.TaggedError("TargetCoolingDown")<Cooldown> {}

/** What the beginning of a call says about its target; `ignored` says nothing. */
export type Verdict = "healthy" | "failing" | "ignored"

export class TargetHealth extends Context.Service<
  TargetHealth,
  {
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
  readonly all: Effect.Effect<ReadonlyMap<string, Cooldown>>
}

/** Five consecutive failures; a target that fails every other time is handled by failover. */
const tripPolicy = CircuitBreaker.consecutive(5)
/** Doubles each time the probe fails, from one second to half a minute. */
const openDuration = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])
/** Upper bound of a cooldown that a vendor asks for. */
const maxCooldownMs = 3_600_000
/** How often a node reads the cooldowns of other nodes. */
const refreshInterval = "250 millis"

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
    const own = new Map<string, Cooldown>()
    let others: ReadonlyMap<string, Cooldown> = new Map()

    /** The longest active cooldown of a target. */
    const cooldownOf = (target: string, nowMs: number): Cooldown | undefined => {
      const known = [own.get(target), others.get(target)].filter(
        (cooldown) => cooldown !== undefined && cooldown.untilMs > nowMs,
      )
      return known.sort((a, b) => (b?.untilMs ?? 0) - (a?.untilMs ?? 0))[0]
    }

    if (shared !== undefined) {
      const look = Effect.map(shared.all, (all) => {
        others = all
      })
      yield* Effect.forkScoped(Effect.repeat(look, Schedule.spaced(refreshInterval)))
    }

    // This node's breaker is open already; inform the other nodes.
    const opened = Effect.fnUntraced(function* (transition: CircuitBreaker.Transition) {
      if (transition.to !== "Open") return
      recordCooldown(services, transition.key, "breaker")
      const untilMs = (yield* Clock.currentTimeMillis) + Duration.toMillis(transition.retryAfter)
      yield* Effect.logWarning("A target is cooling down after failed calls", { target: transition.key })
      if (shared !== undefined) yield* shared.publish(transition.key, { cause: "breaker", untilMs })
    })
    yield* Effect.forkScoped(Stream.runForEach(breaker.transitions, opened), { startImmediately: true })

    return TargetHealth.of({
      coolDown: (target, forMs) =>
        Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
          const cooldown: Cooldown = { cause: "vendor", untilMs: nowMs + Math.min(forMs, maxCooldownMs) }
          own.set(target, cooldown)
          recordCooldown(services, target, cooldown.cause)
          return shared === undefined ? Effect.void : shared.publish(target, cooldown)
        }),
      begin: (target, call, { judge, despiteBreaker }) =>
        Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
          const cooldown = cooldownOf(target, nowMs)
          const mayCall = cooldown === undefined || (despiteBreaker && cooldown.cause === "breaker")
          if (!mayCall) return Effect.fail(new TargetCoolingDown(cooldown))
          if (despiteBreaker) return call
          return breaker
            .execute(call, { key: target, classify: (exit) => outcomes[judge(exit)] })
            .pipe(
              Effect.mapError((error) =>
                error instanceof CircuitBreaker.CircuitBreakerError ? cooldownOfBreaker(error, nowMs) : error,
              ),
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
