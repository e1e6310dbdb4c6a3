/** The outcome of the look for a kept reply. */
import type { Flight } from "./flights.ts"
import type { LookedUp } from "./reply-cache.ts"
import type { CachePlace } from "./store.ts"

/** The vendor is called. */
export interface Miss {
  readonly state: "miss"
  readonly place: CachePlace
  readonly ttlMs: number
  readonly generation: LookedUp["generation"]
  readonly flight: Flight
}

/** The reply is another call's. */
export interface Hit {
  readonly state: "hit"
  /** `wait`: the reply was not whole when the call asked for it. */
  readonly how: "hit" | "wait"
  readonly flight: Flight
}

export type Caching = Miss | Hit
