/**
 * Credential records with a short cache, so that revocation takes effect soon. While the database does not answer,
 * stale records keep known callers working.
 */
import { Cache, Clock, Duration, Effect, Exit } from "effect"
import { atBackgroundSpeed } from "../background.ts"
import type { StoreUnavailable } from "./unavailable.ts"

/** A revoked credential stops working within this time. */
const freshFor = "2 seconds"
const maxCached = 10_000

/** @param staleMs the time for which a stale record is used while the database does not answer */
export const makeCachedLookup = Effect.fnUntraced(function* <Row>(
  find: (id: string) => Effect.Effect<Row | undefined, StoreUnavailable>,
  staleMs: number,
) {
  const clock = yield* Clock.Clock
  const freshMs = Duration.toMillis(yield* atBackgroundSpeed(freshFor))
  const known = new Map<string, { readonly row: Row; readonly readAtMs: number }>()

  const lookup = Effect.fnUntraced(function* (id: string) {
    const nowMs = yield* Clock.currentTimeMillis
    return yield* find(id).pipe(
      Effect.tap((row) => Effect.sync(() => remember(id, row, nowMs))),
      Effect.catchTag("StoreUnavailable", (error) => {
        const stale = known.get(id)
        return stale !== undefined && nowMs - stale.readAtMs <= staleMs ? Effect.succeed(stale.row) : Effect.fail(error)
      }),
    )
  })

  function remember(id: string, row: Row | undefined, readAtMs: number): void {
    if (row === undefined) known.delete(id)
    else known.set(id, { row, readAtMs })
    const [oldest] = known.keys()
    if (known.size > maxCached && oldest !== undefined) known.delete(oldest)
  }

  const cache = yield* Cache.makeWith(lookup, {
    capacity: maxCached,
    timeToLive: (exit) => (Exit.isSuccess(exit) ? freshMs : 0),
  })
  return (id: string): Effect.Effect<Row | undefined, StoreUnavailable> =>
    Effect.suspend(() => {
      const recent = known.get(id)
      const isFresh = recent !== undefined && clock.currentTimeMillisUnsafe() - recent.readAtMs < freshMs
      return isFresh ? Effect.succeed(recent.row) : Cache.get(cache, id)
    })
})
