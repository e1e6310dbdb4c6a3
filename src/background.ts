/** Work that a process does beside its requests: repeatedly, until the scope closes. */
import { Cause, Clock, Context, Duration, Effect, type Scope } from "effect"

/**
 * The factor by which background work comes sooner than usual, and by which kept entries get old sooner: tests that wait
 * for it raise it.
 */
export const BackgroundSpeed = Context.Reference<number>("weir/background/BackgroundSpeed", { defaultValue: () => 1 })

/** An interval of background work, or the time for which something is kept, at the {@link BackgroundSpeed}. */
export const atBackgroundSpeed = (interval: Duration.Input): Effect.Effect<Duration.Duration> =>
  Effect.map(BackgroundSpeed, (speed) => Duration.times(Duration.fromInputUnsafe(interval), 1 / speed))

/**
 * Runs a job now, and again an interval after each end. A failure or defect is logged, and the job is run again. While it
 * goes on failing, nothing more is logged, so that an outage is two lines and not one every second.
 *
 * @param what the job, as a log line names it: "Retention"
 * @param options.first runs it after this, instead of now
 */
export const runEvery = <E, R>(
  interval: Duration.Input,
  what: string,
  job: Effect.Effect<unknown, E, R>,
  options?: { readonly first: Duration.Input },
): Effect.Effect<void, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const pause = yield* atBackgroundSpeed(interval)
    const again = Effect.forever(Effect.andThen(loggingFailures(what, job), Effect.sleep(pause)))
    yield* Effect.forkScoped(
      options === undefined ? again : Effect.delay(again, yield* atBackgroundSpeed(options.first)),
    )
  })

/**
 * Looks for work in a store, where any node leaves it: each second, and more often while there is some. An idle node asks
 * little of its store.
 *
 * @param often the interval while there is work, and for ten seconds after the last
 * @param what see {@link runEvery}
 * @param look returns whether there is work
 */
export const lookForWork = <E, R>(
  often: Duration.Input,
  what: string,
  look: Effect.Effect<boolean, E, R>,
): Effect.Effect<void, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const pause = yield* atBackgroundSpeed(often)
    const idlePause = yield* atBackgroundSpeed(idleInterval)
    const clock = yield* Clock.Clock
    let foundMs = Number.NEGATIVE_INFINITY
    const once = Effect.map(look, (isThere) => {
      if (isThere) foundMs = clock.currentTimeMillisUnsafe()
    })
    const isBusy = () => clock.currentTimeMillisUnsafe() - foundMs < staysBusyMs
    const rest = Effect.suspend(() => Effect.sleep(isBusy() ? pause : idlePause))
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(loggingFailures(what, once), rest)))
  })

const idleInterval = "1 second"
const staysBusyMs = 10_000

/** The time when background work begins: a node that has just started serves requests first. */
export const afterStart = { first: "1 minute" } as const

const firstPollMs = 1000

/**
 * The time until the next poll of work that goes on elsewhere, in milliseconds: longer each time, and not together with others.
 * @param polls so far
 * @param longestMs the longest time between two polls
 * @param random in [0, 1)
 */
export const pollAfter = (polls: number, longestMs: number, random: number): number =>
  Math.min(longestMs, firstPollMs * 1.5 ** Math.min(polls, 20)) * (0.75 + random / 2)

/** Runs a job for each of them, even if one fails; then fails with the first failure. */
export const forAll = <A, B, E, R>(
  items: Iterable<A>,
  job: (item: A) => Effect.Effect<B, E, R>,
  options?: { readonly concurrency?: number | "unbounded" },
): Effect.Effect<ReadonlyArray<B>, E, R> => Effect.mapError(Effect.validate(items, job, options), ([first]) => first)

/** Runs a job each time that something has happened. @param next completes when it has; see {@link runEvery} */
export const runAfter = <E, R, R2>(
  next: Effect.Effect<unknown, never, R2>,
  what: string,
  job: Effect.Effect<unknown, E, R>,
): Effect.Effect<void, never, R | R2 | Scope.Scope> =>
  Effect.suspend(() => {
    const guarded = loggingFailures(what, job)
    return Effect.asVoid(Effect.forkScoped(Effect.forever(Effect.andThen(next, guarded))))
  })

const loggingFailures = <E, R>(what: string, job: Effect.Effect<unknown, E, R>): Effect.Effect<void, never, R> => {
  let isFailing = false
  return Effect.matchCauseEffect(job, {
    onSuccess: () => {
      if (!isFailing) return Effect.void
      isFailing = false
      return Effect.logInfo(`${what}: works again`)
    },
    onFailure: (cause) => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
      if (isFailing) return Effect.void
      isFailing = true
      return Effect.logWarning(`${what}: failed, and will be tried again`, cause)
    },
  })
}
