/**
 * A reply that can be given again, to the same caller or to others who may share it: the part of a task that the reply cache
 * uses. A line is a part of a reply, in JSON.
 */
import type { Effect } from "effect"
import type { Amount } from "../../money/amount.ts"
import type { ReplyLine } from "../../reply-cache/flights.ts"

export interface CacheableReply {
  /** The fields that can change the answer, beside caller and model; undefined if the answer to this request is not kept. */
  readonly sameness: Effect.Effect<object | undefined>
  /** The share of its price that a reply from the cache costs, from 0 to 1. */
  readonly share: Amount
  /** Called with the parts of the vendor's reply as they arrive. */
  tap: ((line: ReplyLine) => void) | undefined
  /** Takes a part as if the vendor had sent it. */
  readonly recall: (line: string, isFirst: boolean) => void
}
