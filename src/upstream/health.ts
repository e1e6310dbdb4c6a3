/**
 * Health of targets. Each target has a circuit breaker, which counts how its calls begin, and a cooldown when its vendor
 * sends `Retry-After`. Nodes with a shared Redis exchange both in the background: a call only reads memory.
 */
import { Clock, Context, Data, Duration, Effect, type Exit, Layer, Schedule, type Scope, Stream } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { recordRest } from "../telemetry/metrics.ts"

/** `vendor`: the vendor sent Retry-After. `breaker`: calls failed. */
export type RestCause = "vendor" | "breaker"

export interface Rest {
  readonly cause: RestCause
  /** Milliseconds since the epoch. */
  readonly untilMs: number
}

/** The target is cooling down and is not called. */
export class TargetResting extends Data.TaggedError("TargetResting")<Rest> {}

/** What the beginning of a call says about its target; `ignored` says nothing. */
export type Verdict = "healthy" | "failing" | "ignored"

export class TargetHealth extends Context.Service<
  TargetHealth,
  {
    /** Runs the beginning of a call unless its target is cooling down. @param options.despiteBreaker no other target is left */
    readonly begin: <A, E, R>(
      target: string,
      call: Effect.Effect<A, E, R>,
      options: { readonly judge: (exit: Exit.Exit<A, E>) => Verdict; readonly despiteBreaker: boolean },
    ) => Effect.Effect<A, E | TargetResting, R>
    /** Starts a cooldown, as the vendor asked. */
    readonly rest: (target: string, forMs: number) => Effect.Effect<void>
  }
>()("weir/upstream/TargetHealth") {
  /** For a single node. */
  static readonly layer = Layer.effect(
    TargetHealth,
    Effect.suspend(() => makeTargetHealth(undefined)),
  ).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
}

/** Exchanges cooldowns between nodes. */
export interface SharedRests {
  readonly tell: (target: string, rest: Rest) => Effect.Effect<void>
  readonly all: Effect.Effect<ReadonlyMap<string, Rest>>
}

/** Five consecutive failures; a target that fails every other time is handled by failover. */
const tripPolicy = CircuitBreaker.consecutive(5)
/** Doubles each time the probe fails, from one second to half a minute. */
const openDuration = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])
/** Upper bound of a cooldown that a vendor asks for. */
const maxRestMs = 3_600_000
/** How often a node reads the cooldowns of other nodes. */
const lookEvery = "250 millis"

const outcomes = {
  healthy: CircuitBreaker.success,
  failing: CircuitBreaker.failure(),
  ignored: CircuitBreaker.ignored,
} as const

/** @param shared where nodes exchange cooldowns; undefined for a single node */
export const makeTargetHealth = (
  shared: SharedRests | undefined,
): Effect.Effect<TargetHealth["Service"], never, CircuitBreaker.CircuitBreakerStore | Scope.Scope> =>
  Effect.gen(function* () {
    const breaker = yield* CircuitBreaker.make({ tripPolicy, openDuration })
    const services = yield* Effect.context<never>()
    const own = new Map<string, Rest>()
    let others: ReadonlyMap<string, Rest> = new Map()

    /** The longest active cooldown of a target. */
    const restOf = (target: string, nowMs: number): Rest | undefined => {
      const known = [own.get(target), others.get(target)].filter((rest) => rest !== undefined && rest.untilMs > nowMs)
      return known.sort((a, b) => (b?.untilMs ?? 0) - (a?.untilMs ?? 0))[0]
    }

    if (shared !== undefined) {
      const look = Effect.map(shared.all, (all) => {
        others = all
      })
      yield* Effect.forkScoped(Effect.repeat(look, Schedule.spaced(lookEvery)))
    }

    // This node's breaker is open already; inform the other nodes.
    const opened = Effect.fnUntraced(function* (transition: CircuitBreaker.Transition) {
      if (transition.to !== "Open") return
      recordRest(services, transition.key, "breaker")
      const untilMs = (yield* Clock.currentTimeMillis) + Duration.toMillis(transition.retryAfter)
      yield* Effect.logWarning("A target rests: its calls fail", { target: transition.key })
      if (shared !== undefined) yield* shared.tell(transition.key, { cause: "breaker", untilMs })
    })
    yield* Effect.forkScoped(Stream.runForEach(breaker.transitions, opened), { startImmediately: true })

    return TargetHealth.of({
      rest: (target, forMs) =>
        Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
          const rest: Rest = { cause: "vendor", untilMs: nowMs + Math.min(forMs, maxRestMs) }
          own.set(target, rest)
          recordRest(services, target, rest.cause)
          return shared === undefined ? Effect.void : shared.tell(target, rest)
        }),
      begin: (target, call, { judge, despiteBreaker }) =>
        Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
          const rest = restOf(target, nowMs)
          const mayCall = rest === undefined || (despiteBreaker && rest.cause === "breaker")
          if (!mayCall) return Effect.fail(new TargetResting(rest))
          if (despiteBreaker) return call
          return breaker
            .execute(call, { key: target, classify: (exit) => outcomes[judge(exit)] })
            .pipe(
              Effect.mapError((error) =>
                error instanceof CircuitBreaker.CircuitBreakerError ? restOfBreaker(error, nowMs) : error,
              ),
            )
        }),
    })
  })

/** While a probe runs, the target cools down only until it ends. */
const restOfBreaker = ({ reason }: CircuitBreaker.CircuitBreakerError, nowMs: number): TargetResting =>
  new TargetResting({
    cause: "breaker",
    untilMs: nowMs + (reason._tag === "CircuitOpen" ? Duration.toMillis(reason.retryAfter) : 0),
  })
