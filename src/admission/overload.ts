/**
 * Load shedding: when a process has more work than it can do, it refuses some calls immediately, so that the others
 * keep their latency. Inputs are the event loop's lag, how long calls wait for their hold, the number of open exchanges
 * beside what files and ports allow, and memory. Source: CoDel (RFC 8289) for the minimum wait; additive increase and multiplicative decrease (RFC 5681)
 * for the number of calls that may wait.
 */
import { Context, Effect, Layer } from "effect"
import { isDevelopment, WeirConfig } from "../config.ts"
import { makeMemoryWatch } from "../memory.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { recordCapacity, recordShed } from "../telemetry/metrics.ts"
import { capacityOf, readMachine } from "./capacity.ts"
import { WaitingCalls } from "./waiting-calls.ts"

/** An exchange that waits for its hold. The wait ends with the first call of `held` or `over`. */
export interface Waiting {
  /** It waits for something else, such as an engine of a policy, until `resume`. */
  readonly pause: () => void
  readonly resume: () => void
  /** The hold is made: the exchange calls its vendor. */
  readonly held: () => void
  /** The exchange ended, with or without a hold. */
  readonly over: () => void
}

export class Overload extends Context.Service<
  Overload,
  {
    /** Admits a call or refuses it. @param open the number of exchanges that this process has open */
    readonly check: (open: number) => Effect.Effect<void, ServiceError<"rate_limited">>
    /** Counts an exchange of an organisation as waiting. */
    readonly enter: (org: string) => Waiting
    /** Refuses a call that waits, if too many of its own organisation do because they wait for long. */
    readonly checkOwn: (org: string) => Effect.Effect<void, ServiceError<"rate_limited">>
    /** Connections of clients that leave files for vendors; undefined without a known limit. */
    readonly maxConnections: number | undefined
  }
>()("weir/admission/Overload") {
  static readonly layer = Layer.effect(
    Overload,
    Effect.gen(function* () {
      const config = yield* WeirConfig
      const { shedLagMs, shedWaitMs } = config
      const services = yield* Effect.context<never>()
      const capacity = capacityOf(readMachine(), {
        configured: config.maxOpenExchanges,
        storeFiles: storeFilesOf(config),
      })
      const { exchanges: maxOpenExchanges } = capacity
      recordCapacity(services, maxOpenExchanges)
      const log = isDevelopment(config) ? Effect.logDebug : Effect.logInfo
      yield* log("Exchanges that may be open at once", { ...capacity })
      const isMemoryShort = makeMemoryWatch()
      let isShort = false
      let share = 0
      let pressures: ReadonlyArray<number> = []
      const waiting = new WaitingCalls()
      let windowSinceMs = performance.now()
      let waitPressure = 0
      let maxWaiting = maxOpenExchanges
      let dueAt = performance.now() + sampleEveryMs
      const nextOwn = (most: number, averageMs: number, peak: number) => {
        const next = nextMaxWaiting(most, averageMs / shedWaitMs, peak)
        return next > maxOpenExchanges ? Number.POSITIVE_INFINITY : next
      }
      // The event loop itself is measured, so this uses Node's clock and timer, not Effect's.
      const sample = () => {
        const now = performance.now()
        isShort = isMemoryShort(now)
        if (now - windowSinceMs >= waitWindowMs) {
          const { orgs, active, seen, leastMs, usualMs, peak } = waiting.turn(nextOwn)
          // One of several that waits may do so for its own rows, and has less room for itself.
          const isConclusive = (orgs > 1 || active === 1) && seen >= minCallsToJudge
          waitPressure = isConclusive ? leastMs / shedWaitMs : 0
          if (isConclusive) {
            maxWaiting = Math.min(maxOpenExchanges, nextMaxWaiting(maxWaiting, usualMs / shedWaitMs, peak))
          }
          windowSinceMs = now
        }
        pressures = [...pressures.slice(1 - samplesInARow), Math.max((now - dueAt) / shedLagMs, waitPressure)]
        share = nextShare(share, pressures.length < samplesInARow ? 0 : Math.min(...pressures))
        dueAt = now + sampleEveryMs
      }
      yield* Effect.acquireRelease(
        Effect.sync(() => setInterval(sample, sampleEveryMs).unref()),
        (timer) => Effect.sync(() => clearInterval(timer)),
      )
      const refuse = (cause: "busy" | "open" | "memory" | "organisation") => {
        recordShed(services, cause)
        return Effect.fail(overloaded())
      }
      return Overload.of({
        maxConnections: capacity.connections,
        enter: (org) => new Entered(waiting, org, shedWaitMs),
        checkOwn: (org) => Effect.suspend(() => (waiting.hasRoom(org) ? Effect.void : refuse("organisation"))),
        check: (open) => {
          if (open >= maxOpenExchanges) return refuse("open")
          if (isShort) return refuse("memory")
          if (waiting.count >= maxWaiting) return refuse("busy")
          return share > 0 && Math.random() < share ? refuse("busy") : Effect.void
        },
      })
    }),
  )
}

