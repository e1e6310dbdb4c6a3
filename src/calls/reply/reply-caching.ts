/**
 * The reply cache in the course of a call. After the plan and the inbound policies, the call looks for a reply that was made
 * before or is made now; if there is none, equal calls that come meanwhile can wait for its reply.
 */
import { Effect } from "effect"
import type { CatalogueSnapshot } from "../../catalogue/snapshot.ts"
import { cachingOf, type ReplyCaching } from "../../protocol/control/reply-cache.ts"
import type { Stop } from "../../protocol/exchange.ts"
import { Flight } from "../../reply-cache/flights.ts"
import type { Caching, Hit, Miss } from "../../reply-cache/outcome.ts"
import type { CachePlace } from "../../reply-cache/store.ts"
import { recordCachedReply } from "../../telemetry/metrics.ts"
import type { AdmittedCall, HeldCall } from "../held-call.ts"
import type { Task } from "../kind.ts"
import type { Bill } from "../settle/bill.ts"
import { fingerprintOf, ownAddresses, scopeOf } from "./cache-scope.ts"
import { type Restore, untilShared, type WaitError } from "./shared-reply.ts"

export const lookForReply = Effect.fnUntraced(function* <Body extends object>(
  admitted: AdmittedCall<Body>,
  task: Task<Body>,
  { place, ttlMs }: KeptAt,
  asked: ReplyCaching | undefined,
  restore: Restore,
): Effect.fn.Return<Caching, WaitError> {
  const { replyCache, context } = admitted.services
  const missed = (flight: Flight, generation: Miss["generation"]): Miss => {
    admitted.reply.cached("miss")
    recordCachedReply(context, "miss", admitted.model)
    return { state: "miss", place, ttlMs, generation, flight }
  }
  const hit = (how: Hit["how"], flight: Flight): Hit => {
    admitted.reply.cached("hit")
    recordCachedReply(context, how, admitted.model)
    return { state: "hit", how, flight }
  }
  for (;;) {
    const running = replyCache.flight(place)
    if (running !== undefined && asked === undefined) {
      const isGiven = yield* untilShared(admitted, task, running, restore)
      if (isGiven) return hit(running.isFromStore ? "hit" : "wait", running)
      continue
    }
    // A call that wants a new reply does not replace one that others wait for.
    const flight = running === undefined ? replyCache.lead(place) : new Flight()
    const { kept, generation } = yield* replyCache.find(place)
    if (kept === undefined || asked !== undefined) return missed(flight, generation)
    flight.land(kept.facts, kept.lines)
    replyCache.remove(place, flight)
    return hit("hit", flight)
  }
})

/** A call that was not made has no waiting calls. */
export const abandon = <Body extends object>({ services }: AdmittedCall<Body>, caching: Caching | undefined): void => {
  if (caching?.state === "miss") services.replyCache.remove(caching.place, caching.flight)
}

interface KeptAt {
  readonly place: CachePlace
  readonly ttlMs: number
}

/**
 * @param catalogue of the plan: a reply is kept under the targets that made it
 * @returns undefined if the cache is off, by the catalogue or the request; it finds nothing if an answer to it is not kept
 */
export const placeFor = <Body extends object>(
  { services, call: { caller }, model, kind }: AdmittedCall<Body>,
  { cacheableReply }: Task<Body>,
  catalogue: CatalogueSnapshot,
  asked: ReplyCaching | undefined,
): Effect.Effect<KeptAt | undefined> | undefined => {
  const entry = catalogue.model(model)
  if (cacheableReply === undefined || entry === undefined || asked === "off") return undefined
  const caching = cachingOf({ model: entry.model, org: caller.org })
  if (caching === undefined) return undefined
  return Effect.map(cacheableReply.sameness, (sameness) => {
    if (sameness === undefined) return undefined
    const place = services.replyCache.placeOf({
      owner: caller.org.id,
      model,
      of: [kind.name, scopeOf(caller, caching.share), fingerprintOf(entry), ownAddresses(caller, entry), sameness],
    })
    return { place, ttlMs: caching.ttlMs }
  })
}

/** Gives a whole reply to the calls that wait for it, and stores it in the background if it is good. */
export const keepReply = <Body extends object>(
  { services, task, caching, conversation: { target } }: HeldCall<Body>,
  { counts, estimatedReason }: Bill,
  isAllowed: boolean,
): Effect.Effect<void> => {
  if (caching?.state !== "miss") return Effect.void
  const { flight, place, ttlMs, generation } = caching
  const facts = { counts, isOwn: target?.isOwn === true }
  flight.land(facts)
  const isGood = isAllowed && estimatedReason === undefined && flight.isKeepable && endedWell(task)
  const kept = isGood ? services.replyCache.keep(place, { facts, lines: flight.lines }, ttlMs, generation) : Effect.void
  return Effect.forkDetach(
    Effect.ensuring(
      kept,
      Effect.sync(() => services.replyCache.remove(place, flight)),
    ),
  )
}

/** The stop reasons of replies that are given again. */
const good: ReadonlySet<Stop> = new Set(["end", "stop_sequence", "tool_call"])

const endedWell = <Body extends object>(task: Task<Body>): boolean =>
  (task.stops?.() ?? [task.stop()]).every((stop) => good.has(stop))
