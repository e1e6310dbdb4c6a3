/** Stored replies of a single node: the least recently used are removed first when the memory for them is full. */
import { Clock, Effect, Layer } from "effect"
import { WeirConfig } from "../config.ts"
import { recordReplyCacheBytes } from "../telemetry/metrics.ts"
import { type CachePlace, ReplyStore } from "./store.ts"

interface Entry {
  readonly place: CachePlace
  readonly sealed: Buffer
  readonly untilMs: number
}

/** The approximate bytes of an entry without its reply. */
const entryBytes = 400

export const layerMemory = Layer.effect(
  ReplyStore,
  Effect.gen(function* () {
    const { replyCacheBytes: maxBytes } = yield* WeirConfig
    const context = yield* Effect.context<never>()
    const clock = yield* Clock.Clock
    /** The least used first. */
    const entries = new Map<string, Entry>()
    let bytes = 0
    let generation = 0

    const idOf = ({ owner, key }: CachePlace) => `${owner} ${key}`
    const remove = (id: string): boolean => {
      const entry = entries.get(id)
      if (entry === undefined) return false
      bytes -= entryBytes + entry.sealed.length
      return entries.delete(id)
    }
    const add = (place: CachePlace, sealed: Buffer, ttlMs: number): void => {
      const id = idOf(place)
      remove(id)
      entries.set(id, { place, sealed, untilMs: clock.currentTimeMillisUnsafe() + ttlMs })
      bytes += entryBytes + sealed.length
      for (const oldest of entries.keys()) {
        if (bytes <= maxBytes) break
        remove(oldest)
      }
      recordReplyCacheBytes(context, bytes)
    }
    const find = (place: CachePlace): Buffer | undefined => {
      const id = idOf(place)
      const entry = entries.get(id)
      if (entry === undefined) return undefined
      if (entry.untilMs <= clock.currentTimeMillisUnsafe()) {
        remove(id)
        return undefined
      }
      entries.delete(id)
      entries.set(id, entry)
      return entry.sealed
    }
    const forget = (owner?: string, model?: string): number => {
      generation++
      let removed = 0
      for (const [id, { place }] of entries) {
        const isMeant = (owner === undefined || place.owner === owner) && (model === undefined || place.model === model)
        if (isMeant && remove(id)) removed++
      }
      recordReplyCacheBytes(context, bytes)
      return removed
    }
    return ReplyStore.of({
      find: (place) => Effect.sync(() => ({ sealed: find(place), generation: String(generation) })),
      keep: (place, sealed, ttlMs, since) =>
        Effect.sync(() => {
          if (since === String(generation)) add(place, sealed, ttlMs)
        }),
      clear: (owner, model) => Effect.sync(() => forget(owner, model)),
      forget,
    })
  }),
)
