/** The store of sealed replies: Redis, or the memory of a node. It knows neither their content nor the requests. */
import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "../store/unavailable.ts"

/** The key of a kept reply. */
export interface CachePlace {
  /** The organisation. */
  readonly owner: string
  /** The model's handle. */
  readonly model: string
  /** The keyed hash of everything that must be the same; {@link placeOf}. */
  readonly key: string
}

export interface Found {
  readonly sealed: Buffer | undefined
  /** A value that changes when replies of the owner are cleared: replies of an earlier generation are not stored any more. */
  readonly generation: string
}

export class ReplyStore extends Context.Service<
  ReplyStore,
  {
    readonly find: (place: CachePlace) => Effect.Effect<Found, StoreUnavailable>
    /** Keeps a reply, unless its owner's replies were cleared since the generation. */
    readonly keep: (
      place: CachePlace,
      sealed: Buffer,
      ttlMs: number,
      generation: string,
    ) => Effect.Effect<void, StoreUnavailable>
    /** @param model the model of the replies; all models if absent @returns how many were removed */
    readonly clear: (owner: string, model: string | undefined) => Effect.Effect<number, StoreUnavailable>
    /**
     * Removes what this node has in memory.
     * @param owner the owner of the replies; all owners if absent
     */
    readonly forget: (owner?: string, model?: string) => void
  }
>()("weir/reply-cache/ReplyStore") {}
