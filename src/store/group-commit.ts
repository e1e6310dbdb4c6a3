/**
 * Group commit: while a batch is being committed, new items are collected; they are sent as the next batch. One round
 * trip and one commit serve many callers, and a single caller does not wait.
 */
import { Deferred, Effect, Exit, Request, RequestResolver } from "effect"
import type { StoreUnavailable } from "./unavailable.ts"

export interface GroupCommitOptions<Row> {
  /** Runs one statement for these items; one row per item, in any order. */
  readonly run: (items: ReadonlyArray<object>) => Effect.Effect<ReadonlyArray<Row>, StoreUnavailable>
  /** The index of the item that a row belongs to. */
  readonly itemOf: (row: Row) => number
  /** Whether one item may have caused the failure of a batch: then each item is tried alone. */
  readonly isItemFault: (error: StoreUnavailable) => boolean
  readonly maxBatch: number
  /** How long batches are apart at least, so that under load they are few and large; a single item does not wait. */
  readonly paceMs?: number
}

interface Commit<Row> extends Request.Request<Row, StoreUnavailable> {
  readonly item: object
}

/** Returns a function that sends an item with the next batch. Batches run in sequence. */
export const makeGroupCommit = <Row>(
  options: GroupCommitOptions<Row>,
): ((item: object) => Effect.Effect<Row, StoreUnavailable>) => {
  let underWay: Deferred.Deferred<void> | undefined
  let startedAtMs = Number.NEGATIVE_INFINITY
  const { paceMs = 0 } = options
  const paced = Effect.suspend(() => {
    const leftMs = startedAtMs + paceMs - performance.now()
    return leftMs > 0 ? Effect.sleep(leftMs) : Effect.void
  })

  const answer = (entries: ReadonlyArray<Request.Entry<Commit<Row>>>, rows: ReadonlyArray<Row>) => {
    for (const row of rows) entries[options.itemOf(row)]?.completeUnsafe(Exit.succeed(row))
  }

  const runAlone = (entry: Request.Entry<Commit<Row>>) =>
    Effect.match(options.run([entry.request.item]), {
      onSuccess: (rows) => answer([entry], rows),
      onFailure: (error) => entry.completeUnsafe(Exit.fail(error)),
    })

  const runBatch = (entries: ReadonlyArray<Request.Entry<Commit<Row>>>) =>
    Effect.matchEffect(options.run(entries.map(({ request }) => request.item)), {
      onSuccess: (rows) => Effect.sync(() => answer(entries, rows)),
      onFailure: (error) =>
        entries.length > 1 && options.isItemFault(error)
          ? Effect.forEach(entries, runAlone, { discard: true })
          : Effect.sync(() => {
              for (const entry of entries) entry.completeUnsafe(Exit.fail(error))
            }),
    })

  const resolver = RequestResolver.makeWith<Commit<Row>>({
    batchKey: () => "all",
    // The next batch waits for the running one and grows meanwhile.
    delay: Effect.suspend(() =>
      Effect.andThen(underWay === undefined ? Effect.yieldNow : Deferred.await(underWay), paced),
    ),
    collectWhile: (entries) => entries.size < options.maxBatch,
    runAll: (entries) =>
      Effect.suspend(() => {
        const lane = Deferred.makeUnsafe<void>()
        startedAtMs = performance.now()
        underWay = lane
        const leave = Effect.sync(() => {
          if (underWay === lane) underWay = undefined
          Deferred.doneUnsafe(lane, Exit.void)
        })
        return Effect.ensuring(runBatch(entries), leave)
      }),
  })
  const commit = Request.of<Commit<Row>>()
  return (item) => Effect.request(commit({ item }), resolver)
}
