/**
 * Group commit: while a batch is being committed, new items are collected; they are sent as the next batch. One round
 * trip and one commit serve many callers, and a single caller does not wait.
 *
 * Items of a lane (an organisation) whose rows somebody has locked are found, and sent apart until they get through, so that
 * the items of others do not wait for them.
 */
import { Cause, Effect, Exit, Semaphore } from "effect"
import { StoreUnavailable } from "../store/unavailable.ts"

export interface GroupCommitOptions<Row, Item> {
  /**
   * Runs one statement for these items; one row per item, in any order.
   * @param isApart whether they are sent apart, and wait for locks; others do not wait long
   */
  readonly run: (items: ReadonlyArray<Item>, isApart: boolean) => Effect.Effect<ReadonlyArray<Row>, StoreUnavailable>
  /** Items of one lane change the same rows. All are in one lane if absent. */
  readonly laneOf?: (item: Item) => string
  /** Whether a statement has not got a lock in time: nothing of it was done. */
  readonly isBlocked?: (error: StoreUnavailable) => boolean
  /** The time after which a lane is refused that waits for others to be sent apart, in ms. */
  readonly longestQueueMs?: number
  /** The index of the item that a row belongs to. */
  readonly itemOf: (row: Row) => number
  /** Whether one item may have caused the failure of a batch: then each item is tried alone. */
  readonly isItemFault: (error: StoreUnavailable) => boolean
  readonly maxBatch: number
  /** The least time between batches under load, so that they are few and large; an item that comes alone does not wait. */
  readonly paceMs?: number
  /** The load that decides whether a wait is worth it, if several share one. */
  readonly load?: Load
}

/** The number of recent items, older ones weighted less; when the last batch was sent, and the number by then. */
export interface Load {
  items: number
  atMs: number
}

export const noLoad = (): Load => ({ items: 0, atMs: Number.NEGATIVE_INFINITY })

interface Entry<Row, Item> {
  readonly item: Item
  readonly resume: (effect: Effect.Effect<Row, StoreUnavailable>) => void
}

/**
 * The number of items in the time of a pace from which on they are worth a wait: below, batches of their own cost little
 * more.
 */
const fewInPace = 12
/** The time over which the load is measured, in paces. */
const remembered = 4
/** Lanes that are sent apart at a time: each takes a connection while it waits for its locks. */
const lanesAtOnce = 4

const manyLocked = Effect.fail(
  new StoreUnavailable({ store: "postgres", cause: "the rows of many organisations are locked", wasDone: false }),
)
const noRow = Effect.fail(new StoreUnavailable({ store: "postgres", cause: "a batch has no row for one of its items" }))

/**
 * Returns a function that sends an item with the next batch. Batches run in sequence; an item that was sent is not taken
 * back.
 */
