/** Calls for the requests of batches, by the routes of their API. */
import { Context, type Effect } from "effect"
import type { CallPrice } from "../calls/price-call.ts"
import type { Caller } from "../identity/caller.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { BatchLine } from "./line.ts"

/** A reply as its client would have got it. */
export interface LineReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** JSON. */
  readonly body: string
}

/** The most that a request can cost, its caller with the tags of its call, and the requests of its targets. */
export type LinePrice = CallPrice

export interface LineRequest extends Pick<BatchLine, "path" | "body"> {
  readonly caller: Caller
  /** The header with the tags of its call. */
  readonly tags: string | undefined
}

export class LineCalls extends Context.Service<
  LineCalls,
  {
    /** Reads and prices a request; nothing is asked. A refusal is the reply that its client would have got. */
    readonly price: (request: LineRequest) => Effect.Effect<LinePrice | LineReply>
    /** Runs a request. @param requestId its request id: the call is made once */
    readonly run: (request: LineRequest & { readonly requestId: string }) => Effect.Effect<LineReply>
    /** The reply to a request that is not made, because its caller may make none. */
    readonly refused: (path: string, error: ServiceError) => LineReply
    /** Whether a route answers requests of this path. */
    readonly has: (path: string) => boolean
    /** Whether the node has room for calls whose clients do not wait. */
    readonly hasRoom: Effect.Effect<boolean>
  }
>()("weir/batches/LineCalls") {}
