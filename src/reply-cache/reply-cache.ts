/**
 * The cache of replies: equal requests of one organisation, application or person get the reply that the first of them
 * got. Off until the catalogue turns it on. The guide's page describes what others can learn.
 */
import { createHmac } from "node:crypto"
import { Context, Effect, Fiber, Layer } from "effect"
import { WeirConfig } from "../config.ts"
import { canonicalJson } from "../protocol/values/canonical.ts"
import { ChangeFeed } from "../store/change-feed.ts"
import { Sealing } from "../store/seal.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { recordReplyCacheFailure } from "../telemetry/metrics.ts"
import { Flight } from "./flights.ts"
import { type KeptLines, openLines, sealLines } from "./kept-lines.ts"
import { type CachePlace, ReplyStore } from "./store.ts"

/** The parts of two requests that must be the same. */
export interface Sameness {
  readonly owner: string
  readonly model: string
  /** Kind, scope, targets and the request, in any form that JSON can write. */
  readonly of: ReadonlyArray<unknown>
}

export interface LookedUp {
  readonly kept: KeptLines | undefined
  /** The generation for {@link ReplyCache.keep}, also of a store that answers later; undefined if it does not. */
  readonly generation: Effect.Effect<string | undefined>
}

export class ReplyCache extends Context.Service<
  ReplyCache,
  {
    /** The key of a request. A reader of the key cannot find out the request, nor test a guess. */
    readonly placeOf: (same: Sameness) => CachePlace
    /** A store that is slow or down is a miss. */
    readonly find: (place: CachePlace) => Effect.Effect<LookedUp>
    /** Keeps a reply, in the background. */
    readonly keep: (
      place: CachePlace,
      reply: KeptLines,
      ttlMs: number,
      generation: LookedUp["generation"],
    ) => Effect.Effect<void>
    /** The running call of a place that can be joined from its beginning. */
    readonly flight: (place: CachePlace) => Flight | undefined
    /** Announces a call that others may wait for. */
    readonly lead: (place: CachePlace) => Flight
    /** Removes a flight, so that no call can join it any more. */
    readonly remove: (place: CachePlace, flight: Flight) => void
    /**
     * Empties the cache of an organisation, on all nodes.
     * @returns the number of removed replies
     */
    readonly clear: (owner: string, model: string | undefined) => Effect.Effect<number, StoreUnavailable>
  }
>()("weir/reply-cache/ReplyCache") {
  static readonly layer = Layer.effect(
    ReplyCache,
    Effect.gen(function* () {
      const store = yield* ReplyStore
      const { sealer } = yield* Sealing
      const { replyCacheWaitMs } = yield* WeirConfig
      const feed = yield* ChangeFeed
      const context = yield* Effect.context<never>()
      const secret = sealer.deriveKey("reply cache")
      const flights = new Map<string, Flight>()

      /** A failure of the cache fails no call. */
      const orUndefined = <A>(asked: Effect.Effect<A, StoreUnavailable>): Effect.Effect<A | undefined> =>
        Effect.match(asked, {
          onSuccess: (answer) => answer,
          onFailure: () => {
            recordReplyCacheFailure(context, "unavailable")
            return undefined
          },
        })

      /** The cache delays a call only for a short time. An answer that has come while the loop was busy counts. */
      const late = Effect.sleep(replyCacheWaitMs).pipe(
        Effect.andThen(Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))),
        Effect.map(() => {
          recordReplyCacheFailure(context, "slow")
          return undefined
        }),
      )

      yield* feed.subscribe((subjects) => {
        if (subjects === "all") return store.forget()
        for (const subject of subjects) {
          const [kind, owner, model] = subject.split(" ")
          if (kind === clearing) store.forget(owner, model === "" ? undefined : model)
        }
      })

      return ReplyCache.of({
        placeOf: ({ owner, model, of }) => {
          const mac = createHmac("sha256", secret).update(canonicalJson([format, owner, model, ...of]))
          return { owner, model, key: mac.digest("base64url") }
        },
        find: Effect.fnUntraced(function* (place) {
          const asked = yield* Effect.forkDetach(orUndefined(store.find(place)), { startImmediately: true })
          const answer = Fiber.join(asked)
          const found = yield* asked.pollUnsafe() === undefined ? Effect.raceFirst(answer, late) : answer
          return {
            kept: found?.sealed && openLines(sealer, place, found.sealed),
            generation: Effect.map(answer, (later) => later?.generation),
          }
        }),
        keep: Effect.fnUntraced(function* (place, reply, ttlMs, generation) {
          const since = yield* generation
          const sealed = since === undefined ? undefined : sealLines(sealer, place, reply)
          if (since !== undefined && sealed !== undefined) {
            yield* orUndefined(store.keep(place, sealed, ttlMs, since))
          }
        }),
        flight: ({ key }) => {
          const flight = flights.get(key)
          return flight?.isKeepable === true && flight.state !== "failed" ? flight : undefined
        },
        lead: ({ key }) => {
          const flight = new Flight()
          flights.set(key, flight)
          return flight
        },
        remove: ({ key }, flight) => {
          flight.fail()
          if (flights.get(key) === flight) flights.delete(key)
        },
        clear: Effect.fnUntraced(function* (owner, model) {
          const removed = yield* store.clear(owner, model)
          yield* feed.note([clearing, owner, model ?? ""].join(" "))
          // A notice that is received later would empty what has been stored since.
          yield* feed.catchUp
          return removed
        }),
      })
    }),
  )
}

/** The first word of the change that notifies other nodes; organisations and models have no spaces. */
const clearing = "replies"
/** A version that changes with the form of stored replies: older replies are not found then. */
const format = 1
