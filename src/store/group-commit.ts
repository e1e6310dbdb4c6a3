/**
 * Group commit: while one batch is on its way to the database, whatever comes in the meantime gathers, and goes as one
 * batch when it is back. One round trip and one commit for many callers, and no delay for a caller that is alone.
 */
import { Deferred, Effect, Exit, Request, RequestResolver } from "effect"
import type { StoreUnavailable } from "./unavailable.ts"

export interface GroupCommitOptions<Row> {
  /** One round trip for these items; a row an item, in any order. */
  readonly run: (items: ReadonlyArray<object>) => Effect.Effect<ReadonlyArray<Row>, StoreUnavailable>
  /** Which item, by its place, a row answers. */
  readonly itemOf: (row: Row) => number
  /** Whether a failed batch may have failed for one of its items: then each is tried alone. */
  readonly isItemFault: (error: StoreUnavailable) => boolean
  readonly maxBatch: number
}

interface Commit<Row> extends Request.Request<Row, StoreUnavailable> {
  readonly item: object
}

/** Gives what sends one item with the next batch. Batches go one after another. */
export const makeGroupCommit = <Row>(
  options: GroupCommitOptions<Row>,
): ((item: object) => Effect.Effect<Row, StoreUnavailable>) => {
  let underWay: Deferred.Deferred<void> | undefined

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
    // A batch in the making waits for the one that is under way, and grows meanwhile.
    delay: Effect.suspend(() => (underWay === undefined ? Effect.yieldNow : Deferred.await(underWay))),
    collectWhile: (entries) => entries.size < options.maxBatch,
    runAll: (entries) =>
      Effect.suspend(() => {
        const lane = Deferred.makeUnsafe<void>()
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