export const makeGroupCommit = <Row, Item extends object = object>(
  options: GroupCommitOptions<Row, Item>,
): Effect.Effect<(item: Item) => Effect.Effect<Row, StoreUnavailable>> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const apart = yield* Semaphore.make(lanesAtOnce)
    const fork = Effect.runForkWith(context)
    const { paceMs = 0, maxBatch, load = noLoad(), laneOf = () => "", isBlocked = () => false } = options
    const { longestQueueMs = 2000 } = options
    /** The lanes that are sent apart, with what waits in each. */
    const lanes = new Map<string, Array<Entry<Row, Item>>>()
    let waiting: Array<Entry<Row, Item>> = []
    let isBusy = false
    let startedAtMs = Number.NEGATIVE_INFINITY

    const itemsOf = (entries: ReadonlyArray<Entry<Row, Item>>) => entries.map(({ item }) => item)
    const lanesIn = (entries: ReadonlyArray<Entry<Row, Item>>) => Map.groupBy(entries, ({ item }) => laneOf(item))

    const runBatch = (entries: ReadonlyArray<Entry<Row, Item>>, isApart = false): Effect.Effect<void> =>
      Effect.flatMap(Effect.exit(options.run(itemsOf(entries), isApart)), (exit) => {
        if (Exit.isSuccess(exit)) {
          for (const row of exit.value) entries[options.itemOf(row)]?.resume(Effect.succeed(row))
          // An item without a row must not wait for ever; the others have their answer already.
          for (const { resume } of entries) resume(noRow)
          return Effect.void
        }
        const reason = Cause.squash(exit.cause)
        const error =
          reason instanceof StoreUnavailable ? reason : new StoreUnavailable({ store: "postgres", cause: exit.cause })
        if (isBlocked(error) && !isApart) {
          setApart(entries)
          // The next batch does not wait for the search.
          return Effect.sync(() => void fork(search(entries)))
        }
        if (entries.length > 1 && !isBlocked(error) && options.isItemFault(error)) {
          return Effect.forEach(entries, (entry) => runBatch([entry], isApart), { discard: true })
        }
        for (const { resume } of entries) resume(Effect.fail(error))
        return Effect.void
      })

    /** Keeps items of these lanes out of the next batches. */
    function setApart(entries: ReadonlyArray<Entry<Row, Item>>): void {
      for (const lane of lanesIn(entries).keys()) if (!lanes.has(lane)) lanes.set(lane, [])
      const others: Array<Entry<Row, Item>> = []
      for (const entry of waiting) (lanes.get(laneOf(entry.item)) ?? others).push(entry)
      waiting = others
    }

    /** Finds the lanes that are blocked, by halves, and sends each of them apart. */
    function search(entries: ReadonlyArray<Entry<Row, Item>>): Effect.Effect<void> {
      const found = [...lanesIn(entries)]
      const [[lane, own] = ["", []]] = found
      if (found.length === 1) return queueLane(lane, own)
      const half = found.length >> 1
      return Effect.forEach([found.slice(0, half), found.slice(half)], tryHalf, { concurrency: 2, discard: true })
    }

    function tryHalf(
      half: ReadonlyArray<readonly [lane: string, entries: Array<Entry<Row, Item>>]>,
    ): Effect.Effect<void> {
      const entries = half.flatMap(([, own]) => own)
      if (half.length === 1) return search(entries)
      return Effect.flatMap(Effect.exit(options.run(itemsOf(entries), false)), (exit) => {
        if (Exit.isFailure(exit)) return search(entries)
        for (const row of exit.value) entries[options.itemOf(row)]?.resume(Effect.succeed(row))
        for (const { resume } of entries) resume(noRow)
        for (const [lane] of half) rejoin(lane)
        return Effect.void
      })
    }

    /** Sends a lane apart once few others are. */
    function queueLane(lane: string, entries: ReadonlyArray<Entry<Row, Item>>): Effect.Effect<void> {
      return Effect.suspend(() => {
        const sinceMs = performance.now()
        return apart.withPermit(
          Effect.suspend(() => {
            if (performance.now() - sinceMs <= longestQueueMs) return runLane(lane, entries)
            for (const { resume } of entries) resume(manyLocked)
            rejoin(lane)
            return Effect.void
          }),
        )
      })
    }

    /** Sends what a lane has, until nothing more waits in it. */
    function runLane(lane: string, entries: ReadonlyArray<Entry<Row, Item>>): Effect.Effect<void> {
      return Effect.andThen(
        runBatch(entries, true),
        Effect.suspend(() => {
          const next = lanes.get(lane)?.splice(0, maxBatch) ?? []
          if (next.length > 0) return runLane(lane, next)
          rejoin(lane)
          return Effect.void
        }),
      )
    }

    /** The items of a lane are sent with those of others again. */
    function rejoin(lane: string): void {
      const own = lanes.get(lane) ?? []
      lanes.delete(lane)
      if (own.length === 0) return
      waiting = [...waiting, ...own]
      begin()
    }

    const flush: Effect.Effect<void> = Effect.suspend(() => {
      const isLoaded = load.items / remembered > fewInPace || waiting.length > fewInPace
      const leftMs = isLoaded ? startedAtMs + paceMs - performance.now() : 0
      return Effect.andThen(leftMs > 0 ? Effect.sleep(leftMs) : Effect.void, send)
    })

    const send: Effect.Effect<void> = Effect.suspend(() => {
      const entries = waiting.slice(0, maxBatch)
      waiting = waiting.slice(maxBatch)
      const nowMs = performance.now()
      load.items = load.items * Math.exp((load.atMs - nowMs) / (paceMs * remembered)) + entries.length
      load.atMs = nowMs
      startedAtMs = nowMs
      return Effect.andThen(
        // All may have been taken back.
        entries.length === 0 ? Effect.void : runBatch(entries),
        Effect.suspend(() => {
          isBusy = waiting.length > 0
          return isBusy ? flush : Effect.void
        }),
      )
    })

    return (item) =>
      Effect.callback((resume) => {
        const entry = { item, resume }
        const lane = lanes.size === 0 ? undefined : lanes.get(laneOf(item))
        if (lane !== undefined) {
          lane.push(entry)
          return withdraw(entry)
        }
        waiting.push(entry)
        begin()
        return withdraw(entry)
      })

    function begin(): void {
      if (isBusy) return
      isBusy = true
      // Other items of this turn of the event loop are sent with it.
      setImmediate(() => fork(flush))
    }

    function withdraw(entry: Entry<Row, Item>): Effect.Effect<void> {
      return Effect.sync(() => {
        waiting = waiting.filter((other) => other !== entry)
        const lane = lanes.size === 0 ? undefined : lanes.get(laneOf(entry.item))
        const at = lane?.indexOf(entry) ?? -1
        if (at >= 0) lane?.splice(at, 1)
      })
    }
  })