class Entered implements Waiting {
  readonly #calls: WaitingCalls
  readonly #org: string
  readonly #longMs: number
  #sinceMs = performance.now()
  /** The wait before the last pause. */
  #beforeMs = 0
  #state: "waiting" | "paused" | "ended" = "waiting"

  constructor(calls: WaitingCalls, org: string, longMs: number) {
    this.#calls = calls
    this.#org = org
    this.#longMs = longMs
    calls.enter(org)
  }

  pause(): void {
    if (this.#state !== "waiting") return
    this.#beforeMs = this.#waitedMs()
    this.#state = "paused"
    this.#calls.leave(this.#org)
  }

  resume(): void {
    if (this.#state !== "paused") return
    this.#state = "waiting"
    this.#sinceMs = performance.now()
    this.#calls.enter(this.#org)
  }

  held(): void {
    if (this.#state === "waiting") this.#calls.held(this.#org, this.#waitedMs())
    this.#state = "ended"
  }

  over(): void {
    const waitedMs = this.#waitedMs()
    if (this.#state === "waiting") {
      // A call that is refused at once has not waited.
      if (waitedMs > this.#longMs) this.#calls.failed(this.#org, waitedMs)
      else this.#calls.leave(this.#org)
    }
    this.#state = "ended"
  }

  #waitedMs(): number {
    return this.#beforeMs + performance.now() - this.#sinceMs
  }
}

/** The gateway has no room for a call. */
export const overloaded = (): ServiceError<"rate_limited"> =>
  serviceError("rate_limited", "The gateway is overloaded", {
    detail: { scope: "gateway" },
    // Random, so that clients do not retry at the same moment.
    retryAfterMs: 1000 + Math.random() * 2000,
  })

const sampleEveryMs = 20

/** The embedded database keeps so many files open (its `max_files_per_process`), unless it is in memory. */
const embeddedFiles = 64

const storeFilesOf = ({ databaseUrl, databaseConnections, dataDir }: WeirConfig["Service"]): number =>
  databaseUrl === undefined && dataDir !== ":memory:" ? embeddedFiles : databaseConnections

/**
 * Holds are made in batches; a window is longer than a batch. Do not infer overload from fewer than this many calls.
 */
const waitWindowMs = 200
const minCallsToJudge = 16

/** Lower bound of the calls that may wait. */
const minWaiting = 16

/**
 * The number of calls that may wait for their hold from now on: 20 % fewer than waited while waits are too long, 10 %
 * more than now while they are not. Pure.
 * @param pressure the average wait divided by the allowed wait
 * @param peak the most calls that waited at one time
 */
export const nextMaxWaiting = (most: number, pressure: number, peak: number): number =>
  pressure > 1 ? Math.max(minWaiting, Math.floor(Math.min(most, peak) * 0.8)) : most + Math.ceil(most / 10)

/** A garbage collection or the start of a process delays one measurement; overload delays all of them. */
const samplesInARow = 4

/** A process that refused every call would not notice that it has room again. */
const maxShare = 0.98
const slowestFall = 0.002
/** Below this there is room. Between this and 1 the share stays, so that it settles instead of oscillating. */
const roomBelow = 0.5

/**
 * The share of calls to refuse from now on: it rises with the pressure while there is too much, and falls slowly once
 * there is room. Pure.
 * @param pressure the loop's lag, or the shortest wait, divided by what is allowed
 */
export const nextShare = (share: number, pressure: number): number => {
  if (pressure > 1) return Math.min(maxShare, share + 0.02 * Math.min(5, pressure))
  if (pressure > roomBelow) return share
  return share < slowestFall ? 0 : share - Math.max(slowestFall, share * 0.01)
}
