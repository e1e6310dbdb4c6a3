/**
 * Group commit: while a batch is being committed, new items are collected; they are sent as the next batch. One round
 * trip and one commit serve many callers, and a single caller does not wait.
 */
import { Cause, Effect, Exit } from "effect"
import { StoreUnavailable } from "../store/unavailable.ts"

export interface GroupCommitOptions<Row, Item> {
  /** Runs one statement for these items; one row per item, in any order. */
  readonly run: (items: ReadonlyArray<Item>) => Effect.Effect<ReadonlyArray<Row>, StoreUnavailable>
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

const noRow = Effect.fail(new StoreUnavailable({ store: "postgres", cause: "a batch has no row for one of its items" }))

/**
 * Returns a function that sends an item with the next batch. Batches run in sequence; an item that was sent is not taken
 * back.
 */
export const makeGroupCommit = <Row, Item extends object = object>(
  options: GroupCommitOptions<Row, Item>,
): Effect.Effect<(item: Item) => Effect.Effect<Row, StoreUnavailable>> =>
  Effect.map(Effect.context<never>(), (context) => {
    const fork = Effect.runForkWith(context)
    const { paceMs = 0, maxBatch, load = noLoad() } = options
    let waiting: Array<Entry<Row, Item>> = []
    let isBusy = false
    let startedAtMs = Number.NEGATIVE_INFINITY

    const runBatch = (entries: ReadonlyArray<Entry<Row, Item>>): Effect.Effect<void> =>
      Effect.flatMap(Effect.exit(options.run(entries.map(({ item }) => item))), (exit) => {
        if (Exit.isSuccess(exit)) {
          for (const row of exit.value) entries[options.itemOf(row)]?.resume(Effect.succeed(row))
          // An item without a row must not wait for ever; the others have their answer already.
          for (const { resume } of entries) resume(noRow)
          return Effect.void
        }
        const reason = Cause.squash(exit.cause)
        const error =
          reason instanceof StoreUnavailable ? reason : new StoreUnavailable({ store: "postgres", cause: exit.cause })
        if (entries.length > 1 && options.isItemFault(error)) {
          return Effect.forEach(entries, (entry) => runBatch([entry]), { discard: true })
        }
        for (const { resume } of entries) resume(Effect.fail(error))
        return Effect.void
      })

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
        waiting.push(entry)
        if (isBusy) return withdraw(entry)
        isBusy = true
        // Other items of this turn of the event loop are sent with it.
        setImmediate(() => fork(flush))
        return withdraw(entry)
      })

    function withdraw(entry: Entry<Row, Item>): Effect.Effect<void> {
      return Effect.sync(() => {
        waiting = waiting.filter((other) => other !== entry)
      })
    }
  })
