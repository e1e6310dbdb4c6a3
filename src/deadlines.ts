/**
 * Deadlines of many calls: one heap, and one timer, which is armed for the earliest. A sign of life only writes a
 * number: an exchange that is looked at too early returns the time to look again.
 */
import { Clock, Context, Effect, Fiber, Layer, type Scope } from "effect"

export interface Watched {
  /**
   * Acts on a call that is late.
   * @returns the time of the next check, in milliseconds since the epoch
   */
  readonly look: (nowMs: number) => number
}

/** A watched call in the heap. */
export class Watch {
  readonly watched: Watched
  dueMs: number
  /** Its index in the heap; -1 if it is not there. */
  place = -1

  constructor(watched: Watched, dueMs: number) {
    this.watched = watched
    this.dueMs = dueMs
  }
}

export class Deadlines {
  readonly #heap: Array<Watch> = []
  readonly #nowMs: () => number
  /** Calls {@link tick} at a time; replaces the call that was asked for before. */
  readonly #arm: (atMs: number) => void
  #armedMs = Number.POSITIVE_INFINITY

  constructor(nowMs: () => number, arm: (atMs: number) => void) {
    this.#nowMs = nowMs
    this.#arm = arm
  }

  /** The number of exchanges that are watched. */
  get size(): number {
    return this.#heap.length
  }

  add(watched: Watched, dueMs: number): Watch {
    const watch = new Watch(watched, dueMs)
    this.#rise(watch, this.#heap.length)
    this.#rearm()
    return watch
  }

  /** Calls `late` after a time, unless the watch is removed before. */
  after(ms: number, late: () => void): Watch {
    const once = () => {
      this.remove(watch)
      late()
      return Number.POSITIVE_INFINITY
    }
    const watch = this.add({ look: once }, this.#nowMs() + ms)
    return watch
  }

  /** Checks a call no later than at a time. */
  lookBy(watch: Watch, dueMs: number): void {
    if (dueMs >= watch.dueMs || watch.place === -1) return
    watch.dueMs = dueMs
    this.#rise(watch, watch.place)
    this.#rearm()
  }

  remove(watch: Watch): void {
    const { place } = watch
    if (place === -1) return
    watch.place = -1
    const last = this.#heap.pop()
    if (last === undefined || last === watch) return
    this.#sink(last, place)
    this.#rise(last, last.place)
  }

  tick(): void {
    this.#armedMs = Number.POSITIVE_INFINITY
    const nowMs = this.#nowMs()
    for (let first = this.#heap[0]; first !== undefined && first.dueMs <= nowMs; first = this.#heap[0]) {
      const dueMs = Math.max(first.watched.look(nowMs), nowMs + 1)
      // The action for a late call may have ended it.
      if (first.place === -1) continue
      first.dueMs = dueMs
      this.#sink(first, first.place)
    }
    this.#rearm()
  }

  #rearm(): void {
    const dueMs = this.#heap[0]?.dueMs
    if (dueMs === undefined || dueMs >= this.#armedMs) return
    this.#armedMs = dueMs
    this.#arm(dueMs)
  }

  /** Puts a watch at an index, or above it if it is due before those. */
  #rise(watch: Watch, from: number): void {
    let place = from
    while (place > 0) {
      const above = (place - 1) >> 1
      const parent = this.#heap[above]
      if (parent === undefined || parent.dueMs <= watch.dueMs) break
      this.#put(parent, place)
      place = above
    }
    this.#put(watch, place)
  }

  /** Puts a watch at an index, or below it if others are due before it. */
  #sink(watch: Watch, from: number): void {
    let place = from
    while (true) {
      let below = 2 * place + 1
      let child = this.#heap[below]
      const right = this.#heap[below + 1]
      if (child !== undefined && right !== undefined && right.dueMs < child.dueMs) {
        child = right
        below++
      }
      if (child === undefined || child.dueMs >= watch.dueMs) break
      this.#put(child, place)
      place = below
    }
    this.#put(watch, place)
  }

  #put(watch: Watch, place: number): void {
    this.#heap[place] = watch
    watch.place = place
  }
}

/** The deadlines of this process's calls to vendors, of all kinds: one heap and one timer. */
export class CallDeadlines extends Context.Service<CallDeadlines, Deadlines>()("weir/CallDeadlines") {
  static readonly layer = Layer.effect(
    CallDeadlines,
    Effect.suspend(() => makeDeadlines),
  )
}

/** Deadlines on Effect's clock, until the scope closes. */
export const makeDeadlines: Effect.Effect<Deadlines, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const nowMs = () => clock.currentTimeMillisUnsafe()
  let timer: Fiber.Fiber<void> | undefined
  const deadlines = new Deadlines(nowMs, (atMs) => {
    timer?.interruptUnsafe()
    const tick = Effect.suspend(() => {
      const check = Effect.sync(() => deadlines.tick())
      return nowMs() - atMs > busyMs ? Effect.andThen(readArrived, check) : check
    })
    timer = fork(Effect.andThen(Effect.sleep(Math.max(0, atMs - nowMs())), tick))
  })
  yield* Effect.addFinalizer(() => (timer === undefined ? Effect.void : Fiber.interrupt(timer)))
  return deadlines
})

/** A timer that fires this late, in milliseconds, says that the process was busy: answers may have come that it has not read. */
const busyMs = 20

/** Ends when the event loop has read the bytes that have arrived: it does so after its timers, before its immediates. */
const readArrived = Effect.callback<void>((resume) => {
  const turn = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(turn))
})
