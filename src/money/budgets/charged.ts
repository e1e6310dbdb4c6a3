/**
 * The accounts that were charged and must be checked: within a second, each once however often it was charged, in its own
 * shard.
 */
import { Effect, type Scope } from "effect"
import { forAll, runEvery } from "../../background.ts"
import type { Shard } from "../../store/shards/shard.ts"
import { Shards } from "../../store/shards/shards.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"

export interface OfOrg {
  readonly orgId: string
}

export type ByKey<A> = ReadonlyArray<readonly [key: string, item: A]>

/**
 * @param what the job, as a log line names it
 * @param lookIn checks what was charged in one shard
 */
export const makeCharged = Effect.fnUntraced(function* <A extends OfOrg>(
  what: string,
  lookIn: (shard: Shard, own: ByKey<A>) => Effect.Effect<void, StoreUnavailable>,
): Effect.fn.Return<
  {
    readonly add: (key: string, item: A) => void
    /** Checks now. */
    readonly look: Effect.Effect<void, StoreUnavailable>
  },
  never,
  Shards | Scope.Scope
> {
  const shards = yield* Shards
  const waiting = new Map<string, A>()

  const add = (key: string, item: A) => {
    // While the database does not answer, only the first ones are kept.
    if (waiting.size < mostWaiting || waiting.has(key)) waiting.set(key, item)
  }

  const look: Effect.Effect<void, StoreUnavailable> = Effect.gen(function* () {
    const part = [...waiting].slice(0, page)
    if (part.length === 0) return
    for (const [key] of part) waiting.delete(key)
    const lookAgain = (own: ByKey<A>) =>
      Effect.sync(() => {
        for (const [key, item] of own) if (!waiting.has(key)) add(key, item)
      })
    // A shard that does not answer is asked again, after the others.
    yield* forAll(
      Map.groupBy(part, ([, { orgId }]) => shards.of(orgId)),
      ([shard, own]) => Effect.tapError(lookIn(shard, own), () => lookAgain(own)),
    )
    yield* look
  })

  yield* runEvery("1 second", what, look)
  return { add, look }
})

/** The maximum number that one statement checks. */
const page = 500
const mostWaiting = 50_000
